import ArgumentParser
import Dispatch
import Foundation
import HTTPTypes
import PageKit
import PageWorkers
import Synchronization

struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Fetch URLs through the response cache.",
    discussion: """
      Prints the body; with -i the head before it, whose Cache-Status gives the source of the answer. The body is shown \
      without its content encoding, and the head without the fields that describe the encoded bytes. \
      Policies: \(LoadBehavior.named.map(\.name).joined(separator: ", ")).

      With --stdin each line of standard input is a request, as a JSON object of "id", "method", "url", "headers" \
      (pairs of name and value), "body", "policy" and "redirect" ("follow" or "manual"). Each line of standard output \
      is an answer with "id", "status", "headers", "body", "bodyEncoding" ("utf8" or "base64"), "source" and \
      "cacheStatus"; the answer to a failed request has "error", and the exit status is still 0. Up to 32 requests \
      run at once; answers are printed in the order of their completion, each with at most 64 MiB of body.

      A status of 400 or more is not a failure: the exit status is 0.
      """
  )
  .with(
    examples: "bundlectl fetch https://api.example.com/list.json",
    "bundlectl fetch -i --policy cacheFirst https://api.example.com/list.json")

  @Argument(help: "The URL.")
  var url: String?

  @Option(
    name: [.short, .long], help: ArgumentHelp("How the cache and the network are used.", valueName: "policy"),
    completion: Completions.policies)
  var policy = "protocolCache"

  @Flag(name: [.customShort("i"), .customLong("include")], help: "Print the head of the answer before its body.")
  var includesHead = false

  @Option(name: [.customShort("X"), .customLong("request")], help: ArgumentHelp("The method.", valueName: "method"))
  var method: String?

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: ArgumentHelp("A header field, as 'Accept: …'. Repeatable.", valueName: "field"))
  var header: [String] = []

  @Option(
    name: [.customShort("d"), .customLong("data")],
    help: ArgumentHelp(
      "A body; @FILE for a file's bytes.", discussion: "The method is POST unless --request is given."))
  var data: String?

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp(
      "The file for the body; - for standard output.",
      discussion: "A regular file is replaced when the body is complete.", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(name: .long, help: "Do not follow redirects.")
  var noRedirect = false

  @Flag(name: .long, help: "Read requests from standard input, one JSON object a line.")
  var stdin = false

  @Flag(name: .long, help: "Decide as a shared cache: no cookies, and no private responses.")
  var shared = false

  @Flag(name: .long, help: "With --shared: store answers that set a cookie, for all clients.")
  var storeCookies = false

  @Option(name: .long, help: ArgumentHelp("The limit of an answer.", valueName: "size"))
  var maxSize = SizeArgument(bytes: 4 << 30)

  @Option(name: .long, help: ArgumentHelp("The time limit of one transfer.", valueName: "time"))
  var maxTime: TimeArgument?

  @Option(
    name: .long,
    help: ArgumentHelp("The time after which a transfer below 256 bytes per second is given up.", valueName: "time"))
  var stallTimeout = TimeArgument(seconds: 15)

  @Option(
    name: .long, help: ArgumentHelp("PEM file of the certificate authorities to trust.", valueName: "file"),
    completion: .file())
  var caFile: String?

  @OptionGroup var cache: CacheOptions

  mutating func validate() throws {
    _ = try LoadBehavior(policy: policy)
    guard (url == nil) == stdin else { throw ValidationError("Give either a URL or --stdin.") }
    if stdin, method != nil || data != nil || output != nil || !header.isEmpty || includesHead || noRedirect {
      throw ValidationError("With --stdin each line has its own method, headers, body and redirect.")
    }
    if let caFile, !FileManager.default.isReadableFile(atPath: caFile) {
      throw ValidationError("The CA file \(caFile) cannot be read.")
    }
    guard maxSize.bytes > 0, [maxTime, stallTimeout].allSatisfy({ $0.map { $0.duration > .zero } ?? true }) else {
      throw ValidationError("A limit must be positive.")
    }
    _ = try SourceOptions.fields(header)
  }

  func run() async throws {
    let cookies = try cache.cookies(isShared: shared)
    var limits = TransferLimits.standard
    limits.lowSpeedTime = stallTimeout.duration
    limits.total = maxTime?.duration
    let behavior = try LoadBehavior(policy: policy)
    defer {
      do {
        try cookies?.flush()
      } catch {
        Terminal.report(error.message)
      }
    }
    // An interruption removes a partially written file.
    let interruption = output == nil ? nil : await Interruption()
    let work = Task { [self, limits] in
      try await cache.withLoader(
        isShared: shared, sharesCookies: storeCookies, cookies: cookies, caFile: caFile, limits: limits,
        bodyLimit: maxSize.bytes
      ) { loader in
        if stdin {
          await Self.answerLines(with: loader, behavior)
        } else {
          try await fetch(url ?? "", behavior, loader)
        }
      }
    }
    guard let interruption else { return try await work.value }
    let (result, wasInterrupted) = await interruption.watching(cancel: { work.cancel() }) { await work.result }
    if wasInterrupted {
      let file = output.flatMap { $0 == "-" ? nil : "; \($0) is unchanged" } ?? ""
      Terminal.report("interrupted\(file)")
      throw Interruption.exitCode
    }
    try result.get()
  }

  private func fetch(_ url: String, _ behavior: LoadBehavior, _ loader: ResourceLoader) async throws {
    let body = try data.map { try Self.body($0) } ?? []
    guard let method = HTTPRequest.Method(self.method ?? (data == nil ? "GET" : "POST")) else {
      throw ValidationError("\((self.method ?? "").quotedForMessage) is not a method.")
    }
    var request = ResourceRequest(url, method: method, fields: try SourceOptions.fields(header), body: body)
    request.behavior = behavior
    request.followsRedirects = !noRedirect
    let (answer, failure) = try await loader.finalResponse(for: request) { cached in
      if includesHead {
        Terminal.report("from the cache, \(cached.age ?? 0) s old; the network is asked")
      }
    }
    try await show(answer)
    if let failure {
      Terminal.report("\(failure); this is the stored answer")
      throw ExitCode.failure
    }
  }

  private func show(_ loaded: Resource) async throws {
    if includesHead { Terminal.output.write(Self.head(loaded)) }
    guard let output, output != "-" else {
      for try await chunk in loaded.body { Terminal.output.write(chunk) }
      return
    }
    let length = loaded.body.isDecoded ? nil : loaded.response.headerFields[.contentLength].flatMap { Int64($0) }
    var display = TransferDisplay(
      .error, name: (output as NSString).lastPathComponent, total: length, resumedAt: loaded.resumedAt)
    defer { display.end() }
    try await OutputFile.write(loaded.body, to: output) { display.show($0) }
  }

  private static func head(_ loaded: Resource) -> String {
    let status = loaded.response.status
    let phrase = status.reasonPhrase.isEmpty ? "" : " \(status.reasonPhrase)"
    let fields = loaded.fieldsOfBody.map { "\($0.name.rawName): \($0.value)\n" }.joined()
    return "HTTP \(status.code)\(phrase)\n\(fields)\n"
  }

  private static func body(_ text: String) throws -> [UInt8] {
    guard text.hasPrefix("@") else { return Array(text.utf8) }
    return try InputFile.bytes(String(text.dropFirst()))
  }
}

extension ResourceLoader {
  /// The last answer of the request's behaviour, with the failure that followed a stored one.
  ///
  /// - Parameter cached: called with a stored answer that another one follows.
  fileprivate func finalResponse(
    for request: ResourceRequest, cached: (Resource) -> Void = { _ in }
  ) async throws -> (answer: Resource, failure: LoadFailure?) {
    guard request.behavior?.refresh == .always else { return (try await response(for: request), nil) }
    var last: Resource?
    var failure: LoadFailure?
    for await update in updates(for: request) {
      switch update {
      case .cached(let loaded):
        last = loaded
        cached(loaded)
      case .network(let loaded), .notModified(let loaded): last = loaded
      case .failed(let failed): failure = failed
      }
    }
    if let last { return (last, failure) }
    if let answer = failure?.answer { return (answer, nil) }
    throw failure?.error ?? DescribedError("\(request.reference): no answer was received")
  }
}

/// Shows one download on a terminal, in a line that is redrawn.
struct TransferDisplay {
  private let terminal: Terminal
  private let lines: DrawnLines
  private let name: String
  private let total: Int64?
  private let resumedAt: Int64
  private let began = ContinuousClock.now
  private var drawn: ContinuousClock.Instant?

  private static let interval: Duration = .milliseconds(80)

  /// - Parameters:
  ///   - total: the size in bytes; `nil` if it is unknown.
  ///   - resumedAt: bytes received earlier, which do not count for the rate.
  init(_ terminal: Terminal, name: String, total: Int64?, resumedAt: Int64 = 0) {
    self.terminal = terminal
    self.resumedAt = resumedAt
    lines = DrawnLines(terminal)
    self.name = name
    self.total = total
  }

  mutating func show(_ bytes: Int64) {
    let now = ContinuousClock.now
    guard terminal.isTerminal, drawn.map({ now - $0 >= Self.interval }) ?? true else { return }
    drawn = now
    let rate = Self.rate(bytes: bytes, resumedAt: resumedAt, seconds: (now - began) / .seconds(1))
    lines.draw([Self.line(name: name, bytes: bytes, total: total, rate: rate, width: lines.width)])
  }

  func end() { lines.end() }

  /// Bytes per second, without those received earlier.
  static func rate(bytes: Int64, resumedAt: Int64, seconds: Double) -> Double {
    seconds > 0 ? Double(max(0, bytes - resumedAt)) / seconds : 0
  }

  /// - Parameter rate: bytes per second.
  static func line(name: String, bytes: Int64, total: Int64?, rate: Double, width: Int) -> String {
    let nameWidth = min(Formatting.columns(name), max(8, width / 4))
    let figures = Formatting.progress(bytes: bytes, total: total, rate: rate, width: width - nameWidth - 1)
    let room = min(30, width - nameWidth - Formatting.columns(figures) - 2)
    let bar =
      total.map { $0 > 0 && room >= 8 ? Formatting.bar(Double(bytes) / Double($0), width: room) + " " : "" } ?? ""
    return Formatting.clipped("\(Formatting.fitted(name, nameWidth)) \(bar)\(figures)", width)
  }
}

/// `fetch --stdin`: answers requests in lines of JSON by lines of JSON.
extension FetchCommand {
  /// The number of concurrent requests.
  private static let width = 32
  /// The limit of an answer in bytes; as text in JSON it takes several times as much memory.
  private static let bodyLimit: Int64 = 64 << 20
  /// Keeps output lines from mixing.
  private static let output = Mutex(())

  private static func answerLines(with loader: ResourceLoader, _ policy: LoadBehavior) async {
    await withTaskGroup(of: Void.self) { group in
      var underway = 0
      while let line = await nextLine() {
        if line.allSatisfy(\.isWhitespace) { continue }
        if underway == width {
          await group.next()
          underway -= 1
        }
        underway += 1
        group.addTask {
          let answer = await answer(line, with: loader, policy)
          output.withLock { _ in Terminal.output.line(answer) }
        }
      }
    }
  }

  /// Reading blocks, and therefore has a thread of its own.
  private static let input = DispatchQueue(label: "bundlectl.stdin")

  private static func nextLine() async -> String? {
    await withCheckedContinuation { continuation in
      input.async { continuation.resume(returning: readLine(strippingNewline: true)) }
    }
  }

  /// - Returns: a line of output.
  private static func answer(
    _ line: String, with loader: ResourceLoader, _ policy: LoadBehavior
  ) async -> String {
    let request: ScriptRequest
    do {
      request = try await JSONValue.decode(ScriptRequest.self, from: Array(line.utf8))
    } catch {
      let id: JSONValue? =
        if case .object(let members) = try? JSONValue(reading: Array(line.utf8)) { members["id"] } else { nil }
      return Self.line(["id": id, "error": "the line is not a request: \(error.jsonReason)"])
    }
    do {
      let (loaded, _) = try await loader.finalResponse(for: try request.resource(policy))
      return Self.line(json(loaded, id: request.id, body: try await loaded.body.collect(upTo: bodyLimit)))
    } catch {
      return Self.line(["id": request.id, "error": error.message])
    }
  }

  private static func json(_ loaded: Resource, id: JSONValue?, body: [UInt8]) -> JSONObject {
    let text = String(validating: body, as: UTF8.self)
    let object: JSONObject = [
      "id": id, "status": loaded.status, "headers": loaded.fieldsOfBody.map { [$0.name.rawName, $0.value] },
      "body": text ?? Data(body).base64EncodedString(), "bodyEncoding": text == nil ? "base64" : "utf8",
      "source": loaded.source.rawValue,
    ]
    return object.adding(ifPresent: ["cacheStatus": loaded.cacheStatus?.description])
  }

  private static func line(_ object: JSONObject) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(object)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}

/// One line of input.
private struct ScriptRequest: Decodable {
  let id: JSONValue?
  let method: String?
  let url: String
  let headers: [[String]]?
  let body: String?
  let policy: String?
  let redirect: String?

  func resource(_ standard: LoadBehavior) throws -> ResourceRequest {
    guard let method = HTTPRequest.Method(self.method ?? "GET") else {
      throw DescribedError("\((self.method ?? "").quotedForMessage) is not a method")
    }
    var fields = HTTPFields()
    for pair in headers ?? [] {
      guard pair.count == 2, let name = HTTPField.Name(pair[0]), HTTPField.isValidValue(pair[1]) else {
        // The message does not contain the value, which may be a secret.
        throw DescribedError("\((pair.first ?? "").quotedForMessage) is not a header field, or its value is invalid")
      }
      fields.append(HTTPField(name: name, value: pair[1]))
    }
    var request = ResourceRequest(url, type: .fetch, method: method, fields: fields, body: Array((body ?? "").utf8))
    request.behavior = standard
    if let policy {
      guard let behavior = LoadBehavior(named: policy) else {
        throw DescribedError("there is no policy \(policy.quotedForMessage)")
      }
      request.behavior = behavior
    }
    guard redirect == nil || ["follow", "manual"].contains(redirect) else {
      throw DescribedError("\"redirect\" is either \"follow\" or \"manual\"")
    }
    request.followsRedirects = redirect != "manual"
    return request
  }
}
