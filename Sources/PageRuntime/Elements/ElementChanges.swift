import HTTPTransport
import ScriptEngine

/// The changes of a page's elements since a record of them was taken, for another process that follows the page.
struct ElementChanges: Sendable {
  enum Change: Sendable {
    case command(RenderCommand)
    case image(ref: String, ImageState?)
    case source(ref: String, SourceState?)
  }

  /// The changes in their order; `nil` if the elements are shorter than these, or are other ones.
  private var changes: [Change]? = []
  /// About the bytes of the changes.
  private var length = 0
  /// The bytes of the elements as they were taken as a whole, and of the changes that were taken since.
  private let wholeLength: Int
  private var takenLength = 0

  /// The bytes that changes of a few elements may have too.
  private static let leastLength = 64 << 10

  init(after wholeLength: Int) { self.wholeLength = wholeLength }

  /// The largest number of bytes of all changes that are taken before the elements as a whole are taken again.
  static func limit(after wholeLength: Int) -> Int { max(leastLength, wholeLength) }

  mutating func note(_ commands: [RenderCommand]) {
    for command in commands where command.changesElements { note(.command(command), command.roughLength) }
  }

  /// - Parameter ref: an element of the tree.
  mutating func note(_ image: ImageState?, of ref: String) {
    note(.image(ref: ref, image), 100 + (image?.url.utf8.count ?? 0))
  }

  /// - Parameter ref: an element of the tree.
  mutating func note(_ source: SourceState?, of ref: String) {
    note(.source(ref: ref, source), 100 + (source?.url.utf8.count ?? 0))
  }

  private mutating func note(_ change: Change, _ length: Int) {
    guard changes != nil else { return }
    self.length += length
    if self.length > Self.limit(after: wholeLength) { changes = nil } else { changes?.append(change) }
  }

  /// Returns the changes, and forgets them; `nil` if the elements are to be taken as a whole.
  mutating func takeChanges() -> [UInt8]? {
    guard let taken = record else { return nil }
    takenLength += taken.count
    (changes, length) = ([], 0)
    return takenLength <= Self.limit(after: wholeLength) ? taken : nil
  }

  /// The changes as JSON, for ``ElementRecord``.
  private var record: [UInt8]? {
    changes.map { JSONValue.object(["changes": .array($0.map(\.json))]).text }
  }
}

extension ElementChanges.Change {
  var json: JSONValue {
    switch self {
    case .command(let command):
      guard case .object(var members) = command.json else { return .null }
      let gone = command.undefined
      if !gone.isEmpty { members["gone"] = .array(gone.map { .string($0) }) }
      return .object(members)
    case .image(let ref, let state): return .object(["ref": .string(ref), "image": state?.record ?? .null])
    case .source(let ref, let state): return .object(["ref": .string(ref), "source": state?.record ?? .null])
    }
  }
}

extension RenderCommand {
  /// About the bytes of the command as JSON.
  fileprivate var roughLength: Int {
    switch self {
    case .createBody(let element), .addElement(_, let element, _): element.roughLength
    case .updateAttributes(_, let changes), .updateStyle(_, let changes): 50 + ScriptValue.object(changes).roughLength
    default: 50
    }
  }

  /// The attributes or properties that the command makes `undefined`. JSON, and so a record, has none of these.
  fileprivate var undefined: [String] {
    switch self {
    case .updateAttributes(_, let changes), .updateStyle(_, let changes):
      changes.filter { $0.value == .undefined }.map(\.key)
    default: []
    }
  }
}

extension ElementDescription {
  fileprivate var roughLength: Int {
    children.reduce(50 + ScriptValue.object(attributes).roughLength + ScriptValue.object(style).roughLength) {
      $0 + $1.roughLength
    }
  }
}

extension ScriptValue {
  fileprivate var roughLength: Int {
    switch self {
    case .undefined, .null, .bool, .number: 8
    case .string(let text): text.utf8.count
    case .array(let values): values.reduce(8) { $0 + $1.roughLength }
    case .object(let members): members.reduce(8) { $0 + $1.key.utf8.count + $1.value.roughLength }
    case .data(let bytes): bytes.count
    }
  }
}

extension PageInstance {
  /// Returns the elements for a process that has all that this has returned before: at first ``ElementTree/record``, and
  /// later what has changed. After as many bytes of changes as the elements have, they come as a whole again.
  ///
  /// - Parameter limit: the largest number of bytes that can be sent. What is longer does not count as sent.
  package func takeRecord(upTo limit: Int) -> [UInt8] {
    if var sent = sentElements, let changes = sent.takeChanges(), changes.count <= limit {
      sentElements = sent
      return changes
    }
    let record = tree.record
    sentElements = record.count <= limit ? ElementChanges(after: record.count) : nil
    return record
  }
}

/// A record that a process sends of its page's elements: all of them, or their changes since the record before.
package struct ElementRecord: Sendable {
  private let content: Content
  fileprivate let length: Int

  private enum Content: Sendable {
    case whole(ElementTree)
    case changes([JSONValue])
  }

  /// Reads a record. Other tasks run meanwhile, also during a long one.
  ///
  /// - Throws: ``JSONError``; ``ElementTreeError`` if it is not one, as a process that was taken over may send it.
  package init(reading bytes: [UInt8]) async throws {
    length = bytes.count
    let limits = JSONLimits(depth: Recording.limits.depth, values: 5_000_000)
    let json = try await JSONValue.decode(JSONValue.self, from: bytes, limits: limits)
    if case .object(let members) = json, case .array(let changes)? = members["changes"] {
      content = .changes(changes)
    } else {
      content = .whole(try ElementTree(record: json))
    }
  }

  fileprivate var isWhole: Bool { if case .whole = content { true } else { false } }

  fileprivate func apply(to tree: inout ElementTree) throws {
    switch content {
    case .whole(let whole): tree = whole
    case .changes(let changes): for change in changes { try Self.apply(change, to: &tree) }
    }
  }

  private static func apply(_ change: JSONValue, to tree: inout ElementTree) throws {
    guard case .object(let members) = change else { throw ElementTreeError.malformed }
    if case .string(let method)? = members["method"] {
      let arguments = ScriptValue(members["args"] ?? .null)
      guard let command = try? RenderCommand(task: method, arguments) else { throw ElementTreeError.malformed }
      try tree.apply(command)
      for name in ScriptValue(members["gone"] ?? .null).array ?? [] { tree.remove(name.string ?? "", by: command) }
      return
    }
    guard case .string(let ref)? = members["ref"], tree[ref] != nil else { throw ElementTreeError.malformed }
    if let image = members["image"] {
      tree.setImage(ImageState(record: ScriptValue(image)), of: ref)
    } else if let source = members["source"] {
      tree.setSource(SourceState(record: ScriptValue(source)), of: ref)
    } else {
      throw ElementTreeError.malformed
    }
  }
}

/// The elements of a page that runs in another process, by the records that it sends.
package struct FollowedElements: Sendable {
  /// The elements after the latest record.
  package private(set) var tree = ElementTree()
  /// The bytes of the elements as they came as a whole, and of their changes since.
  private var (wholeLength, changesLength) = (0, 0)

  package init() {}

  /// Changes the elements into those of the next record.
  ///
  /// - Throws: ``ElementTreeError`` if the changes do not fit the elements, or are longer than those of a page can be.
  package mutating func follow(_ record: ElementRecord) throws {
    changesLength = record.isWhole ? 0 : changesLength + record.length
    if record.isWhole { wholeLength = record.length }
    guard changesLength <= ElementChanges.limit(after: wholeLength) else { throw ElementTreeError.malformed }
    try record.apply(to: &tree)
  }
}
