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
  /// - Throws: `PictureError`: a library is missing, the picture has more pixels than ``PictureOptions/pixelLimit``, or it
  ///   takes too long.
  public func picture(_ options: PictureOptions = PictureOptions()) async throws -> [UInt8] {
    let texts = try pageTexts.get()
    await useFonts()
    let deadline = ContinuousClock.now + options.time
    let scene = try await PageScene(self, texts, options).laidOut(until: deadline)
    var files: [String: [UInt8]] = [:]
    var room = PageScene.pictureRoom
    for reference in scene.pictures where files[reference] == nil {
      guard let bytes = await pictureBytes(reference), bytes.count <= room else { continue }
      room -= bytes.count
      files[reference] = bytes
    }
    return try await scene.drawn(with: files, until: deadline)
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

/// A page as it was when its picture was asked for: a value, which is laid out and drawn while other pages run.
private struct PageScene: Sendable {
  /// The most bytes of files, and of decoded pictures that are kept while a page is drawn.
  static let pictureRoom = 64 << 20

  private let options: PictureOptions
  private let texts: PageTexts
  private let tree: ElementTree
  /// The elements with the cells of lists; `nil` without cells.
  private let cells: ElementTree?
  private var elements: ElementTree { cells ?? tree }
  private var layout: ElementLayout
  /// The screen in units.
  private let window: LayoutWindow
  private let deviceWidth: Double?
  /// The part of the page that is drawn.
  private var area = LayoutRect.zero

  @PageActor init(_ page: PageInstance, _ texts: PageTexts, _ options: PictureOptions) {
    var window = page.layoutWindow
    if let screen = options.screen {
      window.height = window.width / Double(screen.width) * Double(screen.height)
      window.unitsPerPoint = window.width / Double(screen.width)
    }
    (self.options, self.texts, self.window) = (options, texts, window)
    _ = page.expandedTree
    (tree, cells) = (page.tree, page.expansion?.tree)
    layout =
      page.elementLayout ?? ElementLayout(window: window, measurer: page.measurer, firesEvents: false)
    deviceWidth = page.configuration.environment["deviceWidth"].number
  }

  /// The width of the picture in pixels.
  private var width: Double {
    options.screen.map { Double($0.width) * $0.scale } ?? deviceWidth ?? area.width
  }

  /// Lays the page out for the picture.
  ///
  /// - Throws: `PictureError`.
  @concurrent nonisolated func laidOut(until deadline: ContinuousClock.Instant) async throws(PictureError) -> PageScene
  {
    var scene = self
    if layout.needsUpdate(for: window) {
      scene.layout.setMeasurer(TimedMeasurer(measurer: layout.boxes.measurer, deadline: deadline))
    }
    scene.layout.setWindow(window)
    _ = scene.layout.update(tree) { cells }
    let boxes = scene.layout.boxes
    scene.area = LayoutRect(x: 0, y: 0, width: window.width, height: window.height)
    if options.isFull, let body = boxes.root.flatMap({ boxes.box($0) }) {
      scene.area.height = max(window.height, body.contentSize.height, body.frame.height)
    }
    let (width, height) = (scene.width, scene.width / scene.area.width * scene.area.height)
    guard width * height <= Double(PictureOptions.pixelLimit) else {
      throw .tooLarge(width: width, height: height, limit: PictureOptions.pixelLimit)
    }
    guard ContinuousClock.now < deadline else { throw .tooSlow(options.time) }
    return scene
  }

  /// The references of the pictures that can be seen.
  var pictures: [String] {
    layout.boxes.visibleBoxes(in: area).compactMap { reference(of: $0.ref) }
  }

  private func reference(of ref: String) -> String? {
    guard case .loaded(let reference, _, _, _)? = elements[ref]?.image else { return nil }
    return reference
  }

  private struct DrawnPicture: Hashable {
    let reference: String
    let width: Double
    let height: Double
  }

  /// Draws the page once it was laid out.
  ///
  /// - Parameter files: the pictures that have come, by their references.
  /// - Throws: `PictureError`.
  @concurrent nonisolated func drawn(
    with files: [String: [UInt8]], until deadline: ContinuousClock.Instant
  ) async throws(PictureError) -> [UInt8] {
    var decoded: [DrawnPicture: DecodedPicture] = [:]
    var room = Self.pictureRoom
    let elements = elements
    func decode(_ ref: String, _ pixels: LayoutSize) -> DecodedPicture? {
      guard let reference = reference(of: ref), let bytes = files[reference] else { return nil }
      let key = DrawnPicture(reference: reference, width: pixels.width, height: pixels.height)
      if let found = decoded[key] { return found }
      let picture = (try? DecodedPicture.decode(bytes, for: pixels)) ?? .placeholder
      if picture.cost <= room {
        room -= picture.cost
        decoded[key] = picture
      }
      return picture
    }
    var drawing = PageDrawing(layout.boxes, area: area, texts: texts) { ref in
      guard let element = elements[ref] else { return PageDrawing.Look() }
      return PageDrawing.Look(style: element.style.layoutValues, attributes: element.attributes.layoutValues)
    } picture: {
      decode($0, $1)
    }
    drawing.timeLimit = deadline - .now
    do {
      return switch options.format {
      case .png: try drawing.png(width: width)
      case .svg: try drawing.svg(width: width)
      }
    } catch .tooSlow {
      // The limit is that of layout and drawing together.
      throw .tooSlow(options.time)
    }
  }
}

/// Measures texts until a deadline. A layout that goes on after it is not used.
private struct TimedMeasurer: TextMeasuring {
  let measurer: any TextMeasuring
  let deadline: ContinuousClock.Instant

  func size(of text: LayoutText, width: Double) -> LayoutSize {
    ContinuousClock.now < deadline ? measurer.size(of: text, width: width) : .zero
  }
}

extension PictureOptions {
  /// The longest time that a picture may take.
  fileprivate var time: Duration { .seconds(timeLimit.isFinite ? min(max(0, timeLimit), 3_600) : 5) }
}
