import HTTPCache
import HTTPTransport
import ScriptEngine

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
      (self.format, self.cache) = (format.rawValue, cache.rawValue)
      (width, height) = (size?.width, size?.height)
    case .failed(_, let reason): failure = reason
    }
  }

  var state: ImageState {
    if let failure { return .failed(url: url, reason: failure) }
    guard let format = format.flatMap({ ImageFormat(rawValue: $0) }),
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
