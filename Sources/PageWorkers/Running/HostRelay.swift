import PageKit
import Synchronization

/// Sends the questions of pages to the daemon, and delivers the answers.
final class HostRelay: Sendable {
  /// A complete answer.
  enum Arrival: Sendable {
    case update(ResourceUpdate)
    case bundle([UInt8])
    case value(String?)
    case keys([String])
    case chosen(button: Int, text: String)
    case failed(String)
  }

  /// The stream of a question's answers, and the received pieces of one.
  private typealias Question = (continuation: AsyncStream<Arrival>.Continuation, head: PageAnswer?, bytes: [UInt8])

  let socket: WorkerSocket
  /// The bounds are set before the first page.
  private let state = Mutex<(questions: [UInt64: Question], lastID: UInt64, bounds: QuestionBounds)>(
    ([:], 0, QuestionBounds(count: .max)))

  init(_ socket: WorkerSocket) { self.socket = socket }

  /// - Parameter questions: the limit of unanswered questions.
  func limit(questions: Int) { state.withLock { $0.bounds = QuestionBounds(count: questions) } }

  /// The answers of the daemon, up to the last one. Ending the loop cancels the question. One that exceeds the bounds, or
  /// the limit of a frame, is not sent, and fails.
  func ask(_ question: PageQuestion, _ payload: [UInt8] = [], page: UInt64) -> AsyncStream<Arrival> {
    let (arrivals, continuation) = AsyncStream.makeStream(of: Arrival.self)
    let (id, refusal) = state.withLock { state in
      state.lastID += 1
      let refusal = state.bounds.admit(state.lastID, bytes: payload.count)
      if refusal == nil { state.questions[state.lastID] = (continuation, nil, []) }
      return (state.lastID, refusal)
    }
    func refuse(_ reason: String) -> AsyncStream<Arrival> {
      continuation.yield(.failed(reason))
      continuation.finish()
      return arrivals
    }
    if let refusal { return refuse(refusal) }
    continuation.onTermination = { [weak self] reason in
      guard case .cancelled = reason, let self else { return }
      if state.withLock({ $0.questions.removeValue(forKey: id) }) != nil { socket.post(.drop(question: id)) }
    }
    do {
      socket.post(try Frame.encode(WorkerMessage.ask(question: id, page: page, question), payload))
    } catch {
      state.withLock { state in
        state.questions[id] = nil
        state.bounds.finish(id)
      }
      return refuse("the page's request cannot be sent: \(error.sentence)")
    }
    return arrivals
  }

  /// - Throws: ``DescribedError``.
  func bundle(_ url: PageURL, page: UInt64) async throws -> String {
    for await arrival in ask(.bundle(url: url.text), page: page) {
      switch arrival {
      case .bundle(let bytes): return String(decoding: bytes, as: UTF8.self)
      case .failed(let reason): throw DescribedError(reason)
      default: break
      }
    }
    throw DescribedError("\(url): the daemon did not answer")
  }

  /// Tells the daemon of an error inside of a page that another one embeds, if there is room for it.
  ///
  /// - Parameter page: the number of the page around it.
  func tellInside(_ failure: PageFailureNotice, page: UInt64) {
    guard socket.hasRoom else { return }
    socket.post(.event(page: page, name: PageNotice.inside), failure.json)
  }

  /// Called on the reading thread.
  func receive(_ answer: PageAnswer, _ payload: [UInt8], to id: UInt64) {
    let (continuation, arrival, isLast) = state.withLock {
      state -> (AsyncStream<Arrival>.Continuation?, Arrival?, Bool) in
      if case .end = answer { state.bounds.finish(id) }
      guard var question = state.questions[id] else { return (nil, nil, false) }
      let arrival: Arrival?
      var isLast = false
      switch answer {
      case .update(let update) where !update.hasMore: arrival = .update(update.update(bytes: payload))
      case .bundle(hasMore: false): arrival = .bundle(payload)
      case .update, .bundle:
        (question.head, question.bytes, arrival) = (answer, payload, nil)
      case .piece(let hasMore):
        question.bytes += payload
        arrival = hasMore ? nil : Self.whole(question.head, question.bytes)
        if !hasMore { (question.head, question.bytes) = (nil, []) }
      case .value(let value): arrival = .value(value)
      case .keys(let keys): arrival = .keys(keys)
      case .chosen(let button, let text): arrival = .chosen(button: button, text: text)
      case .failed(let reason):
        // A failure may occur within an answer.
        (question.head, question.bytes, arrival) = (nil, [], .failed(reason))
      case .end: (arrival, isLast) = (nil, true)
      }
      state.questions[id] = isLast ? nil : question
      return (question.continuation, arrival, isLast)
    }
    if let arrival { continuation?.yield(arrival) }
    if isLast { continuation?.finish() }
  }

  private static func whole(_ head: PageAnswer?, _ bytes: [UInt8]) -> Arrival? {
    switch head {
    case .update(let update)?: .update(update.update(bytes: bytes))
    case .bundle?: .bundle(bytes)
    default: nil
    }
  }
}

/// Relays the requests of a page to the daemon, the values that it stores, where it navigates, and what it asks its user:
/// the viewer of the page gets the target and the question.
struct RelayedHandlers: ResourceRequestHandling, StorageProviding, Navigating, ModalPresenting {
  let relay: HostRelay
  let page: UInt64

  func updates(
    for request: ResourceRequest, next: @escaping Next
  ) -> AsyncStream<ResourceUpdate> {
    let arrivals = relay.ask(.resource(ResourceQuestion(request)), request.body, page: page)
    return AsyncStream { continuation in
      let work = Task {
        for await arrival in arrivals {
          switch arrival {
          case .update(let update): continuation.yield(update)
          case .failed(let reason): continuation.yield(.failed(LoadFailure(DescribedError(reason))))
          default: break
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in work.cancel() }
    }
  }

  // MARK: Storage

  func value(for key: String) async throws -> String? {
    if case .value(let value) = try await answer(.storedValue(key: key)) { value } else { nil }
  }

  func setValue(_ value: String, for key: String) async throws {
    _ = try await answer(.storeValue(key: key), Array(value.utf8))
  }

  func removeValue(for key: String) async throws -> Bool {
    if case .value(let value) = try await answer(.removeValue(key: key)) { value != nil } else { false }
  }

  func keys() async throws -> [String] {
    if case .keys(let keys) = try await answer(.storedKeys) { keys } else { [] }
  }

  private func answer(_ question: PageQuestion, _ payload: [UInt8] = []) async throws -> HostRelay.Arrival {
    for await arrival in relay.ask(question, payload, page: page) {
      if case .failed(let reason) = arrival { throw DescribedError(reason) }
      return arrival
    }
    throw DescribedError("the daemon did not answer")
  }

  // MARK: Messages and questions

  /// The event of the message shows it.
  func toast(_ message: String, seconds: Double, from page: PageInstance) async {}

  func alert(_ message: String, button: String, from page: PageInstance) async {
    _ = await chosen(PageMessage(kind: .alert, text: message, buttons: [button]))
  }

  func confirm(_ message: String, buttons: [String], from page: PageInstance) async -> String {
    await chosen(PageMessage(kind: .confirm, text: message, buttons: buttons)).button
  }

  func prompt(
    _ message: String, preset: String, buttons: [String], from page: PageInstance
  ) async -> (button: String, text: String) {
    await chosen(PageMessage(kind: .prompt, text: message, buttons: buttons, preset: preset))
  }

  private func chosen(_ question: PageMessage) async -> (button: String, text: String) {
    let buttons = question.buttons
    guard case .chosen(let button, let text)? = try? await answer(.modal(question)) else {
      return (buttons.first ?? "", question.preset ?? "")
    }
    return (buttons.indices.contains(button) ? buttons[button] : buttons.first ?? "", text)
  }

  // MARK: Navigation

  func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws {
    await tell(.object(["action": .string("push"), "url": .string(url.text), "options": options.json]))
  }

  func pop(options: ScriptValue, from page: PageInstance) async throws {
    await tell(.object(["action": .string("pop"), "options": options.json]))
  }

  private func tell(_ event: JSONValue) async {
    await relay.socket.send(.event(page: page, name: "navigate"), event.text)
  }
}

/// Workers have no network.
struct NoTransport: HTTPTransporting {
  func send(_ request: TransportRequest) async throws -> TransportResponse {
    throw TransportError.cannotConnect(url: request.url, reason: "a worker has no network")
  }
}

/// A page in a worker. The daemon loads its resources, and those of embedded pages.
final class RelayedPage: PageInstance {
  /// The daemon's number of the page, or of the one that embeds it.
  nonisolated let root: UInt64
  private let relay: HostRelay
  private nonisolated let entries: EntryTable
  /// `true` if the daemon can see it run.
  private var isSeen = false

  init(environment: PageEnvironment, registry: PageRegistry?, root: UInt64, relay: HostRelay, entries: EntryTable) {
    self.root = root
    self.relay = relay
    self.entries = entries
    super.init(environment: environment, registry: registry)
    // The daemon decides which other pages hear it.
    ownChannelScope = Self.channelScope(of: root)
    isSeen = entries.add(id, page: root)
  }

  deinit { entries.remove(id) }

  /// The scope of the channels of a page and of those that it embeds or pushes.
  nonisolated static func channelScope(of root: UInt64) -> String { "\(root)" }

  override func renderByURL(
    _ text: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    guard let url = PageURL(text) else { throw fail(.invalidURL(text)) }
    try begin(url)
    do {
      try await orFallBack(options: options, data: data) {
        let source = try await relay.bundle(url, page: root)
        var options = options
        options.bundleURL = options.bundleURL ?? text
        try await render(source, options: options, data: data)
      }
    } catch {
      // The element around it has the reason alone.
      if phase == .failed, let error = error as? PageError {
        (registry.handlers.exceptions as? RecordedExceptions)?.handle(error)
      }
      throw error
    }
  }

  override func render(
    _ source: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    guard isSeen else { throw fail(.refused("too many pages run in one worker")) }
    try await super.render(source, options: options, data: data)
  }
}
