import HTTPTransport
import ScriptEngine

/// The place of an element in a page, by which it is found in another run of the page, where its ref may be another.
package struct ElementPlace: Codable, Hashable, Sendable {
  /// A step from a parent to a child.
  package struct Step: Codable, Hashable, Sendable {
    /// The type of the child.
    package var type: String
    /// Its number among the siblings of its type, from 0.
    package var index: Int
  }

  /// The steps from the body; empty for the body.
  package var steps: [Step]
  /// The first text in the element; `nil` if it has none.
  package var text: String?
  /// The type of the element.
  package var type: String

  /// The place as people say it: `text "Add"`, or `div > list > cell[2]`.
  package var description: String {
    if let text { return "\(type) \(text.quotedForMessage)" }
    return steps.isEmpty
      ? type : steps.map { $0.index == 0 ? $0.type : "\($0.type)[\($0.index + 1)]" }.joined(separator: " > ")
  }
}

extension ElementTree {
  /// The place of an element; `nil` if there is no such element.
  package func place(of ref: String) -> ElementPlace? {
    guard let element = self[ref] else { return nil }
    var steps: [ElementPlace.Step] = []
    var at = element
    while let parent = at.parent.flatMap({ self[$0] }) {
      let index = parent.children.prefix { $0 != at.ref }.count { self[$0]?.type == at.type }
      steps.append(.init(type: at.type, index: index))
      at = parent
    }
    return ElementPlace(steps: steps.reversed(), text: firstText(in: element), type: element.type)
  }

  /// Finds the element of a place: at best one that is there with the same text, else one with the same text elsewhere,
  /// else one that is there with another text, which may have been edited.
  ///
  /// - Parameter event: a type of events that the element must listen to; `nil` for any element.
  /// - Returns: its ref; `nil` if no element fits.
  package func ref(at place: ElementPlace, listeningTo event: String? = nil) -> String? {
    func fits(_ element: Element) -> Bool {
      element.type == place.type && (event.map(element.events.contains) ?? true)
    }
    let there = element(at: place.steps).flatMap { fits($0) ? $0 : nil }
    if let there, firstText(in: there) == place.text { return there.ref }
    if let text = place.text, let root,
      let moved = preorder(from: root).first(where: { fits($0) && firstText(in: $0) == text })
    {
      return moved.ref
    }
    return there?.ref
  }

  private func element(at steps: [ElementPlace.Step]) -> Element? {
    var at = body
    for step in steps {
      let children = at?.children.lazy.compactMap { self[$0] }.filter { $0.type == step.type }
      at = children?.dropFirst(max(0, step.index)).first
    }
    return at
  }

  /// The number of elements in which a text is looked for.
  private static let textSearch = 50

  private func firstText(in element: Element) -> String? {
    var waiting = [element]
    var seen = 0
    while let next = waiting.popLast(), seen < Self.textSearch {
      seen += 1
      if next.type == "text", let text = next.attributes["value"]?.string, !text.isEmpty {
        return String(text.prefix(100))
      }
      waiting += next.children.prefix(Self.textSearch).reversed().compactMap { self[$0] }
    }
    return nil
  }
}

extension PageInstance {
  /// The place of an element, also of one in a cell of a `recycle-list`; `nil` if there is no such element.
  package func place(of ref: String) -> ElementPlace? { expandedTree.tree.place(of: ref) }

  /// Finds the element of a place, as ``ElementTree/ref(at:listeningTo:)`` does, also in cells of a `recycle-list`.
  package func ref(at place: ElementPlace, listeningTo event: String) -> String? {
    expandedTree.tree.ref(at: place, listeningTo: event)
  }
}
