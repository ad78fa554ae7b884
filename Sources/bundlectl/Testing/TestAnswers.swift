import Foundation
import PageKit
import PageWorkers
import Synchronization

/// Answers the questions of a tested page: requests as the test says, else from files in the page's folder; and keeps what
/// the page says. No question reaches the network, the store or the storage of an app.
final class TestAnswers: WorkerPoolDelegate, StorageProviding {
  /// The lines, requests and commands of a page.
  struct Record: Sendable {
    /// Lines of the script's log, and names that are not registered.
    var logs: [String] = []
    /// Requests that had no answer.
    var unanswered: [String] = []
    /// The number of commands to the tree.
    var commands = 0
  }

  private struct State {
    var record = Record()
    /// The number of times that each answer was given.
    var uses: [Int]
    var values: [String: String] = [:]
    var storedBytes = 0
    var generation: UInt64 = 0
  }

  /// Lines of a page that are kept.
  fileprivate static let recordLimit = 100
  fileprivate static let lineLimit = 2_000
  /// The bytes of all stored values.
  private static let storageLimit = 16 << 20
  /// The size of the file of an embedded page in bytes.
  private static let bundleLimit = ManifestLimits.standard.fileBytes

  private let page: PageURL
  private let answers: [(answer: TestAnswer, url: String, isPrefix: Bool)]
  private let resources: ResourceLoader
  private let state: Mutex<State>
  private let longAnswers = FairGate<Int>(width: 1)

  /// - Parameters:
  ///   - page: the URL of the page.
  ///   - resources: loads the files of the page's folder.
  init(_ answers: [TestAnswer], page: PageURL, resources: ResourceLoader) {
    (self.page, self.resources) = (page, resources)
    self.answers = answers.map { answer in
      let url = page.resolving(answer.url)?.text ?? answer.url
      let isPrefix = url.hasSuffix("*")
      return (answer, isPrefix ? String(url.dropLast()) : url, isPrefix)
    }
    state = Mutex(State(uses: Array(repeating: 0, count: answers.count)))
  }

  /// The lines of the page so far.
  var record: Record { state.withLock(\.record) }

  /// The answer of a request; the answers of one URL are given in turn, and the last one from then on.
  ///
  /// - Returns: `nil` if the test has none.
  func take(_ method: String, _ url: String) -> TestAnswer? {
    state.withLock { state in
      let fitting = answers.indices.filter { index in
        let (answer, known, isPrefix) = answers[index]
        return answer.method == method && (isPrefix ? url.hasPrefix(known) : url == known)
      }
      guard let index = fitting.first(where: { state.uses[$0] == 0 }) ?? fitting.last else { return nil }
      state.uses[index] += 1
      return answers[index].answer
    }
  }

  // MARK: What the page says

  func receive(event name: String, _ details: [UInt8], of page: UInt64) {
    guard let notice = PageNotice(event: name, details) else { return }
    state.withLock { state in
      switch notice {
      case .log(let level, let text): state.record.add("\(level): \(text)")
      case .missing(let part): state.record.add("warn: \(part)")
      case .message(let message): state.record.add(message.outlineText)
      case .commands(let commands): state.record.commands += commands.count
      case .begun, .exception, .failed, .thrown: break
      }
    }
  }

  func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {}

  // MARK: Questions

  func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async {
    await question.answer(
      payload, storage: self, send, load: { try await load($0, payload, send) },
      bundle: { try await bundle($0, send) }, reason: \.message)
  }

  private func load(
    _ question: ResourceQuestion, _ body: [UInt8],
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async throws {
    guard let request = question.request(body: body) else { throw LoadError.invalidReference(question.reference) }
    let base = request.base ?? page
    if let url = base.resolving(request.reference) {
      if let answer = take(request.method.rawValue, url.text) { return try await give(answer, url, send) }
      guard url.isFile || request.reference.isDataURL else {
        let asked = "\(request.method.rawValue) \(url.text)"
        state.withLock { $0.record.addUnanswered(asked) }
        throw DescribedError("the test has no answer for \(asked)")
      }
    }
    try await PageAnswer.send(resources.updates(for: request), limit: .max, longAnswers: longAnswers, send)
  }

  private func give(
    _ answer: TestAnswer, _ url: PageURL, _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async throws {
    if let failure = answer.failure { throw DescribedError(failure) }
    var fields = HTTPFields()
    for (name, value) in answer.fields.sorted(by: { $0.key < $1.key }) {
      if let name = HTTPField.Name(name), HTTPField.isValidValue(value) { fields[name] = value }
    }
    let generation = state.withLock { state in
      state.generation += 1
      return state.generation
    }
    let resource = Resource(
      relayed: HTTPResponse(status: .init(code: answer.status), headerFields: fields), url: url, bytes: answer.body,
      source: .network, age: nil, generation: generation)
    try await relay(resource.body, send) { .update(RelayedUpdate(.network, resource, hasMore: $0)) }
  }

  /// The bundle of an embedded page, or of one that the page opens.
  private func bundle(
    _ text: String, _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async throws {
    guard let url = page.resolving(text) else { throw PageError.invalidURL(text) }
    if let answer = take("GET", url.text) {
      if let failure = answer.failure { throw DescribedError(failure) }
      guard answer.status == 200 else { throw DescribedError("\(url.text): the server answers \(answer.status)") }
      return try await relay(Body(answer.body), send) { .bundle(hasMore: $0) }
    }
    guard url.isFile else {
      state.withLock { $0.record.addUnanswered("GET \(url.text)") }
      throw DescribedError("the test has no answer for GET \(url.text)")
    }
    let loaded = try await resources.response(for: ResourceRequest(url.text))
    let bytes = try await loaded.body.collect(upTo: Self.bundleLimit)
    try await relay(Body(bytes), send) { .bundle(hasMore: $0) }
  }

  private func relay(
    _ body: Body, _ send: @Sendable (PageAnswer, [UInt8]) async throws -> Void, _ head: (_ hasMore: Bool) -> PageAnswer
  ) async throws {
    try await PageAnswer.send(body, limit: .max, longAnswers: longAnswers, send, head)
  }

  // MARK: Storage

  func value(for key: String) -> String? { state.withLock { $0.values[key] } }

  func keys() -> [String] { state.withLock { $0.values.keys.sorted() } }

  /// - Throws: ``DescribedError`` if the values have too many bytes.
  func setValue(_ value: String, for key: String) throws {
    try state.withLock { state in
      let former = state.values[key].map { $0.utf8.count + key.utf8.count } ?? 0
      let bytes = state.storedBytes - former + value.utf8.count + key.utf8.count
      guard bytes <= Self.storageLimit else {
        throw DescribedError("the storage of a tested page holds at most \(Self.storageLimit >> 20) MiB")
      }
      (state.values[key], state.storedBytes) = (value, bytes)
    }
  }

  func removeValue(for key: String) -> Bool {
    state.withLock { state in
      guard let value = state.values.removeValue(forKey: key) else { return false }
      state.storedBytes -= value.utf8.count + key.utf8.count
      return true
    }
  }
}

extension TestAnswers.Record {
  fileprivate mutating func add(_ line: String) {
    if logs.count < TestAnswers.recordLimit { logs.append(String(line.prefix(TestAnswers.lineLimit))) }
  }

  fileprivate mutating func addUnanswered(_ request: String) {
    guard unanswered.count < TestAnswers.recordLimit, !unanswered.contains(request) else { return }
    unanswered.append(String(request.prefix(TestAnswers.lineLimit)))
  }
}

/// Tests have no network: what is neither in a test's answers nor a file fails.
struct UnansweredTransport: HTTPTransporting {
  func send(_ request: TransportRequest) async throws -> TransportResponse {
    throw TransportError.cannotConnect(url: request.url, reason: "a test has no network")
  }
}
