import Foundation
import HTTPCache
import Logging
import PageLayout
import PagePictures
import ScriptEngine

extension PageInstance {
  /// Draws the page as it is now, without a browser. The libraries are loaded at the first call of the process.
  ///
  ///     let file = try await page.picture(PictureOptions(.png, screen: .init("375x812@2")))
  ///
  /// Pictures of the page that have not come leave their places empty, and so does the page that an `embed` shows.
  ///
  /// - Returns: a PNG or SVG file.
  /// - Throws: `PictureError`: a library is missing, the picture has more pixels than ``PictureOptions/pixelLimit``, it takes
  ///   too long, or too many others are drawn before it; `CancellationError` while it waits for them.
  public func picture(_ options: PictureOptions = PictureOptions()) async throws -> [UInt8] {
    let texts = try pageTexts.get()
    await useFonts()
    let turn = try await DrawingTurns.shared.begin(for: id, within: .seconds(2 * options.timeLimit))
    defer { DrawingTurns.shared.end(turn) }
    var layout = layout
    if let screen = options.screen {
      var window = layout.window
      window.height = window.width / Double(screen.width) * Double(screen.height)
      window.unitsPerPoint = window.width / Double(screen.width)
      layout.window = window
      layout.update()
    }
    var area = LayoutRect(x: 0, y: 0, width: layout.window.width, height: layout.window.height)
    if options.isFull, let body = layout.root.flatMap({ layout.box($0) }) {
      area.height = max(area.height, body.contentSize.height, body.frame.height)
    }
    let width =
      options.screen.map { Double($0.width) * $0.scale } ?? configuration.environment["deviceWidth"].number
      ?? area.width
    let height = width / area.width * area.height
    guard width * height <= Double(options.allowedPixels) else {
      throw PictureError.tooLarge(width: width, height: height, limit: options.allowedPixels)
    }
    let elements = expandedTree.tree
    var files: [String: [UInt8]] = [:]
    var room = Self.pictureRoom
    for box in layout.visibleBoxes(in: area) {
      guard case .loaded(let reference, _, _, _)? = elements[box.ref]?.image, files[reference] == nil,
        let bytes = await pictureBytes(reference), bytes.count <= room
      else { continue }
      room -= bytes.count
      files[reference] = bytes
    }
    return try await Self.draw(
      layout, area, width: width, texts, elements, files, options.format, within: .seconds(options.timeLimit))
  }

  /// The most bytes of files, and of decoded pictures that are kept while a page is drawn.
  private nonisolated static let pictureRoom = 64 << 20

  private struct DrawnPicture: Hashable {
    let reference: String
    let width: Double
    let height: Double
  }

  /// Draws while other pages run.
  @concurrent private nonisolated static func draw(
    _ layout: LayoutTree, _ area: LayoutRect, width: Double, _ texts: PageTexts, _ elements: ElementTree,
    _ files: [String: [UInt8]], _ format: PictureOptions.Format, within limit: Duration
  ) async throws -> [UInt8] {
    var decoded: [DrawnPicture: DecodedPicture] = [:]
    var room = pictureRoom
    func decode(_ ref: String, _ pixels: LayoutSize) -> DecodedPicture? {
      guard case .loaded(let reference, _, _, _)? = elements[ref]?.image, let bytes = files[reference] else {
        return nil
      }
      let key = DrawnPicture(reference: reference, width: pixels.width, height: pixels.height)
      if let found = decoded[key] { return found }
      let picture = (try? DecodedPicture.decode(bytes, for: pixels)) ?? .placeholder
      if picture.cost <= room {
        room -= picture.cost
        decoded[key] = picture
      }
      return picture
    }
    var drawing = PageDrawing(layout, area: area, texts: texts) { ref in
      guard let element = elements[ref] else { return PageDrawing.Look() }
      return PageDrawing.Look(style: element.style.layoutValues, attributes: element.attributes.layoutValues)
    } picture: {
      decode($0, $1)
    }
    drawing.timeLimit = limit
    return switch format {
    case .png: try drawing.png(width: width)
    case .svg: try drawing.svg(width: width)
    }
  }

  // MARK: Texts

  /// What draws the page's texts, and measures them unless the app does. The libraries are loaded by the first call.
  var pageTexts: Result<PageTexts, PictureError> {
    if let ownTexts { return .success(ownTexts) }
    return Result { () throws(PictureError) in
      let texts = PageTexts(try SystemFonts.shared())
      ownTexts = texts
      return texts
    }
  }

  /// What measures the page's texts.
  var measurer: any TextMeasuring {
    if let measurer = registry.handlers.measurer { return measurer }
    switch pageTexts {
    case .success(let texts): return texts
    case .failure(let error):
      Self.tell(error)
      return FixedAdvances()
    }
  }

  private static var isTold = false

  /// Logs once why texts are not measured with fonts.
  private static func tell(_ error: PictureError) {
    guard !isTold else { return }
    isTold = true
    Logger(label: "pagekit.layout").notice("texts of pages are measured without fonts: \(error)")
  }

  /// Measures and draws texts with the fonts that the page has loaded since the last call.
  func useFonts() async {
    guard let texts = ownTexts else { return }
    var areNew = false
    for (index, rule) in rules.enumerated() where rule.isLoaded && rule.kind.lowercased() == "fontface" {
      guard let family = rule.values["fontFamily"].string, let source = rule.source,
        usedFonts[family.lowercased()] != source
      else { continue }
      usedFonts[family.lowercased()] = source
      guard let bytes = await stored(ResourceRequest(source, type: .font, behavior: .cacheFirst)) else { continue }
      do throws(PictureError) {
        try texts.addFont(family: family, bytes: bytes)
        areNew = true
      } catch {
        if rules.indices.contains(index) { rules[index].failure = "\(error)" }
      }
    }
    guard areNew, registry.handlers.measurer == nil else { return }
    elementLayout?.setMeasurer(texts)
    followLayout()
  }
}
