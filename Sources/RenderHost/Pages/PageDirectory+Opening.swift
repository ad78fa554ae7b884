import Foundation
import LivePages
import PageKit
import PageWorkers

extension PageDirectory {
  /// A bundle to run, which was found and is permitted.
  struct Target {
    let url: PageURL
    /// The public URL.
    let location: String
    var bundle: LoadedBundle
    /// The seconds until it was loaded.
    var bundleTime: Double
    /// The caller for whom the page opens.
    let caller: PageCaller
  }

  /// - Parameter client: the client whose turn is used.
  /// - Throws: ``PageFailure``.
  func open(_ request: PageRequest, view: PageView?, for client: String) async throws -> (OpenedPage, [UInt8]) {
    try await counted(request) {
      try await failing(request.url ?? request.name ?? "") {
        let target = try await find(request, for: client)
        let log = EventLog(companion: configuration.inspects ? PageTraffic(bodies) : nil)
        let live = EventLog()
        let opening = opening(request, target, view, isOnce: false)
        let (number, reply, seen) = try await takingPlace(for: client) { try await run(target, opening, log, live) }
        let page = OpenedPage(
          id: Self.newID(), number: number, name: request.name, opening: opening, target: target, log: log, live: live,
          reply: reply, opened: configuration.now())
        add(page)
        return (page, seen)
      }
    }
  }

  private func add(_ page: OpenedPage) {
    pages[page.id] = page
    count(page)
    configuration.development?.news(.opened(page.id))
  }

  /// The longest beginning of a recording that a page goes on from, in bytes: it is one message to a worker.
  private static let rerunLimit = 60 << 20

  /// Opens another page of a recorded page's bundle, which runs the recording again up to a step and goes on from there.
  ///
  /// - Parameters:
  ///   - id: the recorded page. It stays as it is.
  ///   - run: the run of its script that the recording is of.
  ///   - step: the number of the step.
  ///   - client: the client whose turn is used.
  /// - Throws: ``PageFailure``.
  func goOn(
    from recording: Recording, of id: String, run: UInt64, after step: Int, for client: String
  ) async throws -> OpenedPage {
    let former = try page(id)
    guard former.number == run else { throw PageFailure.earlierRun }
    return try await failing(former.location) {
      let target = try await target(former.target.url, for: former.target.caller)
      let (md5, recorded) = (target.bundle.md5.hex, former.target.bundle.md5.hex)
      guard md5 == recorded else {
        throw PageFailure.bundle(
          status: 409,
          reason:
            "the bundle has changed since the run was recorded: its MD5 is \(md5), and that of the recording \(recorded)"
        )
      }
      let steps: [UInt8]
      do { steps = try recording.beginning(to: step) } catch {
        throw PageFailure.bundle(status: 404, reason: error.sentence)
      }
      guard steps.count <= Self.rerunLimit else {
        throw PageFailure.bundle(
          status: 413,
          reason:
            "the recording has \(steps.count) bytes up to step \(step): the limit to go on from is \(Self.rerunLimit)")
      }
      var opening = former.opening
      opening.lastStep = step
      let log = EventLog(companion: configuration.inspects ? PageTraffic(bodies) : nil)
      let live = EventLog()
      let (number, reply, _) = try await takingPlace(for: client) { [opening] in
        try await self.run(target, opening, log, live, recording: steps)
      }
      let page = OpenedPage(
        id: Self.newID(), number: number, name: former.name, opening: former.opening, target: target, log: log,
        live: live, reply: reply, opened: configuration.now())
      add(page)
      return page
    }
  }

  /// Opens a page, renders it, and closes it.
  ///
  /// - Parameter client: the client whose turn is used.
  /// - Throws: ``PageFailure``.
  func render(_ request: PageRequest, view: PageView, for client: String) async throws -> (OpenedPage, [UInt8]) {
    try await counted(request) {
      try await failing(request.url ?? request.name ?? "") {
        let target = try await find(request, for: client)
        let opening = opening(request, target, view, isOnce: true)
        let (number, reply, seen) = try await takingPlace(for: client) { try await run(target, opening) }
        numbers.remove(number)
        let page = OpenedPage(
          id: "", number: number, name: request.name, opening: opening, target: target, log: EventLog(),
          live: EventLog(), reply: reply, opened: configuration.now())
        count(page)
        return (page, seen)
      }
    }
  }

  /// Opens a page's bundle again, with the bytes that the store and the server have now. The script's state is lost.
  ///
  /// - Parameters:
  ///   - client: the client whose turn is used.
  ///   - inputs: what the page's user has done, which is done again; `nil` for nothing.
  /// - Throws: ``PageFailure``; the page continues with its former bundle then.
  func reload(
    _ id: String, for client: String, repeating inputs: [PageInput]? = nil
  ) async throws -> (OpenedPage, [UInt8]) {
    let location = try page(id).location
    return try await failing(location) {
      try await pages[id]?.reopening?.value
      let former = try page(id)
      let target = try await target(former.target.url, for: former.target.caller)
      let (number, reply, seen) = try await pool.admission.admitted(client) {
        var opening = former.opening
        opening.inputs = inputs
        opening.former = pages[id]?.isFollowed == true ? former.number : nil
        let answers = numbers[former.number]?.questions.answers ?? pages[id]?.answers ?? []
        // A page that is pushed again by the same input has been pushed before.
        return try await run(
          target, opening, former.log, inputs == nil ? former.live : nil, patches: former.live,
          answers: inputs == nil ? [] : answers)
      }
      guard let old = pages[id]?.number else {
        numbers.remove(number)
        await close(run: number)
        throw PageFailure.unknownPage(id)
      }
      // A worker that ended meanwhile: what reopens the page gives way.
      pages[id]?.reopening?.cancel()
      pages[id]?.reopening = nil
      numbers.remove(old)
      numbers.attach(former.live, to: number)
      // At once, so that no request is sent to the page that is closed.
      pages[id]?.reopen(with: target, number: number, reply)
      pages[id]?.isFollowed = reply.isFollowed == true
      // Else its viewers were told already what differs.
      if reply.isFollowed != true { former.live.append(LiveEvent.again, JSONValue.object([:]).text) }
      former.log.append("reloaded", JSONValue.object(["md5": .string(target.bundle.md5.hex)]).text)
      await close(run: old)
      return (try page(id), seen)
    }
  }

  /// Sends an event to the readers of pages whose bundles have newer bytes.
  func follow(_ news: AsyncStream<BundleNews>) async {
    for await item in news {
      for page in pages.values where item.concerns(page.target.bundle) { page.log.append("update", item.json.text) }
    }
  }

  private func count(_ page: OpenedPage) {
    record.opened(page)
    guard let path = locations.entry(of: page.target.url)?.path else { return }
    if opens.count >= Self.opensLimit, opens[path] == nil { opens = [:] }
    opens[path, default: 0] += 1
  }

  private func counted<Result>(_ request: PageRequest, _ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let failure as PageFailure {
      record.failed(failure, opening: locations.location(of: request))
      throw failure
    }
  }

  /// Opens one more page when it is the client's turn.
  private func takingPlace<Result: Sendable>(
    for client: String, _ body: () async throws -> Result
  ) async throws -> Result {
    try await pool.admission.admitted(client) {
      guard count < configuration.pages else {
        throw PageFailure.full(limit: configuration.pages, configuration.hints)
      }
      openingCount += 1
      defer { openingCount -= 1 }
      return try await body()
    }
  }

  func failing<Result>(_ url: String, _ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as CancellationError {
      throw error
    } catch {
      throw PageFailure(error, url: url, configuration.hints).withoutPaths(locations)
    }
  }

  private func find(_ request: PageRequest, for client: String) async throws -> Target {
    let url: PageURL
    var parameters: Substring = ""
    var isListed = true
    if let name = request.name {
      url = try locations.source(named: name)
    } else if let served = request.url.flatMap({ locations.source(of: $0) }) {
      (url, parameters) = served
    } else {
      guard let asked = request.url.flatMap({ PageURL($0) }) else {
        throw PageFailure.badRequest("\"\(request.url ?? "")\" is not an http or https URL")
      }
      url = asked
      try answers.access.check(url)
      isListed = false
    }
    let hasInput =
      request.data != nil || request.options != nil || request.device != nil || !parameters.isEmpty || !isListed
    return try await target(url, parameters, for: PageCaller(client: client, hasInput: hasInput))
  }

  /// - Parameter parameters: the page's parameters beside its URL.
  private func target(
    _ url: PageURL, _ parameters: Substring = "", for caller: PageCaller
  ) async throws -> Target {
    let began = ContinuousClock.now
    let bundle = try await answers.bundle(url)
    let location = locations.location(of: url) + parameters
    return Target(
      url: url, location: location, bundle: bundle, bundleTime: (ContinuousClock.now - began).seconds, caller: caller)
  }

  private func opening(_ request: PageRequest, _ target: Target, _ view: PageView?, isOnce: Bool) -> PageOpening {
    var options = request.options ?? PageRequestOptions()
    options.bundleUrl = options.bundleUrl ?? target.location
    return PageOpening(
      url: target.location, options: options, data: request.data ?? configuration.data,
      wait: wait(request.settle, timers: request.timers, isOnce: isOnce), view: view, isOnce: isOnce,
      isRecorded: !isOnce && configuration.development?.recordings != nil,
      tellsInside: configuration.development != nil, device: request.device)
  }

  /// Returns how long to wait for a page: at most the time limit of one entry.
  ///
  /// - Parameters:
  ///   - settle: the seconds that the caller asks for.
  ///   - timers: the longest delay in seconds of timers that are waited for.
  ///   - isOnce: `true` if the page is rendered once: it is waited for by default.
  nonisolated func wait(_ settle: Double?, timers: Double?, isOnce: Bool = false) -> PageWait {
    let limit = configuration.pageTime.seconds
    return PageWait(
      settle: min(max(settle ?? (isOnce ? limit : 0), 0), limit),
      timers: min(max(timers ?? PendingWork.timerLimit.seconds, 0), limit))
  }

  /// - Parameter recording: the recording that the page goes on from; `nil` to run the bundle.
  func run(
    _ target: Target, _ opening: PageOpening, _ log: EventLog? = nil, _ live: EventLog? = nil,
    patches: EventLog? = nil, answers: [ViewerQuestions.Given] = [], recording: [UInt8]? = nil
  ) async throws -> (UInt64, PageReply, [UInt8]) {
    var tries = 0
    while true {
      let number = numbers.add(
        .init(
          url: target.url, view: target.bundle.view, location: target.location, log: log, live: live, patches: patches,
          answers: answers))
      do {
        let (reply, seen) = try await pool.open(
          number, opening, recording ?? target.bundle.bytes, target.bundle.sha256, for: target.caller,
          location: target.location)
        return (number, reply, seen)
      } catch {
        numbers.remove(number)
        configuration.development?.recordings?.close(number)
        tries += 1
        if case WorkerError.ended(_, let blame) = error, blame != .thisPage, tries < Self.tries { continue }
        throw error
      }
    }
  }

  private static func newID() -> String {
    (0..<12).map { _ in String("abcdefghijklmnopqrstuvwxyz0123456789".randomElement() ?? "a") }.joined()
  }
}

/// A caller's request to open a page.
struct PageRequest: Codable, Hashable, Sendable {
  /// The page's URL. Either this or ``name`` is given.
  var url: String?
  /// The name of a bundle in the current release.
  var name: String?
  var data: JSONValue?
  var options: PageRequestOptions?
  /// The seconds to wait for the page's requests before it is rendered.
  var settle: Double?
  /// The longest delay in seconds of timers that are waited for.
  var timers: Double?
  /// The screen that `WXEnvironment` has; `nil` for that of the host.
  var device: PictureOptions.Screen?

  /// - Parameters:
  ///   - data: JSON.
  ///   - device: a screen such as `375x812@2`.
  /// - Throws: ``PageFailure/badRequest(_:)``.
  init(url: String?, name: String?, data: String?, device: String? = nil) throws {
    (self.url, self.name) = (url, name)
    if let device {
      self.device = PictureOptions.Screen(device)
      guard self.device != nil else {
        throw PageFailure.badRequest(
          "the parameter device is \(device.quotedForMessage): expected a screen such as 375x812@2")
      }
    }
    if let data {
      do { self.data = try JSONValue(reading: Array(data.utf8)) } catch {
        throw PageFailure.badRequest("the parameter data is not JSON: \(error.sentence)")
      }
    }
    try check()
  }

  /// - Throws: ``PageFailure/badRequest(_:)``.
  func check() throws {
    guard (url == nil) != (name == nil) else { throw PageFailure.badRequest("give either a url or a name") }
    if let type = options?.type, BundleType(rawValue: type) == nil {
      let known = BundleType.allCases.map(\.rawValue).joined(separator: ", ")
      throw PageFailure.badRequest("there is no type \"\(type)\": use one of \(known)")
    }
  }
}
