import ArgumentParser
import PageKit

/// An event to fire, as an argument: `ref:type`.
struct FiredEvent: ExpressibleByArgument, Hashable {
  let ref: String
  let type: String

  init?(argument: String) {
    guard let colon = argument.lastIndex(of: ":") else { return nil }
    ref = String(argument[..<colon].drop { $0 == "#" })
    type = String(argument[argument.index(after: colon)...])
    guard !ref.isEmpty, !type.isEmpty else { return nil }
  }

  /// The reason why the event cannot be fired; `nil` if it can.
  func fault(in tree: ElementTree) -> String? {
    var listener = tree[ref]
    while let element = listener {
      // The event may bubble up to a listener.
      if element.events.contains(type) { return nil }
      listener = element.parent.flatMap { tree[$0] }
    }
    let listeners = tree.preorder(from: tree.root ?? "").filter { $0.events.contains(type) }
    let subject = tree[ref].map { "the \($0.type) \(ref) has no event \(type)" } ?? "there is no element \(ref)"
    guard !listeners.isEmpty else {
      let types = Set(tree.elements.values.flatMap(\.events)).sorted().joined(separator: ", ")
      return types.isEmpty
        ? "\(subject); no element listens to events" : "\(subject); no element listens to \(type), only to \(types)"
    }
    let some = listeners.prefix(6).map { "\($0.ref) (\(Self.label(of: $0, in: tree)))" }.joined(separator: ", ")
    return "\(subject); elements that listen to \(type): \(some)\(listeners.count > 6 ? ", …" : "")"
  }

  /// The element's type, and its first text.
  private static func label(of element: ElementTree.Element, in tree: ElementTree) -> String {
    let texts = tree.preorder(from: element.ref).lazy.compactMap { $0.attributes["value"]?.string }.filter {
      !$0.isEmpty
    }
    return texts.first.map { "\(element.type) \(String($0.prefix(30)).quotedForMessage)" } ?? element.type
  }
}
