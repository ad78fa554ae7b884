import HTTPTransport

/// The elements of a preview one by one, by their refs in the document, so that a browser that shows the preview can be
/// told what has changed in it. A pure value.
package struct PreviewNodes: Sendable {
  private struct Node: Sendable {
    let shown: Shown
    /// The ref of the node around it; ``body`` for the page's root.
    let parent: String
    var children: [String] = []
  }

  /// An element as HTML, which later nodes share while it stays as it is.
  private final class Shown: Sendable {
    let element: ElementTree.Element
    let context: PreviewElement.Context
    let tag: String
    let attributes: [PreviewElement.Attribute]
    let value: String
    let dots: String
    let columns: String?
    let start: String
    let end: String

    init(_ element: PreviewElement) {
      (self.element, context) = (element.element, element.context)
      (tag, attributes, value, dots) = (element.tag, element.attributes, element.value, element.dots)
      (columns, end) = (element.columns, element.isVoid ? "" : element.end)
      start = element.start(with: attributes)
    }

    /// Returns `true` if a change of attributes and text turns the other one into this one.
    func canReplace(_ other: Shown) -> Bool { tag == other.tag && dots == other.dots && columns == other.columns }

    /// Adds the appearance to a hash, without the ref.
    func hash(into hasher: inout Hasher) {
      for text in [tag, value, dots] { hasher.combine(text) }
      hasher.combine(columns)
      for attribute in ownAttributes {
        hasher.combine(attribute.name)
        hasher.combine(attribute.value)
      }
    }

    /// The attributes but for the first one, the ref.
    private var ownAttributes: ArraySlice<PreviewElement.Attribute> { attributes.dropFirst() }

    /// The attributes that differ from another one's; `nil` for those that are gone. The refs are not compared.
    func changes(from other: Shown) -> [String: String?] {
      let (old, new) = (other.ownAttributes, ownAttributes)
      guard old.count != new.count || !zip(old, new).allSatisfy({ $0 == $1 }) else { return [:] }
      let before = Dictionary(old.map { ($0.name, $0.value) }) { $1 }
      let now = Dictionary(new.map { ($0.name, $0.value) }) { $1 }
      var changes: [String: String?] = [:]
      for (name, value) in now where before[name] != value { changes[name] = .some(value) }
      for name in before.keys where now[name] == nil { changes[name] = .some(nil) }
      return changes
    }
  }

  /// The name of the document's body in the place of a ref.
  private static let body = ""
  private var nodes: [String: Node] = [:]
  private var roots: [String] = []

  /// No elements.
  package init() {}

  /// - Parameter former: earlier nodes of the same page; what has stayed as it was is not written again.
  package init(_ preview: HTMLPreview, reusing former: PreviewNodes = PreviewNodes()) {
    nodes.reserveCapacity(former.nodes.count)
    add(preview, below: "", in: Self.body, former, InlineStyle.Texts())
  }

  /// The HTML of all elements.
  package var html: String { roots.map { html(of: $0) }.joined() }

  private mutating func add(
    _ preview: HTMLPreview, below path: String, in place: String, _ former: PreviewNodes, _ styles: InlineStyle.Texts
  ) {
    guard let root = preview.tree.root else { return }
    // No recursion but into embedded pages: scripts decide how deep the tree is.
    var waiting = [(ref: root, parent: place)]
    while let (ref, parent) = waiting.popLast() {
      let name = path + ref
      // A page's refs may be any texts, and so look like those of an embedded page.
      guard let element = preview.tree[ref], !name.isEmpty, nodes[name] == nil else { continue }
      let context = PreviewElement.Context(of: element, in: preview.tree, preview.screen)
      let shown: Shown
      if let known = former.nodes[name]?.shown, known.context == context, known.element == element {
        shown = known
      } else {
        shown = Shown(
          PreviewElement(
            element: element, context: context, path: path, resource: preview.resource, styles: styles))
      }
      nodes[name] = Node(shown: shown, parent: parent)
      if parent.isEmpty { roots.append(name) } else { nodes[parent]?.children.append(name) }
      guard !shown.end.isEmpty else { continue }
      if let page = preview.embedded[ref] { add(page, below: name + "/", in: name, former, styles) }
      waiting += element.children.reversed().map { ($0, name) }
    }
  }

  private func children(of ref: String) -> [String] { ref.isEmpty ? roots : nodes[ref]?.children ?? [] }

  /// An element and all below it as HTML.
  private func html(of ref: String) -> String {
    var output = ""
    // The elements that are left, the next one last, and the ends of elements.
    var waiting: [(ref: String?, end: String)] = [(ref, "")]
    while let (ref, end) = waiting.popLast() {
      output += end
      guard let node = ref.flatMap({ nodes[$0] }) else { continue }
      output += node.shown.start
      waiting.append((nil, node.shown.end))
      waiting += node.children.reversed().map { ($0, "") }
    }
    return output
  }

  // MARK: The difference

  /// The steps, in their order, that turn a document with earlier nodes of the page into one with these.
  package func steps(from old: PreviewNodes) -> [PreviewStep] {
    let kept = kept(from: old)
    var steps: [PreviewStep] = []
    var waiting = [Self.body]
    while let ref = waiting.popLast() {
      for child in old.children(of: ref) where !kept.contains(child) { steps.append(.remove(child)) }
      waiting += old.children(of: ref).filter(kept.contains)
    }
    // Each element is in its place before anything is put into it, so that none is moved into itself.
    waiting = [Self.body]
    while let ref = waiting.popLast() {
      let children = children(of: ref)
      arrange(children, of: ref, old, kept, &steps)
      for child in children where kept.contains(child) {
        guard let before = old.nodes[child]?.shown, let now = nodes[child]?.shown, before !== now else { continue }
        let changes = now.changes(from: before)
        if !changes.isEmpty { steps.append(.change(child, changes)) }
        if now.value != before.value { steps.append(.text(child, now.value)) }
      }
      waiting += children.reversed().filter(kept.contains)
    }
    return steps
  }

  /// The steps, in their order, that turn a document with the elements of another run of the page into one with these.
  ///
  /// The refs of two runs have nothing to do with each other: elements stay that show the same in the same order, and
  /// others that a change turns into what they are now.
  package func steps(fromOtherRun old: PreviewNodes) -> [PreviewStep] {
    let names = names(of: old)
    var steps: [PreviewStep] = []
    var waiting = [Self.body]
    while let ref = waiting.popLast() {
      for child in old.children(of: ref) {
        if names[child] == nil { steps.append(.remove(child)) } else { waiting.append(child) }
      }
    }
    let renamed = names.filter { $0.key != $0.value }
    if !renamed.isEmpty { steps.append(.rename(renamed)) }
    return steps + self.steps(from: old.renamed(names))
  }

  /// The names of the elements that stay of those of another run, by their names there.
  private func names(of old: PreviewNodes) -> [String: String] {
    let (oldHashes, newHashes) = (old.hashes, hashes)
    var names: [String: String] = [:]
    // Parents come before their children, without recursion.
    var pairs = [(old: Self.body, new: Self.body)]
    var next = 0
    while next < pairs.count {
      let (olds, news) = (old.children(of: pairs[next].old), children(of: pairs[next].new))
      next += 1
      let partners = TreeDifference.partners(of: news, among: olds) {
        oldHashes[$0] == newHashes[$1]
      } canReplace: { former, child in
        guard let now = nodes[child]?.shown, let before = old.nodes[former]?.shown else { return false }
        return now.canReplace(before)
      }
      for (child, partner) in zip(news, partners) {
        guard let partner else { continue }
        names[olds[partner]] = child
        pairs.append((olds[partner], child))
      }
    }
    return names
  }

  /// A hash of each element with all that is below it, without refs.
  private var hashes: [String: Int] {
    var order = roots
    var next = 0
    while next < order.count {
      order += children(of: order[next])
      next += 1
    }
    var hashes: [String: Int] = [:]
    for name in order.reversed() {
      var hasher = Hasher()
      nodes[name]?.shown.hash(into: &hasher)
      for child in children(of: name) { hasher.combine(hashes[child]) }
      hashes[name] = hasher.finalize()
    }
    return hashes
  }

  /// The elements that stay under new names, without the others. Their HTML still has the former refs.
  private func renamed(_ names: [String: String]) -> PreviewNodes {
    var renamed = PreviewNodes()
    renamed.roots = roots.compactMap { names[$0] }
    for (former, name) in names {
      guard let node = nodes[former] else { continue }
      renamed.nodes[name] = Node(
        shown: node.shown, parent: names[node.parent] ?? Self.body, children: node.children.compactMap { names[$0] })
    }
    return renamed
  }

  /// The elements that stay in the document: those that a change can turn into what they are now, inside of elements that
  /// stay, before and now.
  private func kept(from old: PreviewNodes) -> Set<String> {
    var kept: Set<String> = []
    kept.reserveCapacity(nodes.count)
    for (ref, node) in nodes {
      guard let former = old.nodes[ref]?.shown, node.shown === former || node.shown.canReplace(former) else { continue }
      kept.insert(ref)
    }
    var dropped = nodes.keys.filter { !kept.contains($0) } + old.nodes.keys.filter { !kept.contains($0) }
    while let ref = dropped.popLast() {
      for child in children(of: ref) + old.children(of: ref) where kept.remove(child) != nil { dropped.append(child) }
    }
    return kept
  }

  /// Adds the steps that bring the children of an element into their order.
  private func arrange(
    _ children: [String], of ref: String, _ old: PreviewNodes, _ kept: Set<String>, _ steps: inout [PreviewStep]
  ) {
    let former = old.children(of: ref)
    guard former != children || !children.allSatisfy(kept.contains) else { return }
    let places = Dictionary(uniqueKeysWithValues: former.enumerated().map { ($1, $0) })
    let staying = Self.longestRise(children.map { kept.contains($0) ? places[$0] : nil })
    // From the last one on, so that the next one is in its place already.
    var next: String?
    for (index, child) in children.enumerated().reversed() {
      if !kept.contains(child) {
        steps.append(.insert(html(of: child), into: ref, before: next))
      } else if !staying.contains(index) {
        steps.append(.move(child, into: ref, before: next))
      }
      next = child
    }
  }

  /// The places in a list of the longest series of numbers that rise.
  private static func longestRise(_ numbers: [Int?]) -> Set<Int> {
    // For each length the place where the series of that length ends that ends with the least number.
    var ends: [Int] = []
    var before = [Int?](repeating: nil, count: numbers.count)
    for (place, number) in numbers.enumerated() {
      guard let number else { continue }
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if let end = numbers[ends[middle]], end < number { low = middle + 1 } else { high = middle }
      }
      before[place] = low > 0 ? ends[low - 1] : nil
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    var rise: Set<Int> = []
    var next = ends.last
    while let place = next {
      rise.insert(place)
      next = before[place]
    }
    return rise
  }
}

/// A change of a document that shows a preview. Elements are named by their refs in the document, its body by an empty text.
package enum PreviewStep: Hashable, Sendable {
  /// Removes an element with all below it.
  case remove(String)
  /// Gives elements other refs, by the former ones, all at once.
  case rename([String: String])
  /// Inserts an element as HTML into another one, before one of its children, or at its end.
  case insert(String, into: String, before: String?)
  /// Moves an element into another one, before one of its children, or at its end.
  case move(String, into: String, before: String?)
  /// Sets attributes, and removes those that are `nil`.
  case change(String, [String: String?])
  /// Sets the text before the children of an element, or in a text field.
  case text(String, String)

  /// The step as a list: its name and its arguments.
  package var json: JSONValue {
    func ref(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    return switch self {
    case .remove(let element): .array([.string("remove"), ref(element)])
    case .rename(let refs): .array([.string("rename"), .object(refs.mapValues { .string($0) })])
    case .insert(let html, let parent, let next): .array([.string("insert"), .string(html), ref(parent), ref(next)])
    case .move(let element, let parent, let next): .array([.string("move"), ref(element), ref(parent), ref(next)])
    case .change(let element, let changes): .array([.string("change"), ref(element), .object(changes.mapValues(ref))])
    case .text(let element, let text): .array([.string("text"), ref(element), .string(text)])
    }
  }
}
