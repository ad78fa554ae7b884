import HTTPTransport
import Synchronization

/// The origins of a gateway, which may be replaced while it runs.
package final class GatewayOrigins: Sendable {
  /// The origins at one time, and which requests they are for.
  struct Routes: Sendable {
    let origins: [GatewayOrigin]
    let table: OriginTable
    /// Grows with each replacement.
    let generation: Int

    init(_ origins: [GatewayOrigin], generation: Int = 0) {
      (self.origins, self.generation) = (origins, generation)
      table = OriginTable(origins.map(\.settings))
    }
  }

  /// The difference between two lists of origins, by their names.
  package struct Changes: Hashable, Sendable {
    package var added: [String] = []
    package var removed: [String] = []
    package var changed: [String] = []

    package var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
  }

  private let state: Mutex<Routes>
  private let latest = Atomic<Int>(0)
  /// Sent when origins were replaced.
  let replacements = Signal()

  init(_ origins: [GatewayOrigin]) { state = Mutex(Routes(origins)) }

  var routes: Routes { state.withLock(\.self) }

  /// Returns `true` if the origins are those of a generation: what they answered may be given again.
  func isCurrent(_ generation: Int) -> Bool { latest.load(ordering: .relaxed) == generation }

  func replace(by origins: [GatewayOrigin]) {
    state.withLock { state in
      state = Routes(origins, generation: state.generation + 1)
      latest.store(state.generation, ordering: .relaxed)
    }
    replacements.send()
  }
}

extension GatewayOrigins.Changes {
  init(from old: [OriginSettings], to new: [OriginSettings]) {
    for settings in new {
      guard let former = old.first(where: { $0.name == settings.name }) else {
        added.append(settings.name)
        continue
      }
      if !former.isSame(as: settings) { changed.append(settings.name) }
    }
    removed = old.map(\.name).filter { name in !new.contains { $0.name == name } }
  }

  /// The changes in words, such as `origins added: api; changed: pictures`.
  package var text: String {
    let parts = [("added", added), ("removed", removed), ("changed", changed)]
    return "origins "
      + parts.filter { !$0.1.isEmpty }.map { "\($0.0): \($0.1.joined(separator: ", "))" }.joined(separator: "; ")
  }
}
