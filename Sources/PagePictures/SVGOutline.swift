/// The elements of an SVG file, without their meaning: by them its drawing has a bound before it begins, since librsvg
/// cannot be stopped.
///
/// It is read by bytes, as the parser does: a letter and what is combined with it are two characters there.
struct SVGOutline {
  /// The work for each pixel of the drawing, if every element covers all of it. One fill is 1. A group with an opacity, a
  /// mask or a clip is a picture of its own, and patterns take as long; styles, which elements inherit, count for all of them.
  private(set) var work = 0.0
  /// The elements that are drawn, with all copies that references make; long paths and texts count as several.
  private(set) var count = 0.0

  /// The most elements that are drawn, a second or two: more than a file has without copies.
  static let countLimit = 300_000.0
  /// The deepest nesting, also of elements that refer to each other: librsvg takes some 4 KB of stack for each.
  private static let depthLimit = 100

  private enum Kind { case other, style, pattern, marker }

  private struct Element {
    let parent: Int
    let kind: Kind
    var work = 0.0
    var count = 1.0
    /// The numbers and letters in the attributes: a path has no more points.
    var points = 0.0
    var children: [Int] = []
    var references: [ArraySlice<UInt8>] = []
    /// The references that elements in it inherit.
    var paints: [ArraySlice<UInt8>] = []
    var classes: [ArraySlice<UInt8>] = []
    var hasMarkers = false
  }

  private struct Cost {
    var work: Double
    var count: Double
    var depth: Int
  }

  private var elements: [Element] = []
  /// The elements by their ids, which may have several in a file with faults.
  private var ids: [ArraySlice<UInt8>: [Int]] = [:]
  /// The style sheets.
  private var styles: [UInt8] = []
  private var isCostly = false
  private var hasReferences = false

  /// Reads a file.
  ///
  /// - Returns: `nil` for a drawing whose cost follows neither from its bytes nor from its pixels: with filters, pictures in
  ///   it, entities or dashes, with endless references, or with what may hide these, such as documents in a `data:` URL.
  init?(_ file: [UInt8]) {
    // Compressed, or in an encoding in which names have other bytes.
    guard file.first != 0x1F, !file.contains(0), String(validating: file, as: UTF8.self) != nil else { return nil }
    let bytes = file.map { (65...90).contains($0) ? $0 + 32 : (9...13).contains($0) ? 32 : $0 }
    // URLs have the same meaning with tabs and line ends in them.
    let dense = file.isEmpty ? [] : zip(bytes, file).compactMap { (9...13).contains($1) ? nil : $0 }
    let refused: [StaticString] = [
      "filter", "<image", ":image", "<feimage", ":feimage", "<!entity", "&#", "\\", "dasharray", "data:", "@import",
      "<?xml-stylesheet", "<include", ":include",
    ]
    guard !refused.contains(where: { Self.contains($0, in: dense) }) else { return nil }
    guard read(bytes), readStyles(), addPatternsAndMarkers(), addUp() else { return nil }
  }

  private static func contains(_ word: StaticString, in bytes: some Collection<UInt8>) -> Bool {
    let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    return bytes.withContiguousStorageIfAvailable { bytes in
      guard bytes.count >= word.count else { return false }
      for start in 0...(bytes.count - word.count) where bytes[start] == word[0] {
        if (1..<word.count).allSatisfy({ bytes[start + $0] == word[$0] }) { return true }
      }
      return false
    } ?? true
  }

  // MARK: Reading

  private mutating func read(_ bytes: [UInt8]) -> Bool {
    var open: [Int] = []
    var rest = bytes[...]
    func isNext(_ text: StaticString) -> Bool {
      rest.count >= text.utf8CodeUnitCount
        && (0..<text.utf8CodeUnitCount).allSatisfy { rest[rest.startIndex + $0] == text.utf8Start[$0] }
    }
    /// Goes behind the next occurrence of a text.
    func skip(to end: StaticString) -> ArraySlice<UInt8>? {
      let start = rest
      while !rest.isEmpty, !isNext(end) { rest = rest.dropFirst() }
      guard !rest.isEmpty else { return nil }
      let skipped = start[..<rest.startIndex]
      rest = rest.dropFirst(end.utf8CodeUnitCount)
      return skipped
    }
    func add(_ text: ArraySlice<UInt8>) {
      guard let last = open.last else { return }
      elements[last].count += Double(text.count) / 50
      if elements[last].kind == .style { styles += text }
    }
    while !rest.isEmpty {
      let start = rest.startIndex
      rest = rest[(rest.firstIndex(of: UInt8(ascii: "<")) ?? rest.endIndex)...]
      add(bytes[start..<rest.startIndex])
      guard !rest.isEmpty else { break }
      if isNext("<!--") {
        rest = rest.dropFirst(4)
        guard skip(to: "-->") != nil else { return false }
      } else if isNext("<![cdata[") {
        rest = rest.dropFirst(9)
        guard let text = skip(to: "]]>") else { return false }
        add(text)
      } else if isNext("<?") {
        guard let text = skip(to: "?>"), !Self.hasOtherEncoding(text) else { return false }
      } else if isNext("<!") {
        // One with declarations of its own may end anywhere.
        guard let text = skip(to: ">"), !text.contains(UInt8(ascii: "[")) else { return false }
      } else if isNext("</") {
        guard skip(to: ">") != nil, open.popLast() != nil else { return false }
      } else {
        rest = rest.dropFirst()
        guard let isOpen = readElement(&rest, in: open.last), open.count < Self.depthLimit else { return false }
        if isOpen { open.append(elements.count - 1) }
      }
    }
    return true
  }

  private static func hasOtherEncoding(_ declaration: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: declaration, as: UTF8.self)
    guard let name = text.firstRange(of: "encoding") else { return false }
    let value = text[name.upperBound...].drop { " =\"'".contains($0) }
    return !value.hasPrefix("utf-8")
  }

  /// Reads what follows the `<` of an element.
  ///
  /// - Returns: `true` if it has an end tag; `nil` if it is no XML.
  private mutating func readElement(_ rest: inout ArraySlice<UInt8>, in parent: Int?) -> Bool? {
    func isSpace(_ byte: UInt8) -> Bool { byte == 32 }
    func take(until isEnd: (UInt8) -> Bool) -> ArraySlice<UInt8> {
      let end = rest.firstIndex(where: isEnd) ?? rest.endIndex
      defer { rest = rest[end...] }
      return rest[..<end]
    }
    let whole = take { $0 == 32 || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ">") }
    let name = String(decoding: whole.split(separator: UInt8(ascii: ":")).last ?? [], as: UTF8.self)
    guard !name.isEmpty else { return nil }
    let kind: Kind =
      switch name {
      case "style": .style
      case "pattern": .pattern
      case "marker": .marker
      default: .other
      }
    if kind == .style || kind == .pattern { isCostly = true }
    var element = Element(parent: parent ?? -1, kind: kind)
    let start = rest.startIndex
    var groups = 0
    while true {
      rest = rest.drop(while: isSpace)
      guard let first = rest.first else { return nil }
      if first == UInt8(ascii: ">") || first == UInt8(ascii: "/") { break }
      let name = take { $0 == 32 || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ">") }
      let attribute = String(decoding: name, as: UTF8.self)
      rest = rest.drop(while: isSpace)
      guard rest.popFirst() == UInt8(ascii: "=") else { return nil }
      rest = rest.drop(while: isSpace)
      guard let quote = rest.popFirst(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
      let value = take { $0 == quote }
      guard rest.popFirst() != nil else { return nil }
      switch attribute {
      case "id", "xml:id": ids[Self.token(value), default: []].append(elements.count)
      case "class": element.classes += value.split(separator: 32)
      default:
        guard let found = Self.references(in: value) else { return nil }
        element.references += found
        if !found.isEmpty, attribute != "href", !attribute.hasSuffix(":href") { element.paints += found }
        if Self.contains("url(", in: value) { hasReferences = true }
      }
      // Of a style, each property may be a group.
      let words = attribute == "style" ? value : name
      for word in ["opacity", "mask", "clip"] as [StaticString] where Self.contains(word, in: words) { groups += 1 }
      element.hasMarkers =
        element.hasMarkers || ["marker", "marker-start", "marker-mid", "marker-end"].contains(attribute)
        || attribute == "style" && Self.contains("marker", in: value)
      var wasNumber = false
      for byte in value {
        let isNumber = (48...57).contains(byte)
        if isNumber ? !wasNumber : (97...122).contains(byte) { element.points += 1 }
        wasNumber = isNumber
      }
    }
    let size = Double(rest.startIndex - start)
    // A long path has many edges, which cost little beside a fill.
    element.work = 10 * Double(groups) + size / 100
    element.count += size / 50
    if let parent { elements[parent].children.append(elements.count) }
    elements.append(element)
    let isOpen = rest.first != UInt8(ascii: "/")
    if !isOpen { rest = rest.dropFirst() }
    return rest.popFirst() == UInt8(ascii: ">") ? isOpen : nil
  }

  /// The part of an id that counts here: references that are like it are taken for it.
  private static func token(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    text.prefix { ![32, 41, 34, 39, 59, 44, 38].contains($0) }  // A space, and )"';,&
  }

  /// The ids behind each `#` of a value; `nil` if one may be written in another way.
  private static func references(in value: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
    var found: [ArraySlice<UInt8>] = []
    var rest = value
    while let place = rest.firstIndex(of: UInt8(ascii: "#")) {
      rest = value[(place + 1)...]
      let token = token(rest)
      guard !token.contains(UInt8(ascii: "%")) else { return nil }
      found.append(token)
    }
    return found
  }

  // MARK: References

  /// Gives the references in style sheets to the elements of their classes.
  private mutating func readStyles() -> Bool {
    guard styles.contains(UInt8(ascii: "#")) else { return true }
    var quote: UInt8?
    for byte in styles {
      if let open = quote {
        if byte == open { quote = nil }
        // Where a rule ends is not known for certain.
        if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") { return false }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      }
    }
    var known: [ArraySlice<UInt8>: [ArraySlice<UInt8>]] = [:]
    for rule in styles.split(separator: UInt8(ascii: "}")) {
      guard let all = Self.references(in: rule) else { return false }
      let found = all.filter { ids[$0] != nil }
      guard !found.isEmpty else { continue }
      guard !Self.contains("/*", in: styles), let end = rule.firstIndex(of: UInt8(ascii: "{")) else { return false }
      for selector in rule[..<end].split(separator: UInt8(ascii: ",")) {
        let name = selector.drop { $0 == 32 }.prefix { $0 != 32 }
        guard name.first == UInt8(ascii: "."), !name.dropFirst().contains(where: { ".#:[>+~*@<".utf8.contains($0) }),
          selector[name.endIndex...].allSatisfy({ $0 == 32 })
        else { return false }
        known[name.dropFirst(), default: []] += found
      }
    }
    for index in elements.indices {
      for name in elements[index].classes {
        elements[index].references += known[name] ?? []
        elements[index].paints += known[name] ?? []
      }
    }
    return true
  }

  /// Adds what any element may draw beside itself: elements inherit patterns and markers, also where they are used.
  private mutating func addPatternsAndMarkers() -> Bool {
    let each: Double = isCostly ? 10 : hasReferences ? 3 : 1
    for index in elements.indices { elements[index].work += each }
    let kinds = elements.map(\.kind)
    guard kinds.contains(where: { $0 == .pattern || $0 == .marker }) else { return true }
    let hasMarkers = elements.contains(where: \.hasMarkers)
    if Self.contains("marker", in: styles) { return false }
    // The work within all of them, and whether an element is within one.
    var (patterns, markers) = ((work: 0.0, count: 0.0), (work: 0.0, count: 0.0))
    var isWithin = [Bool](repeating: false, count: elements.count)
    for index in elements.indices {
      let (element, parent) = (elements[index], elements[index].parent)
      let isIn = kinds[index] != .other && kinds[index] != .style || parent >= 0 && isWithin[parent]
      isWithin[index] = isIn
      guard isIn else { continue }
      if kinds.contains(.pattern) { patterns = (patterns.work + element.work, patterns.count + element.count) }
      if kinds.contains(.marker) { markers = (markers.work + element.work, markers.count + element.count) }
      // What they draw has neither of its own.
      let paintsPattern = element.paints.contains { ids[$0]?.contains { kinds[$0] == .pattern } ?? false }
      if element.hasMarkers || paintsPattern { return false }
      if kinds[index] == .other { continue }
      var above = parent
      while above >= 0 {
        let paintsPattern = elements[above].paints.contains { ids[$0]?.contains { kinds[$0] == .pattern } ?? false }
        if elements[above].hasMarkers || paintsPattern { return false }
        above = elements[above].parent
      }
    }
    for index in elements.indices where !isWithin[index] {
      let points = hasMarkers ? elements[index].points : 0
      // It is filled, and has a line.
      elements[index].work += 2 * patterns.work + points * markers.work
      elements[index].count += 2 * patterns.count + points * markers.count
    }
    return true
  }

  // MARK: Adding up

  private mutating func addUp() -> Bool {
    enum State { case new, entered, known(Cost) }
    var states = [State](repeating: .new, count: elements.count)
    /// - Returns: `nil` if something is in itself, or too deep.
    func cost(_ index: Int, _ depth: Int) -> Cost? {
      switch states[index] {
      case .known(let cost): return cost
      case .entered: return nil
      case .new: break
      }
      guard depth < Self.depthLimit else { return nil }
      states[index] = .entered
      var sum = Cost(work: elements[index].work, count: elements[index].count, depth: 0)
      for next in elements[index].children + elements[index].references.flatMap({ ids[$0] ?? [] }) {
        guard let inner = cost(next, depth + 1) else { return nil }
        sum = Cost(
          work: sum.work + inner.work, count: sum.count + inner.count, depth: max(sum.depth, inner.depth + 1))
      }
      guard sum.depth < Self.depthLimit else { return nil }
      states[index] = .known(sum)
      return sum
    }
    for index in elements.indices where elements[index].parent < 0 {
      guard let whole = cost(index, 0) else { return false }
      work += whole.work
      count += whole.count
    }
    return true
  }
}
