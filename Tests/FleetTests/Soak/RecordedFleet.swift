import Foundation
import PageTesting
import Synchronization
import TestServers

/// Records what clients see of a real fleet, as a ``FleetHistory``.
///
/// The origin's content is the time at which it was made, and has no validator: what a host gives tells how old it is.
final class RecordedFleet: Sendable {
  private let began = ContinuousClock.now
  private let state = Mutex(FleetHistory())
  private let hosts: [FleetHosts.Host]
  /// The hosts that are cut off from the journal, and those that have not caught up since.
  private let away = Mutex<Set<Int>>([])
  private let traffic = Mutex<Task<Void, Never>?>(nil)
  private let isOver = Atomic(false)

  static let urls = 5

  init(_ hosts: [FleetHosts.Host], _ origin: FaultOrigin) {
    self.hosts = hosts
    for url in 0..<Self.urls {
      origin.respond("/\(url)") { [began] _ in
        OriginResponse(
          status: .ok, headers: [.cacheControl: "max-age=600"],
          body: Array("\(Self.milliseconds(since: began))".utf8))
      }
    }
  }

  private static func milliseconds(since start: ContinuousClock.Instant) -> Int {
    let time = (ContinuousClock.now - start).components
    return Int(time.seconds) * 1_000 + Int(time.attoseconds / 1_000_000_000_000_000)
  }

  private var now: Int { Self.milliseconds(since: began) }
  var history: FleetHistory { state.withLock { $0 } }

  /// Requests every URL of every host again and again, until ``stop()``.
  func start() {
    let task = Task {
      await withTaskGroup(of: Void.self) { group in
        for index in hosts.indices {
          group.addTask {
            var url = 0
            while !self.isOver.load(ordering: .relaxed) {
              url = (url + 1) % Self.urls
              await self.request(url, index)
              self.noteQuestion(index)
              try? await Task.sleep(for: .milliseconds(10))
            }
          }
        }
      }
    }
    traffic.withLock { $0 = task }
  }

  func stop() async {
    // Foundation's requests must not be cancelled: that can wait for ever.
    isOver.store(true, ordering: .relaxed)
    await traffic.withLock { $0 }?.value
  }

  private func request(_ url: Int, _ index: Int) async {
    let asked = now
    guard let answer = try? await hosts[index].get("/\(url)"), let made = Int(answer.text) else { return }
    let isFallback = answer.headers["cache-status"]?.contains("detail=") == true
    state.withLock {
      $0.answers.append(.init(host: index, url: url, asked: asked, made: made, isFallback: isFallback))
    }
  }

  /// A host that is connected is answered by the journal.
  private func noteQuestion(_ index: Int) {
    guard away.withLock({ !$0.contains(index) }) else { return }
    let now = now
    state.withLock { state in
      if let last = state.questions.last(where: { $0.host == index }), now - last.asked < 500 { return }
      state.questions.append(
        .init(host: index, asked: now, answered: now, span: .init(journal: 1, first: 1, last: 0, time: nil)))
    }
  }

  /// Gives a purge to a host.
  ///
  /// - Returns: the time until all that can be reached have confirmed it; `nil` if it was refused.
  @discardableResult
  func purge(_ url: Int, at index: Int, waiting wait: Double = 2) async throws -> Duration? {
    let (given, start) = (now, ContinuousClock.now)
    let result = try await hosts[index].purge(#"{"url": "/\#(url)", "wait": \#(wait)}"#)
    let ended = now
    guard let answer = result.answer else { return nil }
    var purge = FleetHistory.Purge(sequence: 0, journal: 1, url: url, given: given, ordered: ended)
    for (place, host) in hosts.enumerated() where answer.confirmed?.contains(host.name) == true {
      purge.applied[place] = ended
    }
    state.withLock { [purge] in $0.purges.append(purge) }
    return answer.missing == [] ? ContinuousClock.now - start : nil
  }

  /// Cuts a host off from the journal.
  ///
  /// - Parameter silently: `true` to close no connection, as a link that is down.
  func cut(_ index: Int, silently: Bool = false) {
    away.withLock { _ = $0.insert(index) }
    if silently { hosts[index].stall() } else { hosts[index].cut() }
  }

  /// Connects a host again, and returns when it has caught up.
  func heal(_ index: Int) async throws {
    hosts[index].heal()
    // What some host has carried out by now, this one has too once it has come as far.
    let purges = history.purges
    let known = purges.indices.filter { !purges[$0].applied.isEmpty }
    var last: UInt64 = 0
    for host in hosts { last = max(last, try await host.fleet().sequence) }
    try await eventually("\(hosts[index].name) has caught up") {
      let fleet = try await hosts[index].fleet()
      return fleet.phase == "current" && fleet.sequence >= last
    }
    let now = now
    state.withLock { state in
      for purge in known where state.purges[purge].applied[index] == nil { state.purges[purge].applied[index] = now }
    }
    away.withLock { _ = $0.remove(index) }
  }
}

extension [Duration] {
  /// The times in milliseconds, for people: the median, the 99th percentile and the longest.
  var summary: String {
    guard !isEmpty else { return "none" }
    let sorted = sorted().map { Double($0.components.attoseconds) / 1e15 + Double($0.components.seconds) * 1e3 }
    func at(_ share: Double) -> String {
      String(format: "%.1f", sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))])
    }
    return "\(count): median \(at(0.5)) ms, p99 \(at(0.99)) ms, longest \(at(1)) ms"
  }
}
