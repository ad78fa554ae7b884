import CCairo
import Foundation
import PageLayout

/// Measures and draws the texts of a page with Pango: shaping, lines, directions, fallback fonts.
///
/// Numbers are units of the design. A line is as high as its largest font's ascent and descent, each rounded to whole units,
/// as on Android and in browsers; with a `lineHeight` it has that height. Of a text, the first 30,000 characters are measured
/// and drawn; with `lines`, as many as could stand in them. A word
/// of more than 250 characters may break after each 250.
package final class PageTexts: TextMeasuring {
  /// The largest number of characters of a text that are measured and drawn.
  package static let characterLimit = 30_000
  /// The fonts of pages that name none, and of characters that a page's own fonts lack.
  static let standardFamilies = "sans-serif"

  private let fonts: SystemFonts
  private let page: Int

  /// The texts of a page without fonts of its own.
  package init(_ fonts: SystemFonts) {
    self.fonts = fonts
    let number = try? fonts.withState { state throws(PictureError) in
      state.nextPage += 1
      state.pages[state.nextPage] = PageState()
      return state.nextPage
    }
    page = number ?? 0
  }

  deinit {
    try? fonts.withState { [page] state throws(PictureError) in state.removePage(page) }
  }

  /// Adds a font by the name that the page's styles have for it, in the place of a former one. Texts that were measured
  /// before have to be measured again.
  ///
  /// - Parameter bytes: a TrueType or OpenType file of at most 32 MiB; a page may have 16.
  /// - Throws: ``PictureError/font(family:reason:)``.
  package func addFont(family: String, bytes: [UInt8]) throws(PictureError) {
    try fonts.withState { [page] state throws(PictureError) in try state.addFont(family, bytes, page: page) }
  }

  /// The size of a text in lines; that of ``FixedAdvances`` if there is no memory.
  package func size(of text: LayoutText, width: Double) -> LayoutSize {
    guard !text.isEmpty else { return .zero }
    let size = try? fonts.withState { [page] state throws(PictureError) in
      state.size(of: text, width: width, page: page)
    }
    return (size ?? nil) ?? FixedAdvances().size(of: text, width: width)
  }

  /// Opens the fonts that a text needs, in their usual weights.
  func open(_ text: String) {
    for weight in [400, 700] {
      var style = TextStyle()
      style.fontWeight = weight
      _ = size(of: LayoutText(text, style: style), width: .infinity)
      // Drawing opens more than measuring.
      guard let canvas = try? Canvas(width: 64, height: 64, scale: 1, isOpaque: true) else { continue }
      var room = Int.max
      _ = draw(
        LayoutText(text, style: style), in: LayoutRect(x: 0, y: 0, width: 1_000, height: 64), paints: [],
        imageRoom: &room, canvas.cairo)
    }
  }

  /// How a part of a text looks beyond what its size depends on.
  struct Paint: Hashable {
    var color = Color.black
    var isUnderlined = false
    var isStruck = false
  }

  /// Draws a text within a box, in the colours of its parts; those of the first part stand for the parts without one.
  ///
  /// - Parameters:
  ///   - scale: the pixels of a unit.
  ///   - isSingleLine: `true` for the text of an input, which is not broken, and is in the middle of the box's height.
  ///   - frame: what a text is clipped to that is larger than its box; `nil` to leave it.
  ///   - imageRoom: the bytes that images of letters may take which the drawing keeps. Large texts beyond are drawn as
  ///     paths, which emoji do not have.
  /// - Returns: the places of the pictures in the text, by the index of their part, in the units of the page.
  func draw(
    _ text: LayoutText, in box: LayoutRect, paints: [Paint], scale: Double = 1, isSingleLine: Bool = false,
    frame: LayoutRect? = nil, imageRoom: inout Int, _ cairo: OpaquePointer
  ) -> [(span: Int, place: LayoutRect)] {
    guard !text.isEmpty else { return [] }
    let first = paints.first ?? Paint()
    // One colour needs no attributes, and what was measured is drawn.
    let isPlain = paints.allSatisfy { $0 == first } && !first.isUnderlined && !first.isStruck
    let places = try? fonts.withState { [page] state throws(PictureError) -> [(Int, LayoutRect)] in
      let width = isSingleLine ? .infinity : box.width
      guard let set = state.set(text, width: width, paints: isPlain ? [] : paints, page: page) else { return [] }
      let largest = text.spans.reduce(0) { max($0, $1.style.fontSize * scale) }
      guard largest < 50_000, largest > 0.05 else { return [] }
      var box = box
      if isSingleLine {
        box.y += (box.height - set.size.height) / 2
        if text.style.alignment == .center { box.x += (box.width - set.size.width) / 2 }
        if text.style.alignment == .right { box.x += box.width - set.size.width }
      }
      cairo_save(cairo)
      defer { cairo_restore(cairo) }
      if let frame, set.size.height > box.height + 2 || set.size.width > box.width + 2 {
        cairo_rectangle(cairo, frame.x, frame.y, frame.width, frame.height)
        cairo_clip(cairo)
      }
      cairo_set_source_rgba(cairo, first.color.red, first.color.green, first.color.blue, first.color.alpha)
      // cairo keeps images of some 16,000 glyphs: a large one is not worth an image of its own.
      if largest > Self.glyphLimit {
        if !text.hasColours || !drawSmall(set, in: box, first.color, scale, largest, &imageRoom, cairo) {
          show(set, at: box, asPaths: true, cairo)
        }
      } else {
        show(set, at: box, asPaths: false, cairo)
      }
      cairo_new_path(cairo)
      return set.pictures.map { picture in
        var place = picture.place
        place.x += box.x
        place.y += box.y
        return (picture.span, place)
      }
    }
    return places ?? []
  }

  /// The largest size in pixels of a glyph that is kept as an image: 16 KB.
  private static let glyphLimit = 128.0

  private func show(_ set: SetText, at box: LayoutRect, asPaths: Bool, _ cairo: OpaquePointer) {
    for line in set.lines {
      cairo_move_to(cairo, box.x + line.x, box.y + line.baseline)
      if asPaths {
        pango_cairo_layout_line_path(cairo, line.line)
        cairo_fill(cairo)
      } else {
        pango_cairo_show_layout_line(cairo, line.line)
      }
    }
  }

  /// Draws a large text whose glyphs have colours, and so no paths, as a small picture that is enlarged. Such glyphs are
  /// small pictures in their font too.
  ///
  /// - Returns: `false` if the picture would be too large.
  private func drawSmall(
    _ set: SetText, in box: LayoutRect, _ color: Color, _ scale: Double, _ largest: Double, _ room: inout Int,
    _ cairo: OpaquePointer
  ) -> Bool {
    let small = scale * Self.glyphLimit / largest
    let margin = Self.glyphLimit / 2 / small
    // The widest line begins first.
    let start = set.lines.reduce(.infinity) { min($0, $1.x) }.finite
    let place = LayoutRect(x: box.x + start, y: box.y, width: set.size.width, height: set.size.height)
      .expanded(by: margin)
    let (width, height) = (place.width * small, place.height * small)
    guard width > 0, height > 0, width * height <= 4_000_000, Int(width * height * 4) <= room,
      let canvas = try? Canvas(width: width, height: height, scale: small, isOpaque: false)
    else { return false }
    room -= canvas.pixels * 4
    cairo_translate(canvas.cairo, -place.x, -place.y)
    cairo_set_source_rgba(canvas.cairo, color.red, color.green, color.blue, color.alpha)
    show(set, at: box, asPaths: false, canvas.cairo)
    cairo_save(cairo)
    cairo_translate(cairo, place.x, place.y)
    cairo_scale(cairo, 1 / small, 1 / small)
    cairo_set_source_surface(cairo, canvas.surface, 0, 0)
    cairo_paint(cairo)
    cairo_restore(cairo)
    return true
  }
}

extension LayoutText {
  fileprivate var byteCount: Int { spans.reduce(0) { $0 + $1.text.utf8.count } }

  /// `true` if it may have glyphs with colours of their own.
  fileprivate var hasColours: Bool {
    spans.contains { $0.text.unicodeScalars.contains { $0.properties.isEmojiPresentation || $0.value == 0xFE0F } }
  }
}

// MARK: - Setting

/// A text in lines. Belongs to the lock of ``SystemFonts``.
final class SetText {
  struct Line {
    let line: UnsafeMutablePointer<PangoLayoutLine>
    let x: Double
    let baseline: Double
  }

  fileprivate(set) var size = LayoutSize.zero
  fileprivate(set) var lines: [Line] = []
  fileprivate(set) var pictures: [(span: Int, place: LayoutRect)] = []
  fileprivate var layouts: [OpaquePointer] = []
  /// The bytes of memory that Pango takes for it; 1.50 was measured.
  fileprivate(set) var cost = 0

  deinit { for layout in layouts { g_object_unref(UnsafeMutableRawPointer(layout)) } }
}

/// A page's texts as they were set last, or their sizes. The lock of ``SystemFonts`` guards them.
struct TextCache<Value> {
  struct Key: Hashable {
    let text: LayoutText
    let width: Double
    let paints: [PageTexts.Paint]
  }

  /// The most bytes that are kept, in two halves: a full one replaces the older one.
  private let limit: Int
  private var young: [Key: (value: Value, cost: Int)] = [:]
  private var old: [Key: (value: Value, cost: Int)] = [:]
  private var size = 0

  init(limit: Int) { self.limit = limit }

  mutating func find(_ key: Key) -> Value? {
    if let found = young[key] { return found.value }
    guard let found = old.removeValue(forKey: key) else { return nil }
    insert(found.value, key, cost: found.cost)
    return found.value
  }

  /// - Parameter cost: the bytes of memory of the key and the value.
  mutating func insert(_ value: Value, _ key: Key, cost: Int) {
    guard cost <= limit / 4 else { return }
    if size + cost > limit / 2 {
      old = young
      young = [:]
      size = 0
    }
    young[key] = (value, cost)
    size += cost
  }

  mutating func removeAll() { self = TextCache(limit: limit) }
}

/// The font of a part of a text.
struct FontKey: Hashable {
  let families: String
  let size: Double
  let weight: Int
  let isItalic: Bool
}

/// The first font's ascent and descent in whole units.
struct FontMetrics {
  let ascent: Double
  let descent: Double
}

extension SystemFonts.State {
  /// The size of a text, known or of the text in lines; `nil` without memory.
  mutating func size(of text: LayoutText, width: Double, page: Int) -> LayoutSize? {
    let key = TextCache<LayoutSize>.Key(text: text, width: width, paints: [])
    if let known = pages[page]?.sizes.find(key) { return known }
    guard let size = set(text, width: width, paints: [], page: page)?.size else { return nil }
    pages[page]?.sizes.insert(size, key, cost: 500 + text.byteCount)
    return size
  }

  /// Sets a text in lines, or finds it among those of the page; `nil` without memory.
  mutating func set(_ text: LayoutText, width: Double, paints: [PageTexts.Paint], page: Int) -> SetText? {
    let key = TextCache<SetText>.Key(text: text, width: width, paints: paints)
    if let known = pages[page]?.texts.find(key) { return known }
    guard let set = make(text, width: width, paints: paints, page) else { return nil }
    pages[page]?.texts.insert(set, key, cost: set.cost + text.byteCount)
    return set
  }

  /// The largest number that Pango's units, 1,024 to one of ours, can take in sums.
  private static let lengthLimit = 500_000.0

  private static func units(_ length: Double) -> CInt {
    CInt(min(max(length.isFinite ? length : 0, -lengthLimit), lengthLimit) * 1_024)
  }

  private static func length(_ units: CInt) -> Double { Double(units) / 1_024 }

  private mutating func make(
    _ text: LayoutText, width: Double, paints: [PageTexts.Paint], _ page: Int
  ) -> SetText? {
    let style = text.style
    let source = PangoText(text, width: width, families: pages[page].map { $0.fonts } ?? [])
    let context = style.isRightToLeft ? rightToLeft : leftToRight
    pango_context_set_language(context, source.isChinese ? chinese : latin)
    let set = SetText()

    func makeLayout(_ range: Range<Int>) -> OpaquePointer? {
      guard let layout = pango_layout_new(context) else { return nil }
      set.layouts.append(layout)
      pango_layout_set_auto_dir(layout, 0)
      source.bytes.withUnsafeBufferPointer { bytes in
        guard let base = bytes.baseAddress else { return }
        (base + range.lowerBound).withMemoryRebound(to: CChar.self, capacity: range.count) {
          pango_layout_set_text(layout, $0, CInt(range.count))
        }
      }
      if let attributes = pango_attr_list_new() {
        source.add(to: attributes, range, paints, Self.units)
        pango_layout_set_attributes(layout, attributes)
        pango_attr_list_unref(attributes)
      }
      if width.isFinite, width < Self.lengthLimit {
        pango_layout_set_width(layout, Self.units(max(0, width)))
        pango_layout_set_wrap(layout, style.wordBreak == .anywhere ? CInt(1) : CInt(PANGO_WRAP_WORD_CHAR))
        if style.alignment == .justify { pango_layout_set_justify(layout, 1) }
      } else {
        pango_layout_set_width(layout, -1)
      }
      return layout
    }

    guard let whole = makeLayout(0..<source.bytes.count) else { return nil }
    let count = Int(pango_layout_get_line_count(whole))
    set.cost = 2_000 + 50 * source.bytes.count + 300 * count
    let limit = max(1, style.lines ?? .max)
    var shown: [(layout: OpaquePointer, line: UnsafeMutablePointer<PangoLayoutLine>)] = []
    guard let iterator = pango_layout_get_iter(whole) else { return nil }
    repeat {
      guard let line = pango_layout_iter_get_line_readonly(iterator) else { break }
      shown.append((whole, line))
    } while shown.count < limit && pango_layout_iter_next_line(iterator) != 0
    pango_layout_iter_free(iterator)
    if count > shown.count || source.isCut && shown.count == limit, style.overflow == .ellipsis, let last = shown.last {
      // Pango limits the lines of each paragraph; a style limits those of the text. The last one is set by itself.
      let start = Int(last.line.pointee.start_index)
      let end = source.bytes[start...].firstIndex { $0 == 10 || $0 == 13 } ?? source.bytes.count
      let isBetweenParagraphs = end == start + Int(last.line.pointee.length)
      if let layout = isBetweenParagraphs
        ? makeEllipsis(source, start..<end, makeLayout) : makeLayout(start..<end)
      {
        pango_layout_set_single_paragraph_mode(layout, 1)
        if width.isFinite, width < Self.lengthLimit {
          pango_layout_set_ellipsize(layout, CInt(PANGO_ELLIPSIZE_END))
        }
        if let line = pango_layout_get_line_readonly(layout, 0) { shown[shown.count - 1] = (layout, line) }
      }
    }
    place(shown, text, source, width, in: set)
    return set
  }

  /// The last line of a paragraph, with an ellipsis for the paragraphs that are not shown.
  private func makeEllipsis(
    _ source: PangoText, _ range: Range<Int>, _ make: (Range<Int>) -> OpaquePointer?
  ) -> OpaquePointer? {
    guard let layout = make(range) else { return nil }
    var bytes = Array(source.bytes[range]) + Array("…".utf8)
    bytes.withUnsafeMutableBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return }
      base.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
        pango_layout_set_text(layout, $0, CInt(bytes.count))
      }
    }
    return layout
  }

  /// Gives lines their places.
  private mutating func place(
    _ shown: [(layout: OpaquePointer, line: UnsafeMutablePointer<PangoLayoutLine>)], _ text: LayoutText,
    _ source: PangoText, _ width: Double, in set: SetText
  ) {
    let style = text.style
    let base = metrics(source.key(of: style))
    let highest = text.spans.filter { $0.picture == nil }.reduce(base) { highest, span in
      span.style == style ? highest : metrics(source.key(of: span.style)).merged(with: highest)
    }
    var widest = 0.0
    var y = 0.0
    var placed: [(SetText.Line, width: Double)] = []
    for (_, line) in shown {
      var logical = PangoRectangle()
      pango_layout_line_get_extents(line, nil, &logical)
      // Pango leaves out the space behind the last letter, which browsers and devices have.
      let lineWidth = max(0, Self.length(logical.width) + (logical.width > 0 ? style.letterSpacing.finite : 0))
      widest = max(widest, lineWidth)
      let baseline: Double
      if let height = style.lineHeight, height >= 0 {
        // A picture in the line makes it higher.
        let above = source.hasPictures ? -Self.length(logical.y) : 0
        // Half of what is left is above, without a fraction, as in browsers.
        let share = ((height - highest.ascent - highest.descent) / 2).rounded(.down) + highest.ascent
        baseline = y + max(share, above)
        y += max(height, baseline - y + (source.hasPictures ? 0 : height - share))
      } else {
        let ascent = max(base.ascent, (-Self.length(logical.y)).rounded())
        let descent = max(base.descent, Self.length(logical.y + logical.height).rounded())
        baseline = y + ascent
        y += ascent + descent
      }
      placed.append((SetText.Line(line: line, x: 0, baseline: baseline), lineWidth))
    }
    set.size = LayoutSize(width: widest.finite, height: y.finite)
    let room = width.isFinite ? width : widest
    set.lines = placed.map { line, lineWidth in
      let share: Double =
        switch style.alignment {
        case .left: 0
        case .right: 1
        case .center: 0.5
        // By the direction of the element, as browsers and both SDKs have it.
        case .start, .justify: style.isRightToLeft ? 1 : 0
        case .end: style.isRightToLeft ? 0 : 1
        }
      return SetText.Line(line: line.line, x: (room - lineWidth) * share, baseline: line.baseline)
    }
    guard source.hasPictures, let layout = set.layouts.first else { return }
    for (index, start) in source.pictures {
      var place = PangoRectangle()
      pango_layout_index_to_pos(layout, CInt(start), &place)
      guard let size = text.spans[index].picture else { continue }
      // The line by its bytes.
      guard
        let line = set.lines.last(where: {
          Int($0.line.pointee.start_index) <= start && $0.line.pointee.layout == layout
        })
      else { continue }
      set.pictures.append(
        (
          index,
          LayoutRect(
            x: line.x + Self.length(min(place.x, place.x + place.width)), y: line.baseline - size.height,
            width: size.width, height: size.height)
        ))
    }
  }

  private mutating func metrics(_ key: FontKey) -> FontMetrics {
    if let known = metrics[key] { return known }
    var result = FontMetrics(ascent: key.size, descent: key.size / 4)
    if let font = key.makeDescription() {
      // Those of the font of Latin letters; lines with others may be higher.
      if let found = pango_context_get_metrics(leftToRight, font, latin) {
        result = FontMetrics(
          ascent: Self.length(pango_font_metrics_get_ascent(found)).rounded(),
          descent: Self.length(pango_font_metrics_get_descent(found)).rounded())
        pango_font_metrics_unref(found)
      }
      pango_font_description_free(font)
    }
    if metrics.count >= 1_000 { metrics = [:] }
    metrics[key] = result
    return result
  }
}

extension FontMetrics {
  fileprivate func merged(with other: FontMetrics) -> FontMetrics {
    FontMetrics(ascent: max(ascent, other.ascent), descent: max(descent, other.descent))
  }
}

extension FontKey {
  /// To be freed by the caller.
  func makeDescription() -> OpaquePointer? {
    guard let font = pango_font_description_new() else { return nil }
    pango_font_description_set_family(font, families)
    pango_font_description_set_weight(font, CInt(weight))
    pango_font_description_set_style(
      font, CInt(isItalic ? PANGO_STYLE_ITALIC : PANGO_STYLE_NORMAL))
    pango_font_description_set_absolute_size(font, size * 1_024)
    return font
  }
}

/// A text as Pango takes it: the bytes of all parts, and where each part is. Bounded.
private struct PangoText {
  var bytes: [UInt8] = []
  /// `true` if the text has more characters than are set.
  var isCut = false
  var isChinese = false
  /// The parts' bytes, by their index.
  var parts: [(index: Int, range: Range<Int>)] = []
  /// Where pictures are: the index of the part, and of the byte.
  var pictures: [(index: Int, start: Int)] = []
  var hasPictures: Bool { !pictures.isEmpty }
  private let text: LayoutText
  private let fonts: [PageFont]

  init(_ text: LayoutText, width: Double, families fonts: [PageFont]) {
    self.text = text
    self.fonts = fonts
    var room = PageTexts.characterLimit
    if let lines = text.style.lines, width.isFinite {
      // No character that can be seen is narrower than a tenth of its font; those that cannot are allowed for.
      let size = max(1, text.spans.map(\.style.fontSize).min() ?? 1)
      let perLine = max(0, width) / (size / 10) + 64
      room = Int(min(Double(room), perLine * Double(min(max(lines, 1), room)) + 64))
    }
    var unbroken = 0
    for (index, span) in text.spans.enumerated() {
      guard room > 0, span.picture == nil || pictures.count < Self.pictureLimit else {
        isCut = true
        break
      }
      let start = bytes.count
      if span.picture != nil {
        pictures.append((index, start))
        bytes += [0xEF, 0xBF, 0xBC]  // U+FFFC
        room -= 1
      } else {
        for scalar in span.text.unicodeScalars {
          guard room > 0 else {
            isCut = true
            break
          }
          room -= 1
          // Pango takes a time for a word that grows with the square of its length where it has to be broken anywhere.
          unbroken = Self.isBreak(scalar.value) ? 0 : unbroken + 1
          if unbroken > Self.wordLimit {
            bytes += [0xE2, 0x80, 0x8B]  // U+200B
            unbroken = 1
          }
          // C strings end with 0; Pango takes U+2028 for a line end, and a single CR too.
          if scalar.value == 0 {
            bytes += [0xEF, 0xBF, 0xBD]  // U+FFFD
          } else if scalar.value < 0x80 {
            bytes.append(UInt8(scalar.value))
          } else {
            bytes += UTF8.encode(scalar).map { Array($0) } ?? []
            isChinese = isChinese || Self.isEastAsian(scalar.value)
          }
        }
      }
      parts.append((index, start..<bytes.count))
    }
  }

  /// The most pictures in a text: each is looked for in its lines.
  private static let pictureLimit = 1_000
  /// The largest number of characters between which a line does not break; longer words may break there.
  private static let wordLimit = 250

  private static func isBreak(_ scalar: UInt32) -> Bool {
    scalar <= 32 || scalar == 0x200B
  }

  /// Letters and punctuation of China, Japan and Korea; the same numbers have other shapes there.
  private static func isEastAsian(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x2E80..<0xD7B0, 0xF900..<0xFB00, 0xFE30..<0xFE50, 0xFF00..<0xFFF0, 0x20000..<0x40000: true
    default: false
    }
  }

  func key(of style: TextStyle) -> FontKey {
    FontKey(
      families: families(style.fontFamily), size: min(max(style.fontSize.finite, 0.01), 10_000),
      weight: min(max(style.fontWeight, 100), 1_000), isItalic: style.isItalic)
  }

  /// The names that fontconfig knows, those of the page's own fonts among them.
  private func families(_ names: String?) -> String {
    guard let names, !names.isEmpty else { return PageTexts.standardFamilies }
    var result: [Substring] = []
    for name in names.prefix(1_000).split(separator: ",").prefix(10) {
      let trimmed = name.drop { " '\"".contains($0) }.prefix { !"'\"".contains($0) }.prefix(100)
      let bare = Substring(String(trimmed.reversed().drop { $0 == " " }.reversed()))
      guard !bare.isEmpty, !bare.utf8.contains(where: { $0 < 32 }) else { continue }
      result.append(fonts.first { $0.family == bare.lowercased() }.map { Substring($0.name) } ?? bare)
    }
    return (result + [Substring(PageTexts.standardFamilies)]).joined(separator: ",")
  }

  /// Adds the attributes of a range of the bytes.
  func add(
    to attributes: OpaquePointer, _ range: Range<Int>, _ paints: [PageTexts.Paint], _ units: (Double) -> CInt
  ) {
    for (index, part) in parts {
      let part = part.clamped(to: range)
      guard !part.isEmpty else { continue }
      func insert(_ attribute: UnsafeMutablePointer<PangoAttribute>?) {
        guard let attribute else { return }
        attribute.pointee.start_index = UInt32(part.lowerBound - range.lowerBound)
        // The last one also holds for an ellipsis that is put behind it.
        attribute.pointee.end_index =
          part.upperBound == range.upperBound ? .max : UInt32(part.upperBound - range.lowerBound)
        pango_attr_list_insert(attributes, attribute)
      }
      let span = text.spans[index]
      if let font = key(of: span.style).makeDescription() {
        insert(pango_attr_font_desc_new(font))
        pango_font_description_free(font)
      }
      insert(pango_attr_insert_hyphens_new(0))
      if span.style.letterSpacing != 0 { insert(pango_attr_letter_spacing_new(units(span.style.letterSpacing))) }
      if let size = span.picture {
        var place = PangoRectangle(
          x: 0, y: -units(max(0, size.height)), width: units(max(0, size.width)), height: units(max(0, size.height)))
        insert(pango_attr_shape_new(&place, &place))
      }
      guard let paint = paints.indices.contains(index) ? paints[index] : paints.first else { continue }
      func part16(_ value: Double) -> UInt16 { UInt16(min(max(value, 0), 1) * 65_535) }
      insert(
        pango_attr_foreground_new(part16(paint.color.red), part16(paint.color.green), part16(paint.color.blue)))
      insert(pango_attr_foreground_alpha_new(max(1, part16(paint.color.alpha))))
      if paint.isUnderlined { insert(pango_attr_underline_new(CInt(PANGO_UNDERLINE_SINGLE))) }
      if paint.isStruck { insert(pango_attr_strikethrough_new(1)) }
    }
  }
}

extension Double {
  /// The number, or 0 for one that is infinite or none.
  var finite: Double { isFinite ? self : 0 }
}
