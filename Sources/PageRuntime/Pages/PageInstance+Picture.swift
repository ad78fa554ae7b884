import Foundation
import HTTPCache
import Logging
import PageLayout
import PagePictures
import ScriptEngine

/// How a page is drawn.
public struct PictureOptions: Codable, Hashable, Sendable {
  /// The format of the file.
  public enum Format: String, Codable, Hashable, Sendable, CaseIterable {
    /// Pixels, on white.
    case png
    /// A drawing whose texts are outlines.
    case svg
  }

  /// A screen: its size in points, and the pixels of a point. As a text: `375x812@2`.
  public struct Screen: Codable, Hashable, Sendable, LosslessStringConvertible {
    /// The width in points, 1 to 10,000.
    public let width: Int
    /// The height in points, 1 to 10,000.
    public let height: Int
    /// The pixels of a point, 0.1 to 10.
    public let scale: Double

    /// Reads a text such as `375x812@2` or `375x812`; `nil` for other texts, and for numbers that are not allowed.
    public init?(_ text: String) {
      let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
      let sides = (parts.first ?? "").split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
      guard sides.count == 2, let width = sides[0], let height = sides[1], (1...10_000).contains(width),
        (1...10_000).contains(height), let scale = parts.count > 1 ? Double(parts[1]) : 1, (0.1...10).contains(scale)
      else { return nil }
      (self.width, self.height, self.scale) = (width, height, scale)
    }

    /// The text that ``init(_:)`` reads.
    public var description: String {
      let scale = Int(exactly: scale).map(String.init) ?? String(scale)
      return "\(width)x\(height)" + (scale == "1" ? "" : "@\(scale)")
    }

    /// The pixels of the screen.
    package var pixels: Double { Double(width) * Double(height) * scale * scale }
  }

  /// The largest number of pixels of a picture: 128 MB of memory.
  public static let pixelLimit = 32 << 20

  /// The format of the file.
  public var format: Format
  /// The screen that the page is laid out for; `nil` for the device of `WXEnvironment`. The script is not told of it.
  public var screen: Screen?
  /// `true` to draw all of the page's content, also what is below the screen. What a scroller on the page has scrolled away
  /// stays so.
  public var isFull: Bool
  /// The longest time that a drawing may take, in seconds.
  public var timeLimit = 5.0

  /// - Parameters:
  ///   - format: the format of the file.
  ///   - screen: the screen that the page is laid out for; `nil` for the device of `WXEnvironment`.
  ///   - isFull: `true` to draw also what is below the screen.
  public init(_ format: Format = .png, screen: Screen? = nil, isFull: Bool = false) {
    (self.format, self.screen, self.isFull) = (format, screen, isFull)
  }
}

extension PageInstance {
  /// Draws the page as it is now, without a browser. The libraries are loaded at the first call of the process.
  ///
  ///     let file = try await page.picture(PictureOptions(.png, screen: .init("375x812@2")))
  ///
  /// Pictures of the page that have not come leave their places empty, and so does the page that an `embed` shows.
  ///
  /// - Returns: a PNG or SVG file.
  /// - Throws: `PictureError`: a library is missing, the picture has more pixels than ``PictureOptions/pixelLimit``, or it
  ///   takes too long.
  public func picture(_ options: PictureOptions = PictureOptions()) async throws -> [UInt8] {
    let texts = try pageTexts.get()
    await useFonts()
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
    guard width * height <= Double(PictureOptions.pixelLimit) else {
      throw PictureError.tooLarge(width: width, height: height, limit: PictureOptions.pixelLimit)
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
