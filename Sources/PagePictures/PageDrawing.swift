import CCairo
import Foundation
import PageLayout

/// A page as it is drawn: its boxes, its styles, its texts and its pictures.
///
///     let texts = PageTexts(try SystemFonts.shared())
///     var layout = LayoutTree(window: window, measurer: texts)
///     …
///     layout.update()
///     let drawing = PageDrawing(layout, texts: texts, look: { .init(style: styles[$0], attributes: attributes[$0]) })
///     let file = try drawing.png(width: 750)
package struct PageDrawing {
  /// The look of an element beside its box.
  package struct Look {
    /// The style, by names as the script wrote them.
    package var style: [String: LayoutValue]
    /// The attributes.
    package var attributes: [String: LayoutValue]

    /// A page's script decides both.
    package init(style: [String: LayoutValue] = [:], attributes: [String: LayoutValue] = [:]) {
      (self.style, self.attributes) = (style, attributes)
    }
  }

  /// The part of the page that is drawn, in units of the design.
  package var area: LayoutRect
  /// The page that an `embed` shows, which is drawn in the element's box, in units of its own; `nil` if there is none. A page
  /// must not be in itself.
  package var embedded: (String) -> PageDrawing? = { _ in nil }
  /// The longest time that a drawing may take, with the pages in it.
  package var timeLimit = Duration.seconds(5)
  /// The largest length of an SVG file in bytes.
  package var byteLimit = 32 << 20
  /// zlib's level for PNG files: 1 is fast, 9 makes them small.
  package var compressionLevel = 1

  let layout: LayoutTree
  let texts: PageTexts
  let look: (String) -> Look
  let picture: (String, LayoutSize) -> DecodedPicture?

  /// - Parameters:
  ///   - layout: the page, which was laid out.
  ///   - area: the part that is drawn; `nil` for the window.
  ///   - texts: what measured the page's texts.
  ///   - look: the style and the attributes of an element; called for those that can be seen.
  ///   - picture: the picture of an image element that is drawn in so many pixels; `nil` if there is none (yet), and
  ///     ``DecodedPicture/placeholder`` for one that cannot be decoded.
  package init(
    _ layout: LayoutTree, area: LayoutRect? = nil, texts: PageTexts, look: @escaping (String) -> Look,
    picture: @escaping (String, LayoutSize) -> DecodedPicture? = { _, _ in nil }
  ) {
    let window = layout.window
    self.area = area ?? LayoutRect(x: 0, y: 0, width: window.width, height: window.height)
    (self.layout, self.texts, self.look, self.picture) = (layout, texts, look, picture)
  }

  /// The largest number of pixels of a picture, and its largest side in pixels.
  package static let (pixelLimit, sideLimit) = (Canvas.pixelLimit, Canvas.sideLimit)

  /// Draws the page as a PNG file on white.
  ///
  /// - Parameter width: the width in pixels, of the area; the height follows from it.
  /// - Throws: ``PictureError``.
  package func png(width: Double) throws(PictureError) -> [UInt8] {
    let deadline = Deadline(within: timeLimit)
    return try draw(width: width, by: deadline).png(level: compressionLevel, by: deadline)
  }

  /// Draws the page as an SVG file, whose texts are outlines.
  ///
  /// - Parameter width: the width of the area, in the file's units.
  /// - Throws: ``PictureError``.
  package func svg(width: Double) throws(PictureError) -> [UInt8] {
    let scale = try scale(width)
    let canvas = try Canvas(svgWidth: width, height: area.height * scale, scale: scale, byteLimit: byteLimit)
    let deadline = Deadline(within: timeLimit)
    var painter = PagePainter(self, canvas, scale: scale, by: deadline)
    try painter.paint()
    return try canvas.svg(by: deadline)
  }

  func draw(width: Double) throws(PictureError) -> Canvas {
    try draw(width: width, by: Deadline(within: timeLimit))
  }

  private func draw(width: Double, by deadline: Deadline) throws(PictureError) -> Canvas {
    let scale = try scale(width)
    let canvas = try Canvas(width: width, height: area.height * scale, scale: scale, isOpaque: true)
    var painter = PagePainter(self, canvas, scale: scale, by: deadline)
    try painter.paint()
    return canvas
  }

  private func scale(_ width: Double) throws(PictureError) -> Double {
    let scale = width / area.width
    guard scale.isFinite, scale > 0, area.width > 0, area.height >= 0, area.height.isFinite, area.x.isFinite,
      area.y.isFinite
    else {
      throw .tooLarge(width: width, height: area.height, limit: Canvas.pixelLimit)
    }
    return scale
  }
}

/// The pixels of groups beside those of the picture itself: as many as the picture has, and four million. All of them are in
/// memory until their group ends.
struct PixelRoom: Equatable {
  private(set) var left: Int

  /// - Parameter pixels: those of the picture.
  init(picture pixels: Int) { left = pixels + (4 << 20) }

  /// - Returns: `false` if there is no room for a group, which has to do without pixels of its own.
  mutating func take(_ pixels: Int) -> Bool {
    guard pixels <= left else { return false }
    left -= pixels
    return true
  }

  mutating func give(_ pixels: Int) { left += pixels }
}

/// Draws a page's elements, parents before their children.
private struct PagePainter {
  /// A thing that is left to do; the next one is last. No recursion: scripts decide how deep the tree is.
  private enum Step {
    case element(String, slider: Slider?)
    /// The page that an element shows.
    case page(PageDrawing, LayoutBox, ElementPaint)
    /// The end of an element with a clip, a change of the coordinates or an opacity of its own.
    case end(Ended)
  }

  /// The state that the end of an element restores.
  private struct Ended {
    let clip: LayoutRect
    let matrix: LayoutMatrix
    let scale: Double
    let isAligned: Bool
    let fade: Double
    /// The opacity and the pixels of the group that ends; `nil` without one.
    var group: (opacity: Double, pixels: Int)?
  }

  /// The slides of the slider that an indicator is in.
  private struct Slider {
    let count: Int
    let shown: Int
  }

  /// The elements after which a part of an SVG file is written. A long text counts as several.
  private static let partLimit = 100
  /// The most elements of a group in an SVG file, which is written as a whole.
  private static let groupPartLimit = 2_000
  /// The most groups within each other that have a picture of their own.
  private static let groupLimit = 8
  /// The pixels beyond the picture that cairo's numbers can still take.
  private static let reach = 1e6
  private static let sliders: Set<String> = ["slider", "cycleslider", "slider-neighbor"]

  private let page: PageDrawing
  private let canvas: Canvas
  private let cairo: OpaquePointer
  private let deadline: Deadline
  /// The reason why the element at hand cannot be drawn.
  private var failure: PictureError?
  private let pageScale: Double
  /// The elements above all others, which are drawn last.
  private let fixed: [String]
  private let isFixed: Set<String>
  private var steps: [Step] = []
  /// The part of the page that can be seen, in the coordinates at hand.
  private var clip: LayoutRect
  /// The changes at hand, and the pixels of a unit with them where it is drawn largest.
  private var matrix = LayoutMatrix()
  private var scale: Double
  /// `true` while nothing is turned or scaled: edges are put on whole pixels.
  private var isAligned = true
  /// The opacity of groups that have no picture of their own.
  private var fade = 1.0
  private var groups = 0
  /// The elements that an SVG file has in its part at hand.
  private var partSize = 0
  private var room: PixelRoom
  private var shadows: [ShadowMask.Key: ShadowMask] = [:]
  /// The bytes of further shadows that are kept, and of images of letters in an SVG file.
  private var imageRoom = 16 << 20

  init(_ page: PageDrawing, _ canvas: Canvas, scale: Double, by deadline: Deadline) {
    (self.page, self.canvas, cairo) = (page, canvas, canvas.cairo)
    self.deadline = deadline
    (pageScale, self.scale, clip) = (scale, scale, page.area)
    room = PixelRoom(picture: canvas.pixels)
    fixed = page.layout.visibleBoxes(in: page.area).filter(\.isFixed).map(\.ref)
    isFixed = Set(fixed)
  }

  mutating func paint() throws(PictureError) {
    cairo_translate(cairo, -page.area.x, -page.area.y)
    cairo_set_source_rgba(cairo, 1, 1, 1, 1)
    cairo_paint(cairo)
    try paintElements()
  }

  private mutating func paintElements() throws(PictureError) {
    try paint(page.layout.root)
    for ref in fixed { try paint(ref) }
  }

  /// Draws the page that an element shows, within the element's box.
  private mutating func paint(_ inner: PageDrawing, in box: LayoutBox, _ paint: ElementPaint) throws(PictureError) {
    // The units of the inner page in one unit of this one.
    let (frame, units) = (box.pageFrame, inner.layout.window.width / box.pageFrame.width)
    guard units.isFinite, units > 0 else { return }
    func within(_ rect: LayoutRect) -> LayoutRect {
      LayoutRect(
        x: (rect.x - frame.x) * units, y: (rect.y - frame.y) * units, width: rect.width * units,
        height: rect.height * units)
    }
    let shape = Shape(box, paint, snappedTo: isAligned ? scale : nil, origin: page.area)
    cairo_save(cairo)
    defer { cairo_restore(cairo) }
    path(shape)
    cairo_clip(cairo)
    cairo_translate(cairo, frame.x, frame.y)
    cairo_scale(cairo, 1 / units, 1 / units)
    // So that pixels begin for it where they begin for this one.
    var inner = inner
    inner.area = within(page.area)
    var painter = PagePainter(inner, canvas, scale: scale / units, by: deadline)
    painter.clip = within(clip.intersection(shape.rect))
    (painter.isAligned, painter.fade, painter.groups) = (isAligned, fade, groups)
    // What is bounded for the picture is so for all pages in it.
    (painter.room, painter.imageRoom, painter.partSize) = (room, imageRoom, partSize)
    try painter.paintElements()
    (room, imageRoom, partSize) = (painter.room, painter.imageRoom, painter.partSize)
  }

  private mutating func paint(_ root: String?) throws(PictureError) {
    guard let root else { return }
    steps = [.element(root, slider: nil)]
    while let step = steps.popLast() {
      switch step {
      case .element(let ref, let slider):
        try deadline.check()
        paintElement(ref, slider, isRoot: ref == root)
        if let failure { throw failure }
        try canvas.check()
        partSize += 1
      case .page(let inner, let box, let paint): try self.paint(inner, in: box, paint)
      case .end(let ended): end(ended)
      }
      try endPart()
    }
  }

  /// Has an SVG file written as far as it is drawn, so that its end takes no longer than a part.
  private mutating func endPart() throws(PictureError) {
    guard canvas.isSVG else { return }
    if groups == 0, partSize >= Self.partLimit {
      canvas.endPart()
      try canvas.check()
      partSize = 0
    } else if partSize > Self.groupPartLimit {
      throw .drawing("an element with an opacity has more than \(Self.groupPartLimit) elements in it, too many for SVG")
    }
  }

  private mutating func end(_ ended: Ended) {
    if let group = ended.group {
      cairo_pop_group_to_source(cairo)
      cairo_paint_with_alpha(cairo, group.opacity)
      groups -= 1
      room.give(group.pixels)
    }
    cairo_restore(cairo)
    (clip, matrix, scale) = (ended.clip, ended.matrix, ended.scale)
    (isAligned, fade) = (ended.isAligned, ended.fade)
  }

  // MARK: Elements

  private mutating func paintElement(_ ref: String, _ slider: Slider?, isRoot: Bool) {
    guard let box = page.layout.box(ref), isRoot || !(box.isFixed && isFixed.contains(ref)), canBeSeen(box) else {
      return
    }
    let look = page.look(ref)
    let paint = ElementPaint(look.style, unitsPerPoint: page.layout.window.unitsPerPoint)
    guard paint.opacity > 0 else { return }
    let children = page.layout.children(of: ref)
    begin(box, paint, isLeaf: children.isEmpty)
    if box.isVisible {
      paintBox(box, paint)
      paintContent(box, look, paint, slider)
    }
    guard !children.isEmpty, box.type != "richtext", box.type != "text" else { return }
    if box.clips { clipChildren(box, paint) }
    var shown: [(ref: String, order: Int)] = []
    var isOrdered = true
    for child in children {
      guard let inner = page.layout.box(child), !(inner.isFixed && isFixed.contains(child)), canBeSeen(inner) else {
        continue
      }
      // A header or another element that sticks is above what scrolls below it.
      let isStuck = abs(inner.pageFrame.y - box.pageFrame.y + box.scrollOffset.y - inner.frame.y) > 0.01
      let order = inner.zIndex == 0 && (isStuck || inner.type == "header") ? 1 : inner.zIndex
      if let last = shown.last, last.order > order { isOrdered = false }
      shown.append((child, order))
    }
    if !isOrdered {
      shown = shown.enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
        .map(\.element)
    }
    let inner = Self.sliders.contains(box.type) ? slides(children, look) : nil
    for child in shown.reversed() { steps.append(.element(child.ref, slider: inner)) }
  }

  /// `false` for elements that are far from what is drawn, with all in them. An element may be moved by its own transform: so
  /// what is less than a screen away counts as seen.
  private func canBeSeen(_ box: LayoutBox) -> Bool {
    let frame = box.pageFrame
    guard frame.x.isFinite, frame.y.isFinite, frame.width.isFinite, frame.height.isFinite else { return false }
    // Those without a size may still have elements in them that are seen.
    if !box.isVisible, frame.width > 0, frame.height > 0 { return false }
    let margin = max(page.area.width, page.area.height, clip.width, clip.height)
    let width = box.clips ? frame.width : max(frame.width, box.contentSize.width.finite)
    let height = box.clips ? frame.height : max(frame.height, box.contentSize.height.finite)
    return LayoutRect(
      x: frame.x - margin, y: frame.y - margin, width: width + 2 * margin, height: height + 2 * margin
    ).intersects(clip)
  }

  private func slides(_ children: [String], _ look: PageDrawing.Look) -> Slider {
    let count = children.count { page.layout.box($0)?.type != "indicator" }
    let shown = Double(look.attributes["index"]?.text ?? "").flatMap { Int(exactly: $0.rounded()) } ?? 0
    return Slider(count: min(count, 50), shown: (0..<max(1, count)).contains(shown) ? shown : 0)
  }

  /// Begins an element that is moved, or that is seen through.
  private mutating func begin(_ box: LayoutBox, _ paint: ElementPaint, isLeaf: Bool) {
    guard paint.opacity < 1 || !paint.transform.isEmpty else { return }
    var ended = Ended(clip: clip, matrix: matrix, scale: scale, isAligned: isAligned, fade: fade)
    cairo_save(cairo)
    if !paint.transform.isEmpty { transform(box.pageFrame, paint) }
    // A group's picture is not needed where only one thing is painted.
    let isSimple = isLeaf && (paint.background == nil || page.layout.text(of: box.ref) == nil) && paint.shadows.isEmpty
    if paint.opacity < 1 {
      // No larger than what is in it, with its shadows.
      let frame = box.pageFrame
      let margin = paint.shadows.reduce(40) { max($0, $1.blur * 1.5 + $1.spread + max(abs($1.x), abs($1.y)) + 2) }
      let reach = LayoutRect(
        x: frame.x - margin, y: frame.y - margin, width: max(frame.width, box.contentSize.width.finite) + 2 * margin,
        height: max(frame.height, box.contentSize.height.finite) + 2 * margin
      ).intersection(clip)
      let pixels = pixels(of: reach)
      if isSimple || groups >= Self.groupLimit || !room.take(pixels) {
        fade *= paint.opacity
      } else {
        rectangle(reach)
        cairo_clip(cairo)
        cairo_push_group(cairo)
        groups += 1
        ended.group = (paint.opacity, pixels)
      }
    }
    steps.append(.end(ended))
  }

  /// The most pixels of the picture that a rectangle covers.
  private func pixels(of rect: LayoutRect) -> Int {
    // Turned, it may lie across.
    let (width, height) = isAligned ? (rect.width, rect.height) : (rect.width + rect.height, rect.width + rect.height)
    let pixels = (width * scale + 2) * (height * scale + 2)
    return pixels < Double(canvas.pixels) ? Int(pixels) : canvas.pixels
  }

  private mutating func transform(_ frame: LayoutRect, _ paint: ElementPaint) {
    let whole = paint.transform.matrix(in: frame)
    var all = matrix
    all.append(whole)
    let scale = pageScale * all.stretch
    guard let inverse = whole.inverse, scale > 1e-6, scale < 1e6 else {
      // Nothing of it is seen.
      clip = LayoutRect(x: clip.x, y: clip.y, width: 0, height: 0)
      cairo_new_path(cairo)
      rectangle(clip)
      cairo_clip(cairo)
      return
    }
    var change = whole.cairo
    cairo_transform(cairo, &change)
    clip = inverse.bounds(of: clip)
    (matrix, self.scale) = (all, scale)
    isAligned = isAligned && whole.xx == 1 && whole.yy == 1 && whole.xy == 0 && whole.yx == 0
  }

  /// Clips what is in an element to the inner edge of its border.
  private mutating func clipChildren(_ box: LayoutBox, _ paint: ElementPaint) {
    steps.append(.end(Ended(clip: clip, matrix: matrix, scale: scale, isAligned: isAligned, fade: fade)))
    cairo_save(cairo)
    let shape = Shape(box, paint).inset(by: box.border)
    path(shape)
    cairo_clip(cairo)
    clip = clip.intersection(shape.rect)
  }

  // MARK: Boxes

  private mutating func paintBox(_ box: LayoutBox, _ paint: ElementPaint) {
    let shape = Shape(box, paint, snappedTo: isAligned ? scale : nil, origin: page.area)
    let isCovered = paint.background.map { $0.alpha == 1 } ?? false && fade == 1
    for shadow in paint.shadows.reversed() where !shadow.isInset {
      paintShadow(shadow, around: shape, isCovered: isCovered)
    }
    guard shape.rect.intersects(clip) else { return }
    if let color = paint.background, color.alpha > 0 {
      set(color)
      path(shape)
      cairo_fill(cairo)
    }
    if let gradient = paint.gradient { paintGradient(gradient, shape) }
    for shadow in paint.shadows.reversed() where shadow.isInset {
      paintInsetShadow(shadow, in: shape.inset(by: box.border))
    }
    paintBorders(box.border, paint, shape)
  }

  private func set(_ color: Color) {
    cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha * fade)
  }

  private func rectangle(_ rect: LayoutRect) { cairo_rectangle(cairo, rect.x, rect.y, rect.width, rect.height) }

  /// The edge of a shape. cairo's numbers have 24 bits before the point: what is far from the page is cut off.
  private func path(_ shape: Shape) {
    cairo_new_path(cairo)
    add(shape)
  }

  private func add(_ shape: Shape) {
    guard shape.isRounded else { return rectangle(shape.rect.intersection(clip.expanded(by: 100 / scale))) }
    let shape = shape.cut(to: clip.expanded(by: Self.reach / scale))
    let rect = shape.rect
    // The distance of a curve's points for a quarter of a circle.
    let share = 1 - 0.552_284_75
    let (left, top, right, bottom) = (rect.x, rect.y, rect.maxX, rect.maxY)
    let radii = shape.radii
    func curve(
      _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ x3: Double, _ y3: Double
    ) { cairo_curve_to(cairo, x1, y1, x2, y2, x3, y3) }
    cairo_new_sub_path(cairo)
    cairo_move_to(cairo, left + radii[0].width, top)
    cairo_line_to(cairo, right - radii[1].width, top)
    curve(
      right - radii[1].width * share, top, right, top + radii[1].height * share, right, top + radii[1].height)
    cairo_line_to(cairo, right, bottom - radii[2].height)
    curve(
      right, bottom - radii[2].height * share, right - radii[2].width * share, bottom, right - radii[2].width, bottom)
    cairo_line_to(cairo, left + radii[3].width, bottom)
    curve(
      left + radii[3].width * share, bottom, left, bottom - radii[3].height * share, left, bottom - radii[3].height)
    cairo_line_to(cairo, left, top + radii[0].height)
    curve(left, top + radii[0].height * share, left + radii[0].width * share, top, left + radii[0].width, top)
    cairo_close_path(cairo)
  }

  private func paintGradient(_ gradient: ElementPaint.Gradient, _ shape: Shape) {
    let rect = shape.rect
    guard rect.width > 0, rect.height > 0 else { return }
    // CSS Images 3 §3.1.1: the line through the middle whose ends the corners are at right angles to.
    let angle: Double =
      switch gradient.direction {
      case .angle(let angle): angle
      case .corner(let x, let y): atan2(x * rect.height, -y * rect.width)
      }
    let length = abs(rect.width * sin(angle)) + abs(rect.height * cos(angle))
    let (x, y) = (sin(angle) * length / 2, -cos(angle) * length / 2)
    let middle = (rect.x + rect.width / 2, rect.y + rect.height / 2)
    guard
      let pattern = cairo_pattern_create_linear(middle.0 - x, middle.1 - y, middle.0 + x, middle.1 + y)
    else { return }
    // The colours between are those of multiplied colours in CSS; the difference is seen beside transparent ones alone.
    for (index, stop) in gradient.stops.enumerated() {
      var color = stop.color
      if color.alpha == 0 {
        // `transparent` is black: its neighbour's colour is seen.
        let neighbour = gradient.stops[index > 0 ? index - 1 : min(1, gradient.stops.count - 1)].color
        color = Color(red: neighbour.red, green: neighbour.green, blue: neighbour.blue, alpha: 0)
      }
      cairo_pattern_add_color_stop_rgba(
        pattern, min(max(stop.place, 0), 1), color.red, color.green, color.blue, color.alpha * fade)
    }
    cairo_set_source(cairo, pattern)
    path(shape)
    cairo_fill(cairo)
    cairo_pattern_destroy(pattern)
  }

  // MARK: Borders

  private func paintBorders(_ widths: LayoutInsets, _ paint: ElementPaint, _ outer: Shape) {
    let sides = [widths.top, widths.right, widths.bottom, widths.left]
    guard sides.contains(where: { $0 > 0 && $0.isFinite }) else { return }
    let inner = outer.inset(by: widths)
    let borders = paint.borders
    let drawn = sides.indices.filter { sides[$0] > 0 && borders[$0].color.alpha > 0 }
    guard let first = drawn.first else { return }
    let isEven = drawn.allSatisfy { borders[$0] == borders[first] }
    if isEven, borders[first].line == .solid {
      set(borders[first].color)
      path(outer)
      add(inner)
      cairo_set_fill_rule(cairo, CInt(CAIRO_FILL_RULE_EVEN_ODD))
      cairo_fill(cairo)
      cairo_set_fill_rule(cairo, CInt(CAIRO_FILL_RULE_WINDING))
      return
    }
    for side in drawn {
      cairo_save(cairo)
      if !isEven || drawn.count < 4 { clipSide(side, outer.rect, inner.rect) }
      set(borders[side].color)
      if borders[side].line == .solid || !strokeSide(side, sides[side], borders[side].line, outer, widths, isEven) {
        path(outer)
        add(inner)
        cairo_set_fill_rule(cairo, CInt(CAIRO_FILL_RULE_EVEN_ODD))
        cairo_fill(cairo)
      }
      cairo_restore(cairo)
      // One line goes around all sides.
      if isEven, borders[side].line != .solid, drawn.count == 4, outer.isRounded { break }
    }
  }

  /// Clips to what belongs to a side: corners are shared along the line between the outer and the inner corner.
  private func clipSide(_ side: Int, _ outer: LayoutRect, _ inner: LayoutRect) {
    let corners = [
      ((outer.x, outer.y), (inner.x, inner.y)), ((outer.maxX, outer.y), (inner.maxX, inner.y)),
      ((outer.maxX, outer.maxY), (inner.maxX, inner.maxY)), ((outer.x, outer.maxY), (inner.x, inner.maxY)),
    ]
    let (start, end) = (corners[side], corners[(side + 1) % 4])
    cairo_new_path(cairo)
    cairo_move_to(cairo, start.0.0, start.0.1)
    cairo_line_to(cairo, end.0.0, end.0.1)
    // Rounded corners reach further in than the inner rectangle's.
    let middle = (inner.x + inner.width / 2, inner.y + inner.height / 2)
    cairo_line_to(cairo, end.1.0, end.1.1)
    if inner.width > 0, inner.height > 0 {
      let reach = min(inner.width, inner.height) / 2
      cairo_line_to(
        cairo, end.1.0 + (middle.0 > end.1.0 ? reach : -reach), end.1.1 + (middle.1 > end.1.1 ? reach : -reach))
      cairo_line_to(
        cairo, start.1.0 + (middle.0 > start.1.0 ? reach : -reach),
        start.1.1 + (middle.1 > start.1.1 ? reach : -reach))
    }
    cairo_line_to(cairo, start.1.0, start.1.1)
    cairo_close_path(cairo)
    cairo_clip(cairo)
  }

  /// Draws dashes or dots along the middle of a border.
  ///
  /// - Returns: `false` if there would be too many of them.
  private func strokeSide(
    _ side: Int, _ width: Double, _ line: ElementPaint.Border.Line, _ outer: Shape, _ widths: LayoutInsets,
    _ isEven: Bool
  ) -> Bool {
    let rect = outer.rect
    let longest = 2 * (rect.width + rect.height)
    guard width * scale > 0.5, longest / width < 8_000, longest * scale < Self.reach else { return false }
    var half = widths
    (half.top, half.right, half.bottom, half.left) = (
      widths.top / 2, widths.right / 2, widths.bottom / 2, widths.left / 2
    )
    let middle = outer.inset(by: half)
    cairo_set_line_width(cairo, width)
    cairo_new_path(cairo)
    var length = longest
    if outer.isRounded {
      add(middle)
    } else {
      // Dashes begin at the corners, dots in the middles of the corners.
      let inner = middle.rect
      let isAcross = side % 2 == 0
      let reach = line == .dashed ? 0 : width / 2
      let (x1, x2) =
        isAcross ? (rect.x + reach, rect.maxX - reach) : side == 1 ? (inner.maxX, inner.maxX) : (inner.x, inner.x)
      let (y1, y2) =
        isAcross ? side == 0 ? (inner.y, inner.y) : (inner.maxY, inner.maxY) : (rect.y + reach, rect.maxY - reach)
      cairo_move_to(cairo, x1, y1)
      cairo_line_to(cairo, x2, y2)
      length = max(abs(x2 - x1), abs(y2 - y1))
    }
    // As many as fit, with even gaps between them.
    let dash = line == .dashed ? width * 2 : 0
    let step = line == .dashed ? width * 3 : width * 2
    let count = max(1, ((length - dash) / step).rounded())
    let gap = max((length - dash) / count - dash, width / 4)
    if line == .dotted { cairo_set_line_cap(cairo, CInt(CAIRO_LINE_CAP_ROUND)) }
    cairo_set_dash(cairo, [dash, gap], 2, 0)
    cairo_stroke(cairo)
    return true
  }

  // MARK: Shadows

  /// - Parameter isCovered: `true` if the box hides what is behind it.
  private mutating func paintShadow(_ shadow: ElementPaint.Shadow, around shape: Shape, isCovered: Bool) {
    var cast = shape.grown(by: shadow.spread)
    cast.rect.x += shadow.x
    cast.rect.y += shadow.y
    let reach = shadow.blur * 1.5 + 2
    guard cast.rect.width > 0, cast.rect.height > 0, shadow.color.alpha > 0,
      cast.rect.expanded(by: reach).intersects(clip)
    else { return }
    cairo_save(cairo)
    if !isCovered {
      // CSS Backgrounds 3 §6.1.1: none within the box.
      cairo_new_path(cairo)
      rectangle(cast.rect.expanded(by: reach).union(shape.rect).intersection(clip.expanded(by: 100)))
      add(shape)
      cairo_set_fill_rule(cairo, CInt(CAIRO_FILL_RULE_EVEN_ODD))
      cairo_clip(cairo)
      cairo_set_fill_rule(cairo, CInt(CAIRO_FILL_RULE_WINDING))
    }
    set(shadow.color)
    if !paintMask(cast, blur: shadow.blur) {
      path(cast)
      cairo_fill(cairo)
    }
    cairo_restore(cairo)
  }

  /// Paints a blurred shape with the colour at hand.
  ///
  /// - Returns: `false` if it is not blurred, or too large.
  private mutating func paintMask(_ shape: Shape, blur: Double) -> Bool {
    guard let key = ShadowMask.Key(shape, blur: blur, scale: scale) else { return false }
    // In an SVG file, all of them are kept until its end.
    if canvas.isSVG, shadows[key] == nil, key.cost > imageRoom { return false }
    guard let mask = shadows[key] ?? ShadowMask(key) else { return false }
    if shadows[key] == nil, key.cost <= imageRoom {
      shadows[key] = mask
      imageRoom -= key.cost
    }
    var rect = shape.rect
    if isAligned {
      rect.x = ((rect.x - page.area.x) * scale).rounded() / scale + page.area.x
      rect.y = ((rect.y - page.area.y) * scale).rounded() / scale + page.area.y
    }
    mask.paint(rect, scale: isAligned ? scale : 0, cairo)
    return true
  }

  /// The shadow within a box: what is dark is outside of a shape that is smaller.
  private mutating func paintInsetShadow(_ shadow: ElementPaint.Shadow, in shape: Shape) {
    var hole = shape.grown(by: -shadow.spread)
    hole.rect.x += shadow.x
    hole.rect.y += shadow.y
    cairo_save(cairo)
    path(shape)
    cairo_clip(cairo)
    let pixels = pixels(of: shape.rect.intersection(clip))
    if ShadowMask.Key(hole, blur: shadow.blur, scale: scale) == nil || !room.take(pixels) {
      set(shadow.color)
      path(Shape(shape.rect.expanded(by: 10)))
      add(hole)
      cairo_set_fill_rule(cairo, CInt(CAIRO_FILL_RULE_EVEN_ODD))
      cairo_fill(cairo)
      cairo_set_fill_rule(cairo, CInt(CAIRO_FILL_RULE_WINDING))
    } else {
      // The colour, without what the blurred shape has of it.
      cairo_push_group(cairo)
      set(shadow.color)
      cairo_paint(cairo)
      cairo_set_operator(cairo, CInt(CAIRO_OPERATOR_DEST_OUT))
      cairo_set_source_rgba(cairo, 0, 0, 0, 1)
      _ = paintMask(hole, blur: shadow.blur)
      cairo_pop_group_to_source(cairo)
      cairo_paint(cairo)
      room.give(pixels)
    }
    cairo_restore(cairo)
  }

  // MARK: Contents

  private mutating func paintContent(
    _ box: LayoutBox, _ look: PageDrawing.Look, _ paint: ElementPaint, _ slider: Slider?
  ) {
    guard box.pageFrame.intersects(clip) else { return }
    switch box.type {
    case "image", "img": paintPicture(box, look, paint)
    case "text", "span", "richtext", "input", "textarea": paintText(box, look, paint)
    case "switch": paintSwitch(box, look)
    case "indicator": if let slider { paintDots(box, look, slider) }
    case "video": if paint.background == nil { fill(Shape(box, paint), .black) }
    case "embed":
      if let inner = page.embedded(box.ref) {
        steps.append(.page(inner, box, paint))
      } else if paint.background == nil {
        fill(Shape(box, paint), Color(0xEEEEEE))
      }
    case "web": if paint.background == nil { fill(Shape(box, paint), Color(0xEEEEEE)) }
    default: break
    }
  }

  private func fill(_ shape: Shape, _ color: Color) {
    set(color)
    path(shape)
    cairo_fill(cairo)
  }

  private mutating func paintText(_ box: LayoutBox, _ look: PageDrawing.Look, _ paint: ElementPaint) {
    guard let text = page.layout.text(of: box.ref), !text.isEmpty else { return }
    let content = box.contentFrame
    var color = paint.color ?? .black
    let isField = box.type == "input" || box.type == "textarea"
    if isField, look.attributes["value"]?.text ?? "" == "" {
      let reader = StyleReader(style: look.style, unitsPerPoint: page.layout.window.unitsPerPoint)
      color = reader.text("placeholderColor").flatMap { Color($0) } ?? Color(0x999999)
    }
    var own = PageTexts.Paint(color: color.faded(fade))
    (own.isUnderlined, own.isStruck) = (paint.isUnderlined, paint.isStruck)
    let paints = text.spans.map { span -> PageTexts.Paint in
      guard span.ref != box.ref, !span.ref.isEmpty else { return own }
      let inner = ElementPaint(page.look(span.ref).style, unitsPerPoint: page.layout.window.unitsPerPoint)
      return PageTexts.Paint(
        color: (inner.color ?? color).faded(fade), isUnderlined: inner.isUnderlined || own.isUnderlined,
        isStruck: inner.isStruck || own.isStruck)
    }
    partSize += text.spans.reduce(0) { $0 + $1.text.utf8.count } / 50
    // Only an SVG file keeps them, until a part of it is written.
    var room = canvas.isSVG ? imageRoom : .max
    let places = page.texts.draw(
      text, in: content, paints: paints, scale: scale, isSingleLine: box.type == "input", frame: box.pageFrame,
      imageRoom: &room, cairo)
    if canvas.isSVG { imageRoom = room }
    for (span, place) in places {
      let ref = text.spans[span].ref
      let target = LayoutSize(width: place.width * scale, height: place.height * scale)
      guard let picture = page.picture(ref, target) else { continue }
      self.paint(picture, Shape(place), "stretch")
    }
  }

  private mutating func paintPicture(_ box: LayoutBox, _ look: PageDrawing.Look, _ paint: ElementPaint) {
    let content = box.contentFrame
    guard content.width > 0, content.height > 0 else { return }
    let size = LayoutSize(width: min(content.width * scale, 1e5), height: min(content.height * scale, 1e5))
    guard let picture = page.picture(box.ref, size) else { return }
    var insets = box.border
    insets.top += box.padding.top
    insets.right += box.padding.right
    insets.bottom += box.padding.bottom
    insets.left += box.padding.left
    let shape = Shape(box, paint, snappedTo: isAligned ? scale : nil, origin: page.area).inset(by: insets)
    let resize = (look.attributes["resize"] ?? look.style["resize"])?.text ?? "stretch"
    self.paint(picture, shape, resize)
  }

  /// Paints a picture into a shape: `cover` fills it, `contain` is within it, `stretch` has its sides.
  private mutating func paint(_ picture: DecodedPicture, _ shape: Shape, _ resize: String) {
    let rect = shape.rect
    guard rect.width > 0, rect.height > 0 else { return }
    do throws(PictureError) { try canvas.add(picture, by: deadline) } catch {
      failure = error
      return
    }
    guard let surface = picture.surface else {
      fill(shape, Color(0xE6E6E6))
      return
    }
    let (width, height) = (
      Double(cairo_image_surface_get_width(surface)), Double(cairo_image_surface_get_height(surface))
    )
    let own = picture.size
    guard own.width > 0, own.height > 0, width > 0, height > 0 else { return }
    let (across, down) = (rect.width / own.width, rect.height / own.height)
    var target = rect
    if resize == "cover" || resize == "contain" {
      let factor = resize == "cover" ? max(across, down) : min(across, down)
      target.width = own.width * factor
      target.height = own.height * factor
      target.x += (rect.width - target.width) / 2
      target.y += (rect.height - target.height) / 2
    }
    cairo_save(cairo)
    path(resize == "contain" && !shape.isRounded ? Shape(target) : shape)
    cairo_clip(cairo)
    cairo_translate(cairo, target.x, target.y)
    cairo_scale(cairo, target.width / width, target.height / height)
    cairo_set_source_surface(cairo, surface, 0, 0)
    if let pattern = cairo_get_source(cairo) {
      let ratio = target.width * scale / width
      // A picture that is drawn much smaller is averaged, which takes longer.
      let filter = ratio < 0.7 ? CAIRO_FILTER_GOOD : CAIRO_FILTER_BILINEAR
      cairo_pattern_set_filter(pattern, CInt(filter))
      cairo_pattern_set_extend(pattern, CInt(CAIRO_EXTEND_PAD))
    }
    cairo_paint_with_alpha(cairo, fade)
    cairo_restore(cairo)
  }

  private func paintSwitch(_ box: LayoutBox, _ look: PageDrawing.Look) {
    let frame = box.contentFrame
    let height = min(frame.height, frame.width * 0.61)
    guard height > 0 else { return }
    let isOn = look.attributes["checked"]?.text == "true"
    var track = Shape(
      LayoutRect(x: frame.x, y: frame.y + (frame.height - height) / 2, width: frame.width, height: height))
    track.radii = Shape.even(height / 2)
    fill(track, isOn ? Color(0x4CD864) : Color(0xDDDDDD))
    let gap = height * 0.065
    let size = height - 2 * gap
    var knob = Shape(
      LayoutRect(x: isOn ? frame.maxX - gap - size : frame.x + gap, y: track.rect.y + gap, width: size, height: size))
    knob.radii = Shape.even(size / 2)
    fill(knob, Color(0xFFFFFF))
  }

  /// One dot for each slide.
  private func paintDots(_ box: LayoutBox, _ look: PageDrawing.Look, _ slider: Slider) {
    let reader = StyleReader(style: look.style, unitsPerPoint: page.layout.window.unitsPerPoint)
    let size = min(max(reader.number("itemSize") ?? 12, 0), 1_000)
    let gap = 10.0
    let frame = box.contentFrame
    let width = Double(slider.count) * (size + gap) - gap
    for index in 0..<slider.count {
      let isShown = index == slider.shown
      let color =
        reader.text(isShown ? "itemSelectedColor" : "itemColor").flatMap { Color($0) }
        ?? Color(0xFFFFFF, alpha: isShown ? 1 : 0.5)
      var dot = Shape(
        LayoutRect(
          x: frame.x + (frame.width - width) / 2 + Double(index) * (size + gap),
          y: frame.y + (frame.height - size) / 2, width: size, height: size))
      dot.radii = Shape.even(size / 2)
      fill(dot, color)
    }
  }
}

// MARK: - Shapes

/// A rectangle with rounded corners. Finite, and small enough for cairo's numbers.
struct Shape: Hashable {
  var rect: LayoutRect
  /// Of the top left, top right, bottom right and bottom left corner.
  var radii: [LayoutSize] = Shape.even(0)

  var isRounded: Bool { radii.contains { $0.width > 0 && $0.height > 0 } }

  static func even(_ radius: Double) -> [LayoutSize] {
    [LayoutSize](repeating: LayoutSize(width: radius, height: radius), count: 4)
  }

  init(_ rect: LayoutRect) { self.rect = rect }

  /// The border box of an element.
  ///
  /// - Parameters:
  ///   - scale: the pixels of a unit, on which the edges are put; `nil` to leave them.
  ///   - origin: where pixels begin.
  init(_ box: LayoutBox, _ paint: ElementPaint, snappedTo scale: Double? = nil, origin: LayoutRect = .zero) {
    let frame = box.pageFrame
    let limit = 1e6
    func clamp(_ value: Double) -> Double { min(max(value.finite, -limit), limit) }
    func edge(_ value: Double, _ start: Double) -> Double {
      guard let scale else { return clamp(value) }
      return ((clamp(value) - start) * scale).rounded() / scale + start
    }
    let (left, top) = (edge(frame.x, origin.x), edge(frame.y, origin.y))
    rect = LayoutRect(
      x: left, y: top, width: max(0, edge(frame.maxX, origin.x) - left),
      height: max(0, edge(frame.maxY, origin.y) - top))
    // A thin line is not lost.
    if let scale {
      if rect.width == 0, frame.width > 0 { rect.width = 1 / scale }
      if rect.height == 0, frame.height > 0 { rect.height = 1 / scale }
    }
    guard paint.isRounded else { return }
    radii = paint.radii.map {
      LayoutSize(
        width: min(max($0.value(of: rect.width), 0), limit), height: min(max($0.value(of: rect.height), 0), limit))
    }
    // CSS Backgrounds 3 §4.5: radii that overlap are made smaller by one factor.
    let factor =
      [
        rect.width / (radii[0].width + radii[1].width), rect.width / (radii[3].width + radii[2].width),
        rect.height / (radii[0].height + radii[3].height), rect.height / (radii[1].height + radii[2].height), 1,
      ].filter { !$0.isNaN }.min() ?? 1
    radii = radii.map { LayoutSize(width: $0.width * factor, height: $0.height * factor) }
  }

  func inset(by insets: LayoutInsets) -> Shape {
    var inner = self
    let (left, top) = (max(0, insets.left.finite), max(0, insets.top.finite))
    let (right, bottom) = (max(0, insets.right.finite), max(0, insets.bottom.finite))
    inner.rect = LayoutRect(
      x: rect.x + min(left, rect.width), y: rect.y + min(top, rect.height), width: max(0, rect.width - left - right),
      height: max(0, rect.height - top - bottom))
    guard isRounded else { return inner }
    let sides = [(left, top), (right, top), (right, bottom), (left, bottom)]
    inner.radii = zip(radii, sides).map {
      LayoutSize(width: max(0, $0.width - $1.0), height: max(0, $0.height - $1.1))
    }
    return inner
  }

  /// The part within a rectangle that is far away. A corner that is cut off is not round.
  func cut(to far: LayoutRect) -> Shape {
    let part = rect.intersection(far)
    guard part != rect else { return self }
    var shape = self
    shape.rect = part
    let (isLeft, isTop) = (part.x == rect.x, part.y == rect.y)
    let (isRight, isBottom) = (part.maxX == rect.maxX, part.maxY == rect.maxY)
    let areWhole = [isLeft && isTop, isRight && isTop, isRight && isBottom, isLeft && isBottom]
    shape.radii = zip(radii, areWhole).map { $1 ? $0 : LayoutSize(width: 0, height: 0) }
    return shape
  }

  func grown(by length: Double) -> Shape {
    guard length != 0, length.isFinite else { return self }
    var grown = self
    grown.rect = rect.expanded(by: length)
    grown.rect.width = max(0, grown.rect.width)
    grown.rect.height = max(0, grown.rect.height)
    // A corner that is not round stays so.
    grown.radii = radii.map {
      $0.width > 0 && $0.height > 0
        ? LayoutSize(width: max(0, $0.width + length), height: max(0, $0.height + length)) : $0
    }
    return grown
  }
}

/// The shadow of a shape as an image of one byte for each pixel, with its blurred edge around it.
final class ShadowMask {
  struct Key: Hashable {
    /// The shape's size and corners in the mask's pixels.
    let width: Int
    let height: Int
    let radii: [LayoutSize]
    /// The radius of the box that blurs three times, in the mask's pixels.
    let radius: Int
    /// The mask's pixels of a unit.
    let scale: Double
    /// The distance from an edge beyond which the mask does not change, in its pixels.
    fileprivate let edge: Int

    /// The mask's bytes.
    var cost: Int { (width + 6 * radius) * (height + 6 * radius) }

    /// `nil` if nothing is blurred, or the mask would be too large.
    init?(_ shape: Shape, blur: Double, scale: Double) {
      // CSS Backgrounds 3 §6.1.2: the standard deviation is half of the blur; three boxes of 1.88 times that are like it.
      let exact = blur / 2 * scale * 1.88 / 2
      guard exact >= 0.5, exact.isFinite, scale > 0 else { return nil }
      // A soft shadow needs fewer pixels, and a large one has to do with fewer.
      let longest = max(shape.rect.width, shape.rect.height, 1) * scale
      let share = min(1, 24 / exact, 4_000 / longest)
      let maskScale = scale * share
      let corner = shape.radii.reduce(0) { max($0, $1.width, $1.height) } * maskScale
      radius = max(1, Int((exact * share).rounded()))
      edge = Int(corner.rounded(.up)) + 3 * radius + 1
      width = Int((shape.rect.width * maskScale).rounded())
      height = Int((shape.rect.height * maskScale).rounded())
      guard width > 0, height > 0, (width + 6 * radius) * (height + 6 * radius) <= 4_000_000 else { return nil }
      radii = shape.radii.map { LayoutSize(width: $0.width * maskScale, height: $0.height * maskScale) }
      self.scale = maskScale
    }
  }

  private let key: Key
  private let surface: OpaquePointer
  private let pattern: OpaquePointer

  init?(_ key: Key) {
    self.key = key
    let margin = 3 * key.radius
    // The corners are blurred, and what is between them is filled in.
    let (width, height) = (min(key.width, 2 * key.edge + 1), min(key.height, 2 * key.edge + 1))
    guard let small = Self.makeSurface(width + 2 * margin, height + 2 * margin) else { return nil }
    guard let cairo = cairo_create(small) else { return nil }
    let drawn = Shape(LayoutRect(x: Double(margin), y: Double(margin), width: Double(width), height: Double(height)))
    cairo_set_source_rgba(cairo, 0, 0, 0, 1)
    Self.path(drawn, key.radii, cairo)
    cairo_fill(cairo)
    cairo_destroy(cairo)
    cairo_surface_flush(small)
    guard let data = cairo_image_surface_get_data(small) else {
      cairo_surface_destroy(small)
      return nil
    }
    let (columns, rows) = (CInt(width + 2 * margin), CInt(height + 2 * margin))
    let stride = Int(cairo_image_surface_get_stride(small))
    var scratch = [UInt8](repeating: 0, count: Int(max(columns, rows)))
    pk_blur(data, columns, rows, stride, CInt(key.radius), &scratch)
    cairo_surface_mark_dirty(small)
    var whole = small
    if width != key.width || height != key.height {
      guard let large = Self.makeSurface(key.width + 2 * margin, key.height + 2 * margin),
        let target = cairo_image_surface_get_data(large)
      else {
        cairo_surface_destroy(small)
        return nil
      }
      cairo_surface_flush(large)
      pk_stretch(
        data, columns, rows, stride, CInt(key.edge + margin), target, CInt(key.width + 2 * margin),
        CInt(key.height + 2 * margin), Int(cairo_image_surface_get_stride(large)))
      cairo_surface_mark_dirty(large)
      cairo_surface_destroy(small)
      whole = large
    }
    guard let pattern = cairo_pattern_create_for_surface(whole) else {
      cairo_surface_destroy(whole)
      return nil
    }
    (surface, self.pattern) = (whole, pattern)
  }

  deinit {
    cairo_pattern_destroy(pattern)
    cairo_surface_destroy(surface)
  }

  private static func makeSurface(_ width: Int, _ height: Int) -> OpaquePointer? {
    guard let surface = cairo_image_surface_create(CInt(CAIRO_FORMAT_A8), CInt(width), CInt(height)) else { return nil }
    if cairo_surface_status(surface) == 0 { return surface }
    cairo_surface_destroy(surface)
    return nil
  }

  /// A rectangle with round corners; ellipses are not needed here.
  private static func path(_ shape: Shape, _ radii: [LayoutSize], _ cairo: OpaquePointer) {
    let rect = shape.rect
    let share = 1 - 0.552_284_75
    let corners = radii.map { min($0.width, $0.height, rect.width / 2, rect.height / 2) }
    cairo_new_sub_path(cairo)
    cairo_move_to(cairo, rect.x + corners[0], rect.y)
    cairo_line_to(cairo, rect.maxX - corners[1], rect.y)
    cairo_curve_to(
      cairo, rect.maxX - corners[1] * share, rect.y, rect.maxX, rect.y + corners[1] * share, rect.maxX,
      rect.y + corners[1])
    cairo_line_to(cairo, rect.maxX, rect.maxY - corners[2])
    cairo_curve_to(
      cairo, rect.maxX, rect.maxY - corners[2] * share, rect.maxX - corners[2] * share, rect.maxY,
      rect.maxX - corners[2], rect.maxY)
    cairo_line_to(cairo, rect.x + corners[3], rect.maxY)
    cairo_curve_to(
      cairo, rect.x + corners[3] * share, rect.maxY, rect.x, rect.maxY - corners[3] * share, rect.x,
      rect.maxY - corners[3])
    cairo_line_to(cairo, rect.x, rect.y + corners[0])
    cairo_curve_to(
      cairo, rect.x, rect.y + corners[0] * share, rect.x + corners[0] * share, rect.y, rect.x + corners[0], rect.y)
    cairo_close_path(cairo)
  }

  /// Paints the mask around a rectangle.
  ///
  /// - Parameter scale: the pixels of a unit; those of the mask are painted as they are if they are as many.
  func paint(_ rect: LayoutRect, scale: Double, _ cairo: OpaquePointer) {
    let margin = 3 * Double(key.radius)
    let isSharp = scale == key.scale
    let (across, down) = isSharp ? (scale, scale) : (Double(key.width) / rect.width, Double(key.height) / rect.height)
    guard across > 0, down > 0, across.isFinite, down.isFinite else { return }
    var matrix = cairo_matrix_t(
      xx: across, yx: 0, xy: 0, yy: down, x0: margin - rect.x * across, y0: margin - rect.y * down)
    cairo_pattern_set_matrix(pattern, &matrix)
    cairo_pattern_set_filter(pattern, CInt(isSharp ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_BILINEAR))
    cairo_mask(cairo, pattern)
  }
}

// MARK: - Values

extension Color {
  fileprivate func faded(_ fade: Double) -> Color {
    var color = self
    color.alpha *= fade
    return color
  }
}

extension LayoutValue {
  fileprivate var text: String {
    switch self {
    case .number(let number): number.isFinite ? String(number) : ""
    case .text(let text): text
    }
  }
}

extension LayoutBox {
  /// The frame without the border and the padding.
  var contentFrame: LayoutRect {
    LayoutRect(
      x: pageFrame.x + border.left + padding.left, y: pageFrame.y + border.top + padding.top,
      width: max(0, pageFrame.width - border.left - border.right - padding.left - padding.right),
      height: max(0, pageFrame.height - border.top - border.bottom - padding.top - padding.bottom))
  }
}

extension LayoutRect {
  func expanded(by length: Double) -> LayoutRect {
    LayoutRect(x: x - length, y: y - length, width: width + 2 * length, height: height + 2 * length)
  }

  func intersection(_ other: LayoutRect) -> LayoutRect {
    let (left, top) = (max(x, other.x), max(y, other.y))
    return LayoutRect(
      x: left, y: top, width: max(0, min(maxX, other.maxX) - left), height: max(0, min(maxY, other.maxY) - top))
  }

  func union(_ other: LayoutRect) -> LayoutRect {
    let (left, top) = (min(x, other.x), min(y, other.y))
    return LayoutRect(x: left, y: top, width: max(maxX, other.maxX) - left, height: max(maxY, other.maxY) - top)
  }
}

extension LayoutMatrix {
  fileprivate var cairo: cairo_matrix_t { cairo_matrix_t(xx: xx, yx: yx, xy: xy, yy: yy, x0: x0, y0: y0) }
}
