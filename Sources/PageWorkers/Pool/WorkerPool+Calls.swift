import PageKit

extension WorkerPool {
  /// Opens a page in the worker that suits it.
  ///
  /// - Parameter location: how the bundle is called outside.
  /// - Throws: ``PageFault``, ``WorkerError``.
  package func open(
    _ page: UInt64, _ opening: PageOpening, _ source: [UInt8], _ digest: SHA256Digest, location: String
  ) async throws -> WorkerLink.Reply {
    if let entry = barred.entry(digest, at: configuration.now()) { throw WorkerError.barred(entry) }
    let worker = try await worker(for: digest)
    workers[worker.id]?.pages.insert(page)
    assignments[page] = Assignment(worker: worker.id, digest: digest, location: location)
    do {
      let reply = try await call(page, extra: opening.wait.settle, source) { .open(call: $0, page: page, opening) }
      if opening.isOnce { forget(page) }
      return reply
    } catch let fault as PageFault {
      forget(page)
      throw fault
    }
  }

  /// Does something to a page.
  ///
  /// - Parameter extra: seconds that it may take besides the page's time.
  /// - Throws: ``PageFault``, ``WorkerError``.
  package func call(
    _ page: UInt64, extra: Double = 0, _ payload: [UInt8] = [], _ message: @escaping @Sendable (UInt64) -> HostMessage
  ) async throws -> WorkerLink.Reply {
    guard let residence = assignments[page], let worker = workers[residence.worker] else { throw PageFault.unknownPage }
    workers[worker.id]?.calls += 1
    defer { workers[worker.id]?.calls -= 1 }
    // Scripts that run for too long are stopped before; a worker that hardly gets any of the processor is not to blame.
    let limit = Watchdog.Limits(time: configuration.pageTime.seconds, memory: configuration.memory).wait + extra
    do {
      return try await worker.link.call(page, within: .seconds(limit), payload, message)
    } catch let fault as PageFault {
      // The engine has spared the worker; the bundle is no better for that.
      if case .stopped(let reason) = fault { strike(page, reason) }
      throw fault
    }
  }

  /// Counts a stop against the page's bundle, once: the engine's and a kill may come together.
  func strike(_ page: UInt64, _ reason: KillReason) {
    // It may have been waiting for something else.
    guard reason != .silence else { return }
    guard let residence = assignments[page], !residence.hasStruck else { return }
    assignments[page]?.hasStruck = true
    barred.strike(residence.digest, url: residence.location, reason, at: configuration.now())
  }

  /// Ends a page, once everything that happened to it was told.
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

  /// Which worker a page is in; nil for none.
  package func home(of page: UInt64) -> Int? { assignments[page]?.worker }
}
