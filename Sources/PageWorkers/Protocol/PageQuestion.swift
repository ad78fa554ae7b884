import HTTPTypes
import PageKit

/// A question of a page in a worker to the daemon.
package enum PageQuestion: Codable, Sendable {
  /// A resource; the bytes are the request's body.
  case resource(ResourceQuestion)
  /// The bundle of an embedded page.
  case bundle(url: String)
  case storedValue(key: String)
  /// The bytes are the value.
  case storeValue(key: String)
  case removeValue(key: String)
  case storedKeys
  /// A question of the module `modal` to the user.
  case modal(PageMessage)
}

extension PageQuestion {
  /// Answers the question; an error is an answer too.
  ///
  /// - Parameters:
  ///   - payload: the question's bytes.
  ///   - storage: the values that the page stores.
  ///   - load: sends the updates of a request.
  ///   - bundle: sends the bundle of a URL.
  ///   - ask: answers a question to the user.
  ///   - reason: returns the text of an error for the page.
  package func answer(
    _ payload: [UInt8], storage: any StorageProviding, _ send: @Sendable (PageAnswer, [UInt8]) async throws -> Void,
    load: (ResourceQuestion) async throws -> Void, bundle: (String) async throws -> Void,
    ask: (PageMessage) async -> PageAnswer = { .agreed(to: $0) }, reason: (any Error) -> String
  ) async {
    do {
      switch self {
      case .resource(let question): try await load(question)
      case .bundle(let url): try await bundle(url)
      case .storedValue(let key): try await send(.value(try await storage.value(for: key)), [])
      case .storeValue(let key):
        try await storage.setValue(String(decoding: payload, as: UTF8.self), for: key)
        try await send(.value(nil), [])
      case .removeValue(let key):
        let wasThere = try await storage.removeValue(for: key)
        try await send(.value(wasThere ? "" : nil), [])
      case .storedKeys: try await send(.keys(try await storage.keys()), [])
      case .modal(let question): try await send(await ask(question), [])
      }
    } catch is CancellationError {
    } catch {
      try? await send(.failed(reason(error)), [])
    }
  }
}

/// A ``ResourceRequest`` in the form of messages.
package struct ResourceQuestion: Codable, Sendable {
  package var reference: String
  var base: String?
  var type: String
  var method: String
  var fields: [[String]]
  var behavior: WireBehavior?
  var priority: Int
  var followsRedirects: Bool

  init(_ request: ResourceRequest) {
    reference = request.reference
    base = request.base?.text
    type = request.type.rawValue
    method = request.method.rawValue
    fields = request.fields.wire
    behavior = request.behavior.map { WireBehavior($0) }
    priority = request.priority.rawValue
    followsRedirects = request.followsRedirects
  }

  /// `nil` if the values are not a valid request.
  package func request(body: [UInt8]) -> ResourceRequest? {
    guard let method = HTTPRequest.Method(method), let type = ResourceType(rawValue: type) else { return nil }
    return ResourceRequest(
      reference, base: base.flatMap { PageURL($0) }, type: type, method: method, fields: HTTPFields(wire: fields),
      body: body, behavior: behavior?.behavior, priority: LoadPriority(rawValue: priority) ?? .normal,
      followsRedirects: followsRedirects)
  }
}

extension HTTPFields {
  /// Names and values.
  var wire: [[String]] { map { [$0.name.rawName, $0.value] } }

  /// Invalid fields are omitted.
  init(wire: [[String]]) {
    self.init()
    for pair in wire where pair.count == 2 {
      guard let name = HTTPField.Name(pair[0]), HTTPField.isValidValue(pair[1]) else { continue }
      append(HTTPField(name: name, value: pair[1]))
    }
  }
}

/// A ``LoadBehavior`` in the form of messages.
struct WireBehavior: Codable, Hashable, Sendable {
  private let cacheRead: LoadBehavior.CacheRead
  private let network: LoadBehavior.NetworkUse
  private let fallback: LoadBehavior.Fallback
  private let refresh: LoadBehavior.Refresh
  private let patience: Double?
  private let yieldsOffline, fallsBackOnServerErrors: Bool

  init(_ behavior: LoadBehavior) {
    (cacheRead, network) = (behavior.cacheRead, behavior.network)
    (fallback, refresh, patience) = (behavior.fallback, behavior.refresh, behavior.patience?.seconds)
    (yieldsOffline, fallsBackOnServerErrors) = (behavior.yieldsOffline, behavior.fallsBackOnServerErrors)
  }

  var behavior: LoadBehavior {
    LoadBehavior(
      cacheRead: cacheRead, network: network, fallback: fallback, refresh: refresh,
      patience: patience.map { .seconds(min(max($0, 0), 3_600)) }, yieldsOffline: yieldsOffline,
      fallsBackOnServerErrors: fallsBackOnServerErrors)
  }
}

/// An answer of the daemon to a ``PageQuestion``. A resource may have several updates, and then `end`.
package enum PageAnswer: Codable, Sendable {
  /// The bytes are the body, or its first piece.
  case update(RelayedUpdate)
  /// The next piece of the previous update, or of the bundle.
  case piece(hasMore: Bool)
  /// The bytes are the bundle's text, or its first piece.
  case bundle(hasMore: Bool)
  case value(String?)
  case keys([String])
  /// The number of the button that the user has chosen, from 0, and the text that a prompt asks for.
  case chosen(button: Int, text: String)
  case failed(String)
  case end
}

extension PageAnswer {
  /// The answer to a question that no user is asked: the first button, and the text that is filled in beforehand.
  package static func agreed(to question: PageMessage) -> PageAnswer {
    .chosen(button: 0, text: question.preset ?? "")
  }
}

/// A ``ResourceUpdate`` with a response, in the form of messages.
package struct RelayedUpdate: Codable, Sendable {
  package enum Kind: String, Codable, Sendable {
    case cached
    case network
    case notModified
    /// The network failed after a stored response was delivered.
    case failed
  }

  var kind: Kind
  var url: String?
  var status: Int
  var fields: [[String]]
  var source: String
  var age: Int64?
  var generation: UInt64
  var hasMore: Bool

  /// - Parameter location: returns a URL as the page sees it.
  package init(_ kind: Kind, _ loaded: Resource, hasMore: Bool, location: (PageURL) -> String = { $0.text }) {
    self.kind = kind
    url = loaded.url.map(location)
    status = loaded.status
    fields = loaded.response.headerFields.wire
    source = loaded.source.rawValue
    age = loaded.age
    generation = loaded.generation
    self.hasMore = hasMore
  }

  func update(bytes: [UInt8]) -> ResourceUpdate {
    let loaded = Resource(
      relayed: HTTPResponse(
        status: .init(code: (100...999).contains(status) ? status : 500), headerFields: HTTPFields(wire: fields)),
      url: url.flatMap { PageURL($0) }, bytes: bytes, source: Resource.Source(rawValue: source) ?? .network, age: age,
      generation: generation)
    switch kind {
    case .cached: return .cached(loaded)
    case .network: return .network(loaded)
    case .notModified: return .notModified(loaded)
    case .failed: return .failed(LoadFailure(relayed: loaded))
    }
  }
}

extension ResourceUpdate {
  /// The resource of an update, and the kind under which it is relayed; `nil` for a failure without a response.
  package var relayed: (kind: RelayedUpdate.Kind, resource: Resource)? {
    switch self {
    case .cached(let loaded): (.cached, loaded)
    case .network(let loaded): (.network, loaded)
    case .notModified(let loaded): (.notModified, loaded)
    case .failed(let failure): failure.answer.map { (.failed, $0) }
    }
  }
}

extension PageAnswer {
  /// The longest wait of an answer for earlier long answers of its page.
  private static let longAnswerWait = Duration.seconds(120)

  /// Sends a body in pieces, each after the worker has taken the previous one, so that only a few pieces are in memory.
  ///
  /// - Parameters:
  ///   - limit: the limit of an answer in bytes.
  ///   - longAnswers: serialises the long answers of a page, since its worker buffers a whole answer.
  ///   - head: the answer that carries the first piece.
  /// - Throws: ``TransportError/tooLarge(url:limit:)`` if the body has more bytes than the limit.
  package static func send(
    _ body: Body, limit: Int64, longAnswers: FairGate<Int>,
    _ send: @Sendable (PageAnswer, [UInt8]) async throws -> Void, _ head: (_ hasMore: Bool) -> PageAnswer
  ) async throws {
    let reader = body.reader()
    var count: Int64 = 0
    var isFirst = true
    var pass: FairGate<Int>.Pass?
    defer { if let pass { longAnswers.leave(pass) } }
    var chunk = try await reader.nextChunk()
    repeat {
      let next = chunk == nil ? nil : try await reader.nextChunk()
      var rest = (chunk ?? [])[...]
      count += Int64(rest.count)
      guard count <= limit else { throw TransportError.tooLarge(url: body.url, limit: limit) }
      if pass == nil, count > Frame.pieceLimit {
        pass = try await longAnswers.enter(for: 0, until: .now + longAnswerWait)
      }
      repeat {
        let piece = Array(rest.prefix(Frame.pieceLimit))
        rest = rest.dropFirst(piece.count)
        let hasMore = !rest.isEmpty || next != nil
        try await send(isFirst ? head(hasMore) : .piece(hasMore: hasMore), piece)
        isFirst = false
      } while !rest.isEmpty
      chunk = next
    } while chunk != nil
  }

  /// Sends the updates of a request, each with its body, and a failure without a response as its reason.
  ///
  /// - Parameters:
  ///   - limit: the limit of a body in bytes.
  ///   - longAnswers: serialises the long answers of a page, since its worker buffers a whole answer.
  /// - Throws: ``TransportError/tooLarge(url:limit:)`` if a body has more bytes than the limit.
  package static func send(
    _ updates: AsyncStream<ResourceUpdate>, limit: Int64, longAnswers: FairGate<Int>,
    _ send: @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async throws {
    for await update in updates {
      if let (kind, resource) = update.relayed {
        try await Self.send(resource.body, limit: limit, longAnswers: longAnswers, send) {
          .update(RelayedUpdate(kind, resource, hasMore: $0))
        }
      } else if case .failed(let failure) = update {
        try await send(.failed("\(failure)"), [])
      }
    }
  }
}

/// The unanswered questions of a worker, and their bytes, within bounds.
///
/// A worker keeps to the bounds by itself, so that a page that exceeds them gets an error. The daemon has wider ones,
/// since it learns of an answer's end before the worker does: a worker that exceeds those was taken over. A pure value.
struct QuestionBounds: Sendable {
  /// The limit of unanswered questions.
  let count: Int
  /// The limit of their bytes; a single question may have more.
  let bytes: Int

  private var sizes: [UInt64: Int] = [:]
  private(set) var pendingBytes = 0
  /// The number of questions that were refused since one was admitted.
  private(set) var refusals = 0

  /// The limit of bytes in a worker.
  static let standardBytes = 64 << 20
  /// The refusals in a row by the daemon after which the worker counts as taken over.
  static let refusalLimit = 16

  init(count: Int, bytes: Int = standardBytes) { (self.count, self.bytes) = (count, bytes) }

  /// The bounds that the daemon enforces on a worker with these ones.
  var enforced: QuestionBounds { QuestionBounds(count: count + count / 4 + Self.refusalLimit, bytes: 2 * bytes) }

  /// Counts a question until ``finish(_:)``.
  ///
  /// - Returns: the reason why the question is refused; `nil` if it is admitted.
  mutating func admit(_ question: UInt64, bytes size: Int) -> String? {
    guard sizes[question] == nil, sizes.count < count else {
      refusals += 1
      return "the page has more than \(count) unanswered requests"
    }
    guard sizes.isEmpty || pendingBytes + size <= bytes else {
      refusals += 1
      return "the page's unanswered requests have more than \(bytes >> 20) MiB of contents"
    }
    refusals = 0
    sizes[question] = size
    pendingBytes += size
    return nil
  }

  mutating func finish(_ question: UInt64) { pendingBytes -= sizes.removeValue(forKey: question) ?? 0 }
}
