import HTTPTypes
import LivePages
import PageKit
import PageWorkers
import ServerKit
import Synchronization

/// Answers the requests of pages in workers from the daemon's loader and stores, within the access policy.
struct HostAnswers: Sendable {
  typealias Send = @Sendable (PageAnswer, [UInt8]) async throws -> Void

  let host: PageHost
  let access: AccessGuard
  let record: HostRecord
  let locations: PublicLocations
  /// The folder that bundles are read from as they are; `nil` for those of releases and of servers.
  var working: WorkingFolder?
  /// The limit of one response in bytes.
  private static let bodyLimit: Int64 = 32 << 20
  /// The fields of the connection and of the server's identity, which a page must not set.
  private static let ownFields: Set<String> = [
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive",
    "proxy-authorization", "proxy-connection",
  ]

  func answer(
    _ question: PageQuestion, _ payload: [UInt8], of asking: PageNumbers.Page, _ send: @escaping Send
  ) async {
    let storage = OriginStorage(
      origin: "\(asking.url.origin)", all: host.pages.registry.snapshot().handlers.storage)
    await question.answer(
      payload, storage: storage, send, load: { try await load($0, payload, asking, send) },
      bundle: { try await loadBundle($0, asking, send) },
      ask: { await asking.questions.ask($0, in: asking.live) }, reason: { locations.withoutPaths($0.sentence) })
  }

  // MARK: Resources

  private func load(
    _ question: ResourceQuestion, _ body: [UInt8], _ page: PageNumbers.Page, _ send: @escaping Send
  ) async throws {
    guard var request = question.request(body: body) else { throw LoadError.invalidReference(question.reference) }
    request.base = request.base ?? PageURL(page.location)
    request.snapshot = page.view
    request.fields = HTTPFields(request.fields.filter { !Self.ownFields.contains($0.name.canonicalName) })
    let recording = page.log?.traffic?.begin(request)
    do {
      request = try permitted(request)
      for await update in host.resources.updates(for: request) {
        if let (kind, resource) = update.relayed {
          record.answered(from: resource.source)
          recording?.answered(resource, at: resource.url.map(locations.location(of:)))
          let sending: Send = { answer, bytes in
            recording?.add(bytes)
            try await send(answer, bytes)
          }
          try await Self.send(resource.body, to: page, recording == nil ? send : sending) { hasMore in
            .update(RelayedUpdate(kind, resource, hasMore: hasMore, location: locations.location(of:)))
          }
          recording?.ended()
        } else if case .failed(let failure) = update {
          let reason = locations.withoutPaths("\(failure)")
          recording?.failed(reason)
          try await send(.failed(reason), [])
        }
      }
    } catch {
      recording?.failed(locations.withoutPaths(error.sentence))
      throw error
    }
  }

  /// Checks a request before any cache is asked: a stored response may have been fetched for another caller.
  ///
  /// - Parameter request: has URLs as pages know them.
  /// - Returns: the request with the URL that is fetched.
  /// - Throws: ``AccessRefusal``.
  func permitted(_ request: ResourceRequest) throws -> ResourceRequest {
    guard !request.reference.lowercased().hasPrefix("data:") else { return request }
    let reference = SchemeRelativeRewriter().rewrite(request.reference, for: request)
    guard let url = request.base.map({ $0.resolving(reference) }) ?? PageURL(reference) else {
      throw AccessRefusal.notAURL(request.reference)
    }
    let source = try locations.source(ofPageURL: url)
    try access.check(source)
    guard source != url else { return request }
    var request = request
    request.reference = source.text
    return request
  }

  /// Loads the bundle of an embedded page from the release of the page around it.
  private func loadBundle(_ text: String, _ page: PageNumbers.Page, _ send: Send) async throws {
    guard let known = PageURL(text) else { throw AccessRefusal.notAURL(text) }
    let url = try locations.source(ofPageURL: known)
    try access.check(url)
    page.embeds(url, nil)
    let bundle = try await self.bundle(url, options: OpenOptions(view: page.view))
    page.embeds(url, bundle.md5)
    try await Self.send(Body(bundle.bytes), to: page, send) { .bundle(hasMore: $0) }
  }

  /// Loads a bundle: from the working folder as it is there, or as a server's.
  ///
  /// - Throws: ``BundleError`` and the errors of loading; ``DescribedError`` for a file.
  func bundle(_ url: PageURL, options: OpenOptions = OpenOptions()) async throws -> LoadedBundle {
    if let working, url.isFile { return try working.load(url) }
    let bundle = try await host.bundles.load(url, options: options)
    record.loaded(bundle)
    return bundle
  }

  private static func send(
    _ body: Body, to page: PageNumbers.Page, _ send: Send, _ head: (_ hasMore: Bool) -> PageAnswer
  ) async throws {
    try await PageAnswer.send(body, limit: bodyLimit, longAnswers: page.longAnswers, send, head)
  }
}

/// The values that the pages of one origin store: they share them, and see none of other origins.
private struct OriginStorage: StorageProviding {
  let origin: String
  /// The values of all origins.
  let all: any StorageProviding

  /// The limits of an origin: the number of keys, and the bytes of a value.
  private static let keyLimit = 1_000
  private static let valueLimit = 256 << 10

  private var prefix: String { "\(origin) " }

  func value(for key: String) async throws -> String? { try await all.value(for: prefix + key) }

  func removeValue(for key: String) async throws -> Bool { try await all.removeValue(for: prefix + key) }

  func keys() async throws -> [String] {
    try await all.keys().filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
  }

  func setValue(_ value: String, for key: String) async throws {
    let count = value.utf8.count
    guard count + key.utf8.count <= Self.valueLimit else {
      throw DescribedError("the value is not stored: it has \(count) bytes, and the limit is \(Self.valueLimit)")
    }
    let keys = try await keys()
    guard keys.count < Self.keyLimit || keys.contains(key) else {
      throw DescribedError(
        "the value is not stored: the pages of \(origin) store \(Self.keyLimit) values, which is the limit")
    }
    try await all.setValue(value, for: prefix + key)
  }
}

/// The pages by the numbers that workers use for them.
final class PageNumbers: Sendable {
  struct Page: Sendable {
    let url: PageURL
    /// The release that the page sees.
    let view: ReleaseView?
    /// The public URL.
    let location: String
    let log: EventLog?
    /// The patches for its viewers, and what else they are told.
    var live: EventLog?
    /// The log of its viewers for patches alone, while the inputs of a former run are done again.
    let patches: EventLog?
    /// Sends one long response at a time to the page: its worker buffers a response until it is complete.
    let longAnswers = FairGate<Int>(width: 1)
    /// The questions of its script for its viewers.
    let questions: ViewerQuestions
    private let embedded = EmbeddedBundles()

    init(
      url: PageURL, view: ReleaseView?, location: String, log: EventLog?, live: EventLog?, patches: EventLog? = nil,
      answers: [ViewerQuestions.Given] = []
    ) {
      (self.url, self.view, self.location, self.log) = (url, view, location, log)
      (self.live, self.patches, questions) = (live, patches, ViewerQuestions(after: answers))
    }

    /// Records the bundle of an embedded page.
    ///
    /// - Parameter md5: that of its bytes; `nil` if it cannot be loaded.
    func embeds(_ url: PageURL, _ md5: MD5Digest?) { embedded.insert(url, md5) }

    /// The bundles of embedded pages, with the MD5s of their bytes; `nil` for one that cannot be loaded.
    var embeddedBundles: [PageURL: MD5Digest?] { embedded.all }
  }

  /// The bundles of the pages in a page, up to a number.
  private final class EmbeddedBundles: Sendable {
    private let bundles = Mutex<[PageURL: MD5Digest?]>([:])

    func insert(_ url: PageURL, _ md5: MD5Digest?) {
      bundles.withLock { if $0.count < 1_000 || $0[url] != nil { $0[url] = .some(md5) } }
    }

    var all: [PageURL: MD5Digest?] { bundles.withLock(\.self) }
  }

  private let state = Mutex<(pages: [UInt64: Page], last: UInt64)>(([:], 0))

  func add(_ page: Page) -> UInt64 {
    state.withLock { state in
      state.last += 1
      state.pages[state.last] = page
      return state.last
    }
  }

  /// Has the viewers of a page be told of what happens in it.
  func attach(_ live: EventLog, to number: UInt64) { state.withLock { $0.pages[number]?.live = live } }

  /// - Returns: the answers to the page's questions, for its next run.
  @discardableResult
  func remove(_ number: UInt64) -> [ViewerQuestions.Given] {
    guard let questions = state.withLock({ $0.pages.removeValue(forKey: number) })?.questions else { return [] }
    questions.end()
    return questions.answers
  }

  subscript(number: UInt64) -> Page? { state.withLock { $0.pages[number] } }
}
