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
    /// The place near which the element is found among its siblings, and how far its children may be from theirs.
    var search = Search()

    /// The place near which an element is found among its siblings. It does not count in comparisons of elements.
    struct Search: Hashable, Sendable {
      /// The element's place among its siblings when the parent's children were numbered, or when it was put there.
      var place = 0
      /// The number of insertions and removals among the element's children since they were numbered: none is further
      /// than this from its `place`.
      var shifts = 0

      /// The shifts after which children are numbered anew. More of them make searches longer, fewer the numbering more
      /// frequent.
      static let shiftLimit = 512

      static func == (_: Search, _: Search) -> Bool { true }

      func hash(into _: inout Hasher) {}
    }

    /// The places among the children at which one of them can be.
    func places(of child: Element) -> Range<Int> {
      let end = min(children.count, child.search.place + search.shifts + 1)
      return min(max(0, child.search.place - search.shifts), end)..<end
    }
  }

  /// The elements by their refs.
  public private(set) var elements: [String: Element] = [:]
  /// The ref of the body; `nil` before there is one.
  public private(set) var root: String?
  private let elementLimit: Int
  private let depthLimit: Int

  /// A tree without elements.
  package init() { self.init(elementLimit: 200_000, depthLimit: 1_000) }

  init(elementLimit: Int, depthLimit: Int) { (self.elementLimit, self.depthLimit) = (elementLimit, depthLimit) }

  /// The element of a ref; `nil` if there is none.
  public subscript(ref: String) -> Element? { elements[ref] }
  /// The body; `nil` before there is one.
  public var body: Element? { root.flatMap { elements[$0] } }
  /// The number of elements.
  public var count: Int { elements.count }

  /// Makes room for a number of further elements, so that the tree does not grow in steps.
  mutating func reserve(_ further: Int) { elements.reserveCapacity(min(elements.count + further, elementLimit)) }

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
      guard (0...depthLimit).contains(element.depth) else { throw ElementTreeError.tooDeep(depthLimit) }
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
    for element in elements { number(element.children) }
    if let root { _ = try element(root) }
    self.root = root
  }

  mutating func setImage(_ state: ImageState?, of ref: String) { elements[ref]?.image = state }

  mutating func setSource(_ state: SourceState?, of ref: String) { elements[ref]?.source = state }

  /// Removes the attribute or the property of a name from the element whose attributes or style a command has changed.
  mutating func remove(_ name: String, by command: RenderCommand) {
    switch command {
    case .updateAttributes(let ref, _): elements[ref]?.attributes[name] = nil
    case .updateStyle(let ref, _): elements[ref]?.style[name] = nil
    default: break
    }
  }

  /// The tree without the states of pictures, and of pages and documents.
  package var withoutStates: ElementTree {
    var tree = self
    for ref in elements.keys where elements[ref]?.image != nil || elements[ref]?.source != nil {
      tree.elements[ref]?.image = nil
      tree.elements[ref]?.source = nil
    }
    return tree
  }

  /// Adds the elements of an embedded page below the element that shows it. Their refs begin with that element's and a slash,
  /// as in documents of the page.
  ///
  /// Nothing is added if the tree would have too many elements, or be too deep.
  mutating func embed(_ page: ElementTree, in ref: String) {
    guard let place = elements.index(forKey: ref), let root = page.root, count + page.count <= elementLimit else {
      return
    }
    let (prefix, depth) = (ref + "/", elements.values[place].depth + 1)
    let added = page.preorder(from: root).map { element in
      Element(
        ref: prefix + element.ref, type: element.type, attributes: element.attributes, style: element.style,
        events: element.events, children: element.children.map { prefix + $0 },
        parent: element.parent.map { prefix + $0 } ?? ref, depth: depth + element.depth, image: element.image,
        source: element.source)
    }
    guard added.allSatisfy({ $0.depth <= depthLimit && elements[$0.ref] == nil }) else { return }
    elements.values[place].children.insert(prefix + root, at: 0)
    for element in added { elements[element.ref] = element }
    number(elements[ref]?.children ?? [])
    for element in added { number(element.children) }
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
    let above = parent.map { place in
      let count = elements.values[place].children.count
      return (
        ref: elements.keys[place], depth: elements.values[place].depth, index: min(max(0, index ?? count), count)
      )
    }
    // Most insertions have few elements: what was inserted is removed again if one of them is invalid.
    var added: [String] = []
    do {
      var waiting = [(description, parent: above?.ref, depth: (above?.depth ?? -1) + 1, index: above?.index ?? 0)]
      while let (next, parent, depth, index) = waiting.popLast() {
        guard depth <= depthLimit else { throw ElementTreeError.tooDeep(depthLimit) }
        guard elements.count < elementLimit else { throw ElementTreeError.tooMany(elementLimit) }
        let element = Element(next, parent: parent, depth: depth, index: index)
        if let known = elements.updateValue(element, forKey: next.ref) {
          elements[next.ref] = known
          throw ElementTreeError.duplicate(next.ref)
        }
        added.append(next.ref)
        for (index, child) in next.children.enumerated() {
          waiting.append((child, parent: next.ref, depth: depth + 1, index: index))
        }
      }
    } catch {
      for ref in added { elements[ref] = nil }
      throw error
    }
    if let above { put(description.ref, in: above.ref, at: above.index) }
  }

  /// Adds an element to the children of another one, which says that it is there.
  private mutating func put(_ ref: String, in parent: String, at index: Int) {
    guard let place = elements.index(forKey: parent) else { return }
    elements.values[place].children.insert(ref, at: index)
    if index < elements.values[place].children.count - 1 { shift(place) }
  }

  /// Takes an element out of the children of its parent.
  ///
  /// - Returns: its former place.
  @discardableResult
  private mutating func takeOut(_ child: Element, of parent: String) -> Int? {
    guard let place = elements.index(forKey: parent) else { return nil }
    let places = elements.values[place].places(of: child)
    guard let index = elements.values[place].children[places].firstIndex(of: child.ref) else { return nil }
    elements.values[place].children.remove(at: index)
    if index < elements.values[place].children.count { shift(place) }
    return index
  }

  /// Counts that places of children have changed by one, and numbers all of them if that happened often.
  private mutating func shift(_ parent: Dictionary<String, Element>.Index) {
    elements.values[parent].search.shifts += 1
    guard elements.values[parent].search.shifts > Element.Search.shiftLimit else { return }
    elements.values[parent].search.shifts = 0
    number(elements.values[parent].children)
  }

  private mutating func number(_ children: [String]) {
    for (index, ref) in children.enumerated() { elements[ref]?.search.place = index }
  }

  private mutating func remove(_ ref: String) throws {
    let element = try element(ref)
    guard let parent = element.parent else { throw ElementTreeError.body }
    takeOut(element, of: parent)
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
    guard deepest <= depthLimit else { throw ElementTreeError.tooDeep(depthLimit) }
    // The index counts the element itself at its former place.
    let old = takeOut(moved, of: former)
    let count = elements[parent]?.children.count ?? 0
    let wanted = index.map { index in
      if former == parent, let old, old < index { index - 1 } else { index }
    }
    let place = min(max(0, wanted ?? count), count)
    elements[ref]?.parent = parent
    elements[ref]?.search.place = place
    put(ref, in: parent, at: place)
    for element in below { elements[element.ref]?.depth += shift }
  }
}

extension ElementTree.Element {
  /// - Parameter index: the place among the siblings.
  fileprivate init(_ description: ElementDescription, parent: String?, depth: Int, index: Int) {
    self.init(
      ref: description.ref, type: description.type, attributes: description.attributes, style: description.style,
      events: description.events, children: description.children.map(\.ref), parent: parent, depth: depth,
      eventArguments: description.eventArguments, search: Search(place: index))
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
    let tree = expanded
    return tree.root.flatMap { tree.preorder(from: $0).first(where: query.matches) }
  }

  /// Returns all elements that a query finds, in the order in which the page shows them, parents first. The cells of a
  /// `recycle-list` are elements too.
  ///
  ///     let titles = await page.tree.all(.type("text")).compactMap { $0.attributes["value"]?.string }
  public func all(_ query: ElementQuery) -> [Element] {
    let tree = expanded
    return tree.root.map { tree.preorder(from: $0).filter(query.matches) } ?? []
  }

  /// The element of an expanded tree that a tap on another one reaches: that one, or the nearest around it that listens
  /// to `click`.
  ///
  /// - Throws: ``ClickError``.
  package func clicked(_ query: ElementQuery) throws(ClickError) -> Element {
    guard var target = root.flatMap({ preorder(from: $0).first(where: query.matches) }) else { throw .notFound(query) }
    while !target.events.contains("click") {
      guard let parent = target.parent.flatMap({ self[$0] }) else { throw .notClickable(query) }
      target = parent
    }
    return target
  }
}

/// The reason why ``PageInstance/click(_:)`` or ``PageInstance/tap(x:y:)`` fires no event.
public enum ClickError: Error, Hashable, CustomStringConvertible {
  /// The page has no such element.
  case notFound(ElementQuery)
  /// Neither the element nor one around it listens to `click`.
  case notClickable(ElementQuery)
  /// No element is seen at a place of the page, in units of the design.
  case nothingAt(x: Double, y: Double)

  public var description: String {
    switch self {
    case .notFound(let query): "the page has no element with \(query)"
    case .notClickable(let query): "neither the element with \(query) nor one around it listens to \"click\""
    case .nothingAt(let x, let y):
      "the page has no element at the place \(ScriptValue.number(x).jsonText), \(ScriptValue.number(y).jsonText)"
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
  /// A record is not one of a tree.
  case malformed

  var description: String {
    switch self {
    case .unknown(let ref): "there is no element \(ref)"
    case .duplicate(let ref): "there is an element \(ref) already"
    case .secondBody: "the page has a body already"
    case .body: "the body can be neither moved nor removed"
    case .cycle(let ref): "element \(ref) cannot be put below itself"
    case .tooDeep(let limit): "elements are nested more than \(limit) deep"
    case .tooMany(let limit): "the page has more than \(limit) elements"
    case .malformed: "the record of the elements is damaged"
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

// MARK: - Records

extension ElementTree {
  /// The tree as JSON, in the form that goes to another process and to the disk: a list of elements, so that the text is
  /// not nested as deep as they are.
  package var record: [UInt8] {
    var members: [String: JSONValue] = ["elements": .array(elements.values.map(\.record))]
    if let root { members["root"] = .string(root) }
    return JSONValue.object(members).text
  }

  /// Reads a record. Other tasks run meanwhile, also during a long one.
  ///
  /// - Throws: ``JSONError``; ``ElementTreeError`` if the elements are not a tree, as a process that was taken over may
  ///   send them.
  package static func read(record: [UInt8]) async throws -> ElementTree {
    let limits = JSONLimits(depth: 512 + 16, values: 5_000_000)
    return try ElementTree(record: await JSONValue.decode(JSONValue.self, from: record, limits: limits))
  }

  /// Makes the tree of a record.
  ///
  /// - Throws: ``ElementTreeError``.
  package init(record: JSONValue) throws {
    let record = ScriptValue(record)
    guard let elements = record["elements"].array else { throw ElementTreeError.malformed }
    try self.init(root: record["root"].string, elements: elements.map { try Element(record: $0) })
  }
}

extension ElementTree.Element {
  fileprivate var record: JSONValue {
    var members: [String: JSONValue] = [
      "ref": .string(ref), "type": .string(type), "attributes": ScriptValue.object(attributes).json,
      "style": ScriptValue.object(style).json, "events": .array(events.sorted().map { .string($0) }),
      "children": .array(children.map { .string($0) }), "depth": .integer(Int64(depth)),
    ]
    if let parent { members["parent"] = .string(parent) }
    if let image { members["image"] = image.record }
    if let source { members["source"] = source.record }
    return .object(members)
  }

  fileprivate init(record: ScriptValue) throws {
    guard let ref = record["ref"].string, let type = record["type"].string, let depth = record["depth"].number else {
      throw ElementTreeError.malformed
    }
    func texts(_ name: String) -> [String] { (record[name].array ?? []).compactMap(\.string) }
    self.init(
      ref: ref, type: type, attributes: record["attributes"].object ?? [:], style: record["style"].object ?? [:],
      events: Set(texts("events")), children: texts("children"), parent: record["parent"].string,
      depth: Int(min(max(0, depth), 1e9)), image: ImageState(record: record["image"]),
      source: SourceState(record: record["source"]))
  }
}

extension ImageState {
  var record: JSONValue {
    var members: [String: JSONValue] = ["url": .string(url)]
    switch self {
    case .loading: break
    case .loaded(_, let format, let size, let cache):
      (members["format"], members["cache"]) = (.string(format), .string(cache.rawValue))
      if let size {
        (members["width"], members["height"]) = (.integer(Int64(size.width)), .integer(Int64(size.height)))
      }
    case .failed(_, let reason): members["failure"] = .string(reason)
    }
    return .object(members)
  }

  init?(record: ScriptValue) {
    guard let url = record["url"].string else { return nil }
    if let failure = record["failure"].string {
      self = .failed(url: url, reason: failure)
    } else if let format = record["format"].string, format.isEmpty || ImageFormat(rawValue: format) != nil,
      let cache = record["cache"].string.flatMap({ LoadedImage.CacheType(rawValue: $0) })
    {
      let size = ImageSize(width: record["width"].int ?? 0, height: record["height"].int ?? 0)
      self = .loaded(url: url, format, size, cache)
    } else {
      self = .loading(url: url)
    }
  }
}

extension SourceState {
  var record: JSONValue {
    var members: [String: JSONValue] = ["url": .string(url)]
    switch self {
    case .loading: break
    case .page(_, let id): members["page"] = .string(id)
    case .document(_, let type, let length):
      members["contentType"] = type.map { .string($0) }
      members["length"] = .integer(Int64(length))
    case .failed(_, let reason): members["failure"] = .string(reason)
    }
    return .object(members)
  }

  init?(record: ScriptValue) {
    guard let url = record["url"].string else { return nil }
    if let failure = record["failure"].string {
      self = .failed(url: url, reason: failure)
    } else if let page = record["page"].string {
      self = .page(url: url, id: page)
    } else if let length = record["length"].int {
      self = .document(url: url, contentType: record["contentType"].string, length: length)
    } else {
      self = .loading(url: url)
    }
  }
}
