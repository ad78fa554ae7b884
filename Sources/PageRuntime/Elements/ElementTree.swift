import HTTPCache
import HTTPTransport
import ScriptEngine

/// The elements of a page. An invalid command changes nothing and throws its reason.
///
///     let tree = await page.tree
///     print(tree.outline)
///     for text in tree.all(.type("text")) { print(text.attributes["value"] ?? "") }
public struct ElementTree: Hashable, Sendable {
  /// An element.
  public struct Element: Hashable, Sendable {
    /// The id that the script and ``PageInstance/fireEvent(_:_:_:changes:)`` name the element by.
    public let ref: String
    /// The component, such as `text`.
    public let type: String
    /// The attributes, by name.
    public internal(set) var attributes: [String: ScriptValue]
    /// The style, by property as the script wrote it.
    public internal(set) var style: [String: ScriptValue]
    /// The types of events that the script listens to.
    public internal(set) var events: Set<String>
    /// The refs of the children, in order.
    public internal(set) var children: [String]
    /// The ref of the parent; `nil` for the body.
    public internal(set) var parent: String?
    /// The number of elements above; 0 for the body.
    public internal(set) var depth: Int
    /// The state of an image's picture; `nil` for other elements, and without a picture.
    public internal(set) var image: ImageState?
    /// The state of the page or document that the element shows; `nil` for other elements.
    public internal(set) var source: SourceState?
    /// The arguments that handlers get before the event, by its type; bindings, in the template of a cell.
    var eventArguments: [String: ScriptValue] = [:]
    /// The id of the component that an element of a cell belongs to; `nil` for others.
    var component: String?
  }

  struct Limits: Hashable, Sendable {
    var elements = 200_000
    var depth = 1_000
  }

  /// The elements by their refs.
  public private(set) var elements: [String: Element] = [:]
  /// The ref of the body; `nil` before there is one.
  public private(set) var root: String?
  private let limits: Limits

  /// A tree without elements.
  package init() { limits = Limits() }

  init(limits: Limits) { self.limits = limits }

  /// The element of a ref; `nil` if there is none.
  public subscript(ref: String) -> Element? { elements[ref] }
  /// The body; `nil` before there is one.
  public var body: Element? { root.flatMap { elements[$0] } }
  /// The number of elements.
  public var count: Int { elements.count }

  /// Makes room for a number of further elements, so that the tree does not grow in steps.
  mutating func reserve(_ further: Int) { elements.reserveCapacity(min(elements.count + further, limits.elements)) }

  /// - Throws: ``ElementTreeError``.
  package mutating func apply(_ command: RenderCommand) throws {
    switch command {
    case .createBody(let description):
      guard root == nil else { throw ElementTreeError.secondBody }
      try insert(description, below: nil, at: nil)
      root = description.ref
    case .addElement(let parent, let description, let index):
      guard let place = elements.index(forKey: parent) else { throw ElementTreeError.unknown(parent) }
      try insert(description, below: place, at: index)
    case .removeElement(let ref): try remove(ref)
    case .moveElement(let ref, let parent, let index): try move(ref, to: parent, index: index)
    case .updateAttributes(let ref, let changes): try change(ref) { $0.attributes.merge(changes) { $1 } }
    case .updateStyle(let ref, let changes): try change(ref) { $0.style.merge(changes) { $1 } }
    case .addEvent(let ref, let type): try change(ref) { $0.events.insert(type) }
    case .removeEvent(let ref, let type): try change(ref) { $0.events.remove(type) }
    case .createFinish, .updateFinish, .refreshFinish: break
    }
  }

  /// Returns the element and all elements below it, parents first. Empty if there is no such element.
  public func preorder(from ref: String) -> [Element] {
    var result: [Element] = []
    var waiting = [ref]
    while let next = waiting.popLast() {
      guard let element = elements[next] else { continue }
      result.append(element)
      waiting += element.children.reversed()
    }
    return result
  }

  /// Makes a tree of a list of elements.
  ///
  /// - Throws: ``ElementTreeError`` if they are not a tree.
  init(root: String?, elements: [Element]) throws {
    self.init()
    for element in elements {
      guard (0...limits.depth).contains(element.depth) else { throw ElementTreeError.tooDeep(limits.depth) }
      guard self.elements.updateValue(element, forKey: element.ref) == nil else {
        throw ElementTreeError.duplicate(element.ref)
      }
    }
    var children: Set<String> = []
    for element in elements {
      for ref in element.children {
        let child = try self.element(ref)
        guard children.insert(ref).inserted else { throw ElementTreeError.duplicate(ref) }
        // Depth grows along every branch: none comes back to where it began.
        guard child.parent == element.ref, child.depth == element.depth + 1 else { throw ElementTreeError.cycle(ref) }
      }
    }
    for element in elements where element.parent != nil && !children.contains(element.ref) {
      throw ElementTreeError.unknown(element.ref)
    }
    if let root { _ = try element(root) }
    self.root = root
  }

  mutating func setImage(_ state: ImageState?, of ref: String) { elements[ref]?.image = state }

  mutating func setSource(_ state: SourceState?, of ref: String) { elements[ref]?.source = state }

  /// The tree without the states of pictures, and of pages and documents.
  package var withoutStates: ElementTree {
    var tree = self
    for ref in elements.keys where elements[ref]?.image != nil || elements[ref]?.source != nil {
      tree.elements[ref]?.image = nil
      tree.elements[ref]?.source = nil
    }
    return tree
  }

  // MARK: Changes

  private func element(_ ref: String) throws -> Element {
    guard let element = elements[ref] else { throw ElementTreeError.unknown(ref) }
    return element
  }

  private mutating func change(_ ref: String, _ body: (inout Element) -> Void) throws {
    guard let place = elements.index(forKey: ref) else { throw ElementTreeError.unknown(ref) }
    body(&elements.values[place])
  }

  /// Inserts an element and all elements below it, or none of them.
  ///
  /// - Parameter parent: the parent's place in ``elements``; `nil` for the body.
  private mutating func insert(
    _ description: ElementDescription, below parent: Dictionary<String, Element>.Index?, at index: Int?
  ) throws {
    let above = parent.map { (ref: elements.keys[$0], depth: elements.values[$0].depth) }
    // Most insertions have few elements: what was inserted is removed again if one of them is invalid.
    var added: [String] = []
    do {
      var waiting = [(description, parent: above?.ref, depth: (above?.depth ?? -1) + 1)]
      while let (next, parent, depth) = waiting.popLast() {
        guard depth <= limits.depth else { throw ElementTreeError.tooDeep(limits.depth) }
        guard elements.count < limits.elements else { throw ElementTreeError.tooMany(limits.elements) }
        if let known = elements.updateValue(Element(next, parent: parent, depth: depth), forKey: next.ref) {
          elements[next.ref] = known
          throw ElementTreeError.duplicate(next.ref)
        }
        added.append(next.ref)
        for child in next.children { waiting.append((child, parent: next.ref, depth: depth + 1)) }
      }
    } catch {
      for ref in added { elements[ref] = nil }
      throw error
    }
    if let above { place(description.ref, in: above.ref, at: index) }
  }

  private mutating func place(_ ref: String, in parent: String, at index: Int?) {
    guard let parent = elements.index(forKey: parent) else { return }
    let count = elements.values[parent].children.count
    elements.values[parent].children.insert(ref, at: min(max(0, index ?? count), count))
  }

  private mutating func remove(_ ref: String) throws {
    let element = try element(ref)
    guard let parent = element.parent else { throw ElementTreeError.body }
    elements[parent]?.children.removeAll { $0 == ref }
    for gone in preorder(from: ref) { elements[gone.ref] = nil }
  }

  private mutating func move(_ ref: String, to parent: String, index: Int?) throws {
    let moved = try element(ref)
    guard let former = moved.parent else { throw ElementTreeError.body }
    var above: String? = parent
    while let at = above {
      guard at != ref else { throw ElementTreeError.cycle(ref) }
      above = try element(at).parent
    }
    let below = preorder(from: ref)
    let shift = try element(parent).depth + 1 - moved.depth
    let deepest = (below.map(\.depth).max() ?? 0) + shift
    guard deepest <= limits.depth else { throw ElementTreeError.tooDeep(limits.depth) }
    // The index counts the element itself at its former place.
    let old = former == parent ? elements[former]?.children.firstIndex(of: ref) : nil
    elements[former]?.children.removeAll { $0 == ref }
    place(ref, in: parent, at: index.map { index in old.map { $0 < index } == true ? index - 1 : index })
    elements[ref]?.parent = parent
    for element in below { elements[element.ref]?.depth += shift }
  }
}

extension ElementTree.Element {
  fileprivate init(_ description: ElementDescription, parent: String?, depth: Int) {
    self.init(
      ref: description.ref, type: description.type, attributes: description.attributes, style: description.style,
      events: description.events, children: description.children.map(\.ref), parent: parent, depth: depth,
      eventArguments: description.eventArguments)
  }
}

/// The feature by which an element is looked up.
///
///     if let price = await page.tree.first(.id("price")) { print(price.attributes["value"] ?? "") }
///     try await page.click(.text("Buy"))
public enum ElementQuery: Hashable, Sendable, CustomStringConvertible {
  /// The element with this ref.
  case ref(String)
  /// Elements whose attribute `id` is this text.
  case id(String)
  /// Elements of this component, such as `text`.
  case type(String)
  /// Elements whose attribute `value` is exactly this text: what a `text` or a `button` shows, or what was typed into an
  /// `input`. Numbers count as their text.
  case text(String)

  /// The query for messages, such as `the text "Buy"`.
  public var description: String {
    switch self {
    case .ref(let ref): "the ref \(ref.quotedForMessage)"
    case .id(let id): "the id \(id.quotedForMessage)"
    case .type(let type): "the type \(type.quotedForMessage)"
    case .text(let text): "the text \(text.quotedForMessage)"
    }
  }

  fileprivate func matches(_ element: ElementTree.Element) -> Bool {
    switch self {
    case .ref(let ref): element.ref == ref
    case .id(let id): element.attributes["id"]?.plainText == id
    case .type(let type): element.type == type
    case .text(let text): element.attributes["value"]?.plainText == text
    }
  }
}

extension ElementTree {
  /// Returns the first element that a query finds, in the order in which the page shows them, parents first; `nil` if there
  /// is none. The cells of a `recycle-list` are elements too.
  public func first(_ query: ElementQuery) -> Element? {
    if case .ref(let ref) = query, let element = self[ref] { return element }
    return all(query).first
  }

  /// Returns all elements that a query finds, in the order in which the page shows them, parents first. The cells of a
  /// `recycle-list` are elements too.
  ///
  ///     let titles = await page.tree.all(.type("text")).compactMap { $0.attributes["value"]?.string }
  public func all(_ query: ElementQuery) -> [Element] {
    let tree = expanded
    return tree.root.map { tree.preorder(from: $0).filter(query.matches) } ?? []
  }

  /// The element that a tap on another one reaches: that one, or the nearest around it that listens to `click`.
  ///
  /// - Throws: ``ClickError``.
  func clicked(_ query: ElementQuery) throws(ClickError) -> Element {
    let tree = expanded
    guard var target = tree.first(query) else { throw .notFound(query) }
    while !target.events.contains("click") {
      guard let parent = target.parent.flatMap({ tree[$0] }) else { throw .notClickable(query) }
      target = parent
    }
    return target
  }
}

/// The reason why ``PageInstance/click(_:)`` fires no event.
public enum ClickError: Error, Hashable, CustomStringConvertible {
  /// The page has no such element.
  case notFound(ElementQuery)
  /// Neither the element nor one around it listens to `click`.
  case notClickable(ElementQuery)

  public var description: String {
    switch self {
    case .notFound(let query): "the page has no element with \(query)"
    case .notClickable(let query): "neither the element with \(query) nor one around it listens to \"click\""
    }
  }
}

/// An error of a command that does not fit the tree.
enum ElementTreeError: Error, Hashable, Sendable, CustomStringConvertible {
  case unknown(String)
  case duplicate(String)
  case secondBody
  case body
  case cycle(String)
  case tooDeep(Int)
  case tooMany(Int)

  var description: String {
    switch self {
    case .unknown(let ref): "there is no element \(ref)"
    case .duplicate(let ref): "there is an element \(ref) already"
    case .secondBody: "the page has a body already"
    case .body: "the body can be neither moved nor removed"
    case .cycle(let ref): "element \(ref) cannot be put below itself"
    case .tooDeep(let limit): "elements are nested more than \(limit) deep"
    case .tooMany(let limit): "the page has more than \(limit) elements"
    }
  }
}

/// The state of the page of an `embed` element, or of the document of a `web` element.
public enum SourceState: Hashable, Sendable {
  /// The page or document is loading.
  case loading(url: String)
  /// The element shows the page with this id; ``PageInstance/embedded`` has it.
  case page(url: String, id: String)
  /// The element has a document, with its length in bytes; ``PageInstance/document(of:)`` has it.
  case document(url: String, contentType: String?, length: Int)
  /// The page or document could not be loaded, with the reason as a sentence.
  case failed(url: String, reason: String)

  /// The URL as the page wrote it.
  public var url: String {
    switch self {
    case .loading(let url), .page(let url, _), .document(let url, _, _), .failed(let url, _): url
    }
  }
}

extension ElementTree {
  /// A tree in the form that goes to another process: a list of elements, so that the text is not nested as deep as they
  /// are.
  package struct Record: Codable, Sendable {
    fileprivate struct Element: Codable, Sendable {
      var ref: String
      var type: String
      var attributes: JSONValue
      var style: JSONValue
      var events: [String]
      var children: [String]
      var parent: String?
      var depth: Int
      var image: Image?
      var source: Source?
    }

    fileprivate struct Image: Codable, Sendable {
      var url: String
      var format: String?
      var width: Int?
      var height: Int?
      var cache: String?
      var failure: String?
    }

    fileprivate struct Source: Codable, Sendable {
      var url: String
      var page: String?
      var contentType: String?
      var length: Int?
      var failure: String?
    }

    private var root: String?
    private var elements: [Element]

    package init(_ tree: ElementTree) {
      root = tree.root
      elements = tree.elements.values.map { Element($0) }
    }

    /// Reads a record. Other tasks run meanwhile, also during a long one.
    ///
    /// - Throws: ``JSONError``, `DecodingError`.
    package static func decode(_ text: [UInt8]) async throws -> Record {
      try await JSONValue.decode(Record.self, from: text, limits: JSONLimits(depth: 512 + 16, values: 5_000_000))
    }

    /// Makes the tree.
    ///
    /// - Throws: ``ElementTreeError`` if the elements are not a tree, as a process that was taken over may send them.
    package func tree() throws -> ElementTree {
      try ElementTree(root: root, elements: elements.map(\.element))
    }
  }
}

extension ElementTree.Record.Element {
  init(_ element: ElementTree.Element) {
    self.init(
      ref: element.ref, type: element.type, attributes: ScriptValue.object(element.attributes).json,
      style: ScriptValue.object(element.style).json, events: element.events.sorted(), children: element.children,
      parent: element.parent, depth: element.depth, image: element.image.map { ElementTree.Record.Image($0) },
      source: element.source.map { ElementTree.Record.Source($0) })
  }

  var element: ElementTree.Element {
    ElementTree.Element(
      ref: ref, type: type, attributes: ScriptValue(attributes).object ?? [:], style: ScriptValue(style).object ?? [:],
      events: Set(events), children: children, parent: parent, depth: max(0, depth), image: image?.state,
      source: source?.state)
  }
}

extension ElementTree.Record.Image {
  init(_ state: ImageState) {
    self.init(url: state.url)
    switch state {
    case .loading: break
    case .loaded(_, let format, let size, let cache):
      (self.format, self.cache) = (format, cache.rawValue)
      (width, height) = (size?.width, size?.height)
    case .failed(_, let reason): failure = reason
    }
  }

  var state: ImageState {
    if let failure { return .failed(url: url, reason: failure) }
    guard let format, format.isEmpty || ImageFormat(rawValue: format) != nil,
      let cache = cache.flatMap({ LoadedImage.CacheType(rawValue: $0) })
    else { return .loading(url: url) }
    return .loaded(url: url, format, ImageSize(width: width ?? 0, height: height ?? 0), cache)
  }
}

extension ElementTree.Record.Source {
  init(_ state: SourceState) {
    self.init(url: state.url)
    switch state {
    case .loading: break
    case .page(_, let id): page = id
    case .document(_, let type, let length): (contentType, self.length) = (type, length)
    case .failed(_, let reason): failure = reason
    }
  }

  var state: SourceState {
    if let failure { return .failed(url: url, reason: failure) }
    if let page { return .page(url: url, id: page) }
    if let length { return .document(url: url, contentType: contentType, length: length) }
    return .loading(url: url)
  }
}
