import Synchronization

/// Collects what happens, from any task.
final class Recorder<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  var all: [Element] { elements.withLock { $0 } }
  func append(_ element: Element) { elements.withLock { $0.append(element) } }
}
