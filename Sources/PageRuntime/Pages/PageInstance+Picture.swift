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
  /// Pictures and fonts of the page that do not come within half of ``PictureOptions/timeLimit`` leave their places empty,
  /// and so does the page that an `embed` shows. A page that ends meanwhile is drawn as it was.
  ///
  /// - Returns: a PNG or SVG file.
  /// - Throws: `PictureError`: a library is missing, the picture has more pixels than ``PictureOptions/pixelLimit``, or it
  ///   takes too long; ``PageError/destroyed``.
  public func picture(_ options: PictureOptions = PictureOptions()) async throws -> [UInt8] {
    guard phase != .destroyed else { throw PageError.destroyed }
    let texts = try pageTexts.get()
    let start = ContinuousClock.now
    let (patience, deadline) = (start + options.time / 2, start + options.time)
    await useFonts(until: patience)
    guard phase != .destroyed else { throw PageError.destroyed }
    let scene = try await PageScene(self, texts, options).laidOut(until: deadline)
    let files = await pictureFiles(scene.pictures, until: patience)
    return try await scene.drawn(with: files, until: deadline)
  }

  // MARK: Files

  /// The files of pictures that come until a deadline, by their references.
  private func pictureFiles(
    _ references: Set<String>, until deadline: ContinuousClock.Instant
  ) async -> [String: [UInt8]] {
    let files = PictureFiles()
    await load(until: deadline) { [weak self] in
      await withTaskGroup(of: Void.self) { group in
        for (count, reference) in references.enumerated() {
          // One that does not come holds up few others.
          if count >= 8 { await group.next() }
          group.addTask { await files.add(reference, self?.pictureBytes(reference)) }
        }
      }
    }
    return files.bytes
  }

  /// Loads what a drawing needs, until a deadline, or until the page ends or is opened again. The rest is given up.
  private func load(until deadline: ContinuousClock.Instant, _ body: @escaping @PageActor () async -> Void) async {
    let task = Task { await body() }
    let key = UUID()
    loads[key] = { task.cancel() }
    await withTaskCancellationHandler {
      await Self.wait(for: task, until: deadline)
    } onCancel: {
      task.cancel()
    }
    task.cancel()
    loads[key] = nil
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

  /// The longest wait for the fonts of a page that asks for a place: they are most likely in the cache.
  private static let fontPatience = Duration.seconds(2)

  /// Measures and draws texts with the fonts that the page has loaded since the last call.
  ///
  /// - Parameter deadline: when fonts that have not come are given up, until the next call.
  func useFonts(until deadline: ContinuousClock.Instant = .now + fontPatience) async {
    guard let texts = ownTexts else { return }
    var areNew = false
    // The last font of a family counts.
    var sources: [String: String] = [:]
    for rule in rules { if let font = rule.font { sources[font.family.lowercased()] = font.source } }
    for rule in rules {
      guard let (name, source) = rule.font, case let family = name.lowercased(), sources[family] == source,
        usedFonts[family] != source, ContinuousClock.now < deadline
      else { continue }
      let former = usedFonts.updateValue(source, forKey: family)
      let file = PictureFiles()
      await load(until: deadline) { [weak self] in
        await file.add(source, self?.stored(ResourceRequest(source, type: .font, behavior: .cacheFirst)))
      }
      // The page may have ended, or have been opened again.
      guard ownTexts === texts else { return }
      guard let bytes = file.bytes[source] else {
        if ContinuousClock.now >= deadline { usedFonts[family] = former }
        continue
      }
      do throws(PictureError) {
        try texts.addFont(family: name, bytes: bytes)
        areNew = true
      } catch {
        change(rule) { $0.failure = "\(error)" }
      }
    }
    guard areNew, registry.handlers.measurer == nil else { return }
    elementLayout?.setMeasurer(texts)
    followLayout()
  }
}

/// The files of a drawing that have come, by their references.
@PageActor private final class PictureFiles {
  private(set) var bytes: [String: [UInt8]] = [:]
  private var room = PageScene.pictureRoom

  /// Adds a file, if there is room for it.
  func add(_ reference: String, _ file: [UInt8]?) {
    guard let file, file.count <= room else { return }
    room -= file.count
    bytes[reference] = file
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
  /// The references of the pictures that can be seen.
  private(set) var pictures: Set<String> = []

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
    scene.pictures = Set(boxes.visibleBoxes(in: scene.area).compactMap { reference(of: $0.ref) })
    return scene
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
      // The limit is that of the whole picture.
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
