import ScriptEngine

/// The steps that turn one tree into another, which has the same elements under other refs: first the removals, then the
/// new refs, and then the changes.
///
/// Frameworks number elements as they make them, so that the same page has other refs the next time.
package struct TreeDifference: Hashable, Sendable {
  /// Remove elements by their former refs.
  package private(set) var removals: [RenderCommand] = []
  /// The new refs of the elements that stay, by the former ones.
  private var staying: [String: String] = [:]
  /// Change and add elements by their new refs.
  package private(set) var changes: [RenderCommand] = []

  /// The new refs of the elements that stay under another one, by the former refs. They are changed all at once.
  package var refs: [String: String] { staying.filter { $0.key != $0.value } }

  /// The new ref of an element; `nil` if the element does not stay.
  func newRef(of former: String) -> String? { staying[former] }

  /// Makes the difference between two trees, without the states of pictures and of embedded pages.
  ///
  /// - Returns: `nil` if the body cannot stay: it is of another type, or lacks an attribute or a property of its style,
  ///   which no command removes.
  package init?(from old: ElementTree, to new: ElementTree) {
    guard let first = old.body, let body = new.body, body.canReplace(first) else { return nil }
    let (oldHashes, newHashes) = (old.subtreeHashes(), new.subtreeHashes())
    // Parents come before their children, without recursion.
    var pairs = [(first, body)]
    var next = 0
    while next < pairs.count {
      let (former, element) = pairs[next]
      next += 1
      staying[former.ref] = element.ref
      update(from: former, to: element)
      let olds = former.children.compactMap { old[$0] }
      let news = element.children.compactMap { new[$0] }
      let partners = Self.partners(of: news, among: olds) {
        oldHashes[$0.ref] == newHashes[$1.ref]
      } canReplace: {
        $1.canReplace($0)
      }
      var kept: Set<String> = []
      for (index, partner) in partners.enumerated() {
        if let partner {
          kept.insert(olds[partner].ref)
          pairs.append((olds[partner], news[index]))
        } else if let description = new.description(of: news[index].ref) {
          changes.append(.addElement(parent: element.ref, description, index: index))
        }
      }
      for child in olds where !kept.contains(child.ref) { removals.append(.removeElement(child.ref)) }
    }
  }

  private mutating func update(from old: ElementTree.Element, to new: ElementTree.Element) {
    let attributes = new.attributes.filter { old.attributes[$0.key] != $0.value }
    if !attributes.isEmpty { changes.append(.updateAttributes(new.ref, attributes)) }
    let style = new.style.filter { old.style[$0.key] != $0.value }
    if !style.isEmpty { changes.append(.updateStyle(new.ref, style)) }
    for type in new.events.subtracting(old.events).sorted() { changes.append(.addEvent(new.ref, type: type)) }
    for type in old.events.subtracting(new.events).sorted() { changes.append(.removeEvent(new.ref, type: type)) }
  }

  /// The places of the former children that new ones can take over, in the same order: first those that are alike with
  /// everything below them, and between these any that can be changed.
  ///
  /// - Parameters:
  ///   - areAlike: compares a former child with a new one.
  ///   - canReplace: tells of a former child and a new one if a change turns the one into the other.
  static func partners<Child>(
    of news: [Child], among olds: [Child], areAlike: (Child, Child) -> Bool, canReplace: (Child, Child) -> Bool
  ) -> [Int?] {
    var partners = [Int?](repeating: nil, count: news.count)
    var start = 0
    while start < min(olds.count, news.count), areAlike(olds[start], news[start]) {
      partners[start] = start
      start += 1
    }
    var end = 0
    while end < min(olds.count, news.count) - start, areAlike(olds[olds.count - 1 - end], news[news.count - 1 - end]) {
      partners[news.count - 1 - end] = olds.count - 1 - end
      end += 1
    }
    var place = start
    for index in start..<(news.count - end) {
      // Not far, so that the time grows with the number of children.
      let near = max(place, index - reach)..<max(place, index - reach, min(index + reach, olds.count - end))
      let found = near.first { areAlike(olds[$0], news[index]) }
      guard let found else { continue }
      partners[index] = found
      place = found + 1
    }
    let alike = partners.enumerated().compactMap { index, partner in partner.map { (index, $0) } }
    for (before, after) in zip([(-1, -1)] + alike, alike + [(news.count, olds.count)]) {
      var place = before.1 + 1
      for index in (before.0 + 1)..<after.0 where place < after.1 {
        // Where fewer are left than there were, those before the next one that can stay have gone.
        let spare = min(max(0, (after.1 - place) - (after.0 - index)), reach)
        guard let found = (place...(place + spare)).first(where: { canReplace(olds[$0], news[index]) }) else {
          continue
        }
        partners[index] = found
        place = found + 1
      }
    }
    return partners
  }

  /// The places on either side within which an element is looked for that is alike.
  private static let reach = 32
}

extension ElementTree.Element {
  /// Returns `true` if commands can turn the other element into this one.
  fileprivate func canReplace(_ other: ElementTree.Element) -> Bool {
    type == other.type && other.attributes.keys.allSatisfy { attributes[$0] != nil }
      && other.style.keys.allSatisfy { style[$0] != nil }
  }
}

extension ElementTree {
  /// A hash of each element with all that is below it, without refs.
  fileprivate func subtreeHashes() -> [String: Int] {
    guard let root else { return [:] }
    var hashes: [String: Int] = [:]
    for element in preorder(from: root).reversed() {
      var hasher = Hasher()
      hasher.combine(element.type)
      hasher.combine(element.attributes)
      hasher.combine(element.style)
      hasher.combine(element.events)
      for child in element.children { hasher.combine(hashes[child]) }
      hashes[element.ref] = hasher.finalize()
    }
    return hashes
  }

  /// The tree with other refs.
  ///
  /// - Parameter refs: the new refs by the former ones; those that it does not have stay.
  package func renaming(_ refs: [String: String]) throws -> ElementTree {
    func new(_ ref: String) -> String { refs[ref] ?? ref }
    return try ElementTree(
      root: root.map(new),
      elements: elements.values.map { element in
        Element(
          ref: new(element.ref), type: element.type, attributes: element.attributes, style: element.style,
          events: element.events, children: element.children.map(new), parent: element.parent.map(new),
          depth: element.depth, image: element.image, source: element.source, eventArguments: element.eventArguments)
      })
  }

  /// An element and all below it as a description; `nil` if there is none.
  func description(of ref: String) -> ElementDescription? {
    // Children first, without recursion.
    var made: [String: ElementDescription] = [:]
    for element in preorder(from: ref).reversed() {
      made[element.ref] = ElementDescription(
        ref: element.ref, type: element.type, attributes: element.attributes, style: element.style,
        events: element.events, children: element.children.compactMap { made.removeValue(forKey: $0) },
        eventArguments: element.eventArguments)
    }
    return made[ref]
  }
}
