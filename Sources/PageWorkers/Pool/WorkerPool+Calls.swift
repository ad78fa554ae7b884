import PageKit

extension WorkerPool {
  /// Opens a page in the most suitable worker.
  ///
  /// - Parameters:
  ///   - caller: the caller for whom the page opens; what it does with the page later is its input.
  ///   - location: the public URL of the bundle.
  /// - Throws: ``PageFault``, ``WorkerError``.
  package func open(
    _ page: UInt64, _ opening: PageOpening, _ source: [UInt8], _ digest: SHA256Digest, for caller: PageCaller,
    location: String
  ) async throws -> WorkerLink.Reply {
    if let entry = barred.entry(digest, for: caller.client, at: configuration.now()) { throw WorkerError.barred(entry) }
    let worker = try await worker(for: digest)
    if let engineProblem { throw WorkerError.cannotRun(engineProblem) }
    workers[worker.id]?.pages.insert(page)
    assignments[page] = Assignment(worker: worker.id, digest: digest, location: location, caller: caller)
    do {
      let reply = try await send(page, extra: opening.wait.settle, source) { .open(call: $0, page: page, opening) }
      if opening.isOnce { forget(page) }
      return reply
    } catch let fault as PageFault {
      forget(page)
      throw fault
    }
  }

  /// Sends a call to a page.
  ///
  /// - Parameter extra: seconds that the call may take beyond the page's time.
  /// - Throws: ``PageFault``, ``WorkerError``.
  package func call(
    _ page: UInt64, extra: Double = 0, _ payload: [UInt8] = [], _ message: @escaping @Sendable (UInt64) -> HostMessage
  ) async throws -> WorkerLink.Reply {
    if let caller = assignments[page]?.caller {
      assignments[page]?.caller = PageCaller(client: caller.client, hasInput: true)
    }
    return try await send(page, extra: extra, payload, message)
  }

  private func send(
    _ page: UInt64, extra: Double, _ payload: [UInt8], _ message: @escaping @Sendable (UInt64) -> HostMessage
  ) async throws -> WorkerLink.Reply {
    guard let residence = assignments[page], let worker = workers[residence.worker] else { throw PageFault.unknownPage }
    workers[worker.id]?.calls += 1
    defer { workers[worker.id]?.calls -= 1 }
    // Scripts that exceed their time are stopped earlier. A worker without processor time is not to blame.
    let limit = Watchdog.Limits(time: configuration.pageTime.seconds, memory: configuration.memory).wait + extra
    do {
      return try await worker.link.call(page, within: .seconds(limit), payload, message)
    } catch let fault as PageFault {
      // The engine stopped the script; this counts against the bundle like a kill.
      if case .stopped(let reason) = fault { strike(page, reason) }
      throw fault
    }
  }

  /// Counts a stop against the page's bundle once, since a stop by the engine and a kill may coincide.
  func strike(_ page: UInt64, _ reason: KillReason) {
    // The call may have waited for something else.
    guard reason != .silence else { return }
    guard let residence = assignments[page], !residence.hasStruck else { return }
    assignments[page]?.hasStruck = true
    barred.strike(
      residence.digest, url: residence.location, reason, for: residence.caller, at: configuration.now())
  }

  /// Ends a page after all its events were delivered.
  ///
  /// - Throws: ``PageFault``, ``WorkerError``.
  package func end(_ page: UInt64) async throws -> PageReply {
    defer { forget(page) }
    return try await call(page) { .end(call: $0, page: page) }.0
  }

  /// Ends a page.
  package func close(_ page: UInt64) async {
    guard let residence = assignments[page], let worker = workers[residence.worker] else { return }
    try? await worker.link.send(.close(page: page))
    forget(page)
  }

  private func forget(_ page: UInt64) {
    guard let residence = assignments.removeValue(forKey: page) else { return }
    workers[residence.worker]?.pages.remove(page)
  }

  /// The worker of a page; `nil` for none.
  package func home(of page: UInt64) -> Int? { assignments[page]?.worker }
}
