import ArgumentParser
import Foundation
import HTTPTypes
import PageKit

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
        Terminal.error.line("bundlectl: \(error.sentence)")
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
          await FetchScript(loader: loader, policy: behavior).run()
        } else {
          try await fetch(url ?? "", behavior, loader)
        }
      }
    }
    guard let interruption else { return try await work.value }
    let (result, wasInterrupted) = await interruption.watching(cancel: { work.cancel() }) { await work.result }
    if wasInterrupted {
      let file = output.flatMap { $0 == "-" ? nil : "; \($0) is unchanged" } ?? ""
      Terminal.error.line("bundlectl: interrupted\(file)")
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
    let (answer, failure) = try await FinalAnswer.load(request, from: loader) { cached in
      if includesHead {
        Terminal.error.line("bundlectl: from the cache, \(cached.age ?? 0) s old; the network is asked")
      }
    }
    try await show(answer)
    if let failure {
      Terminal.error.line("bundlectl: \(failure); this is the stored answer")
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
