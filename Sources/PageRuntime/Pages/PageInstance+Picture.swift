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
  /// Pictures and fonts of the page that do not come within half of ``PictureOptions/timeLimit`` leave their places empty. A
  /// page that ends meanwhile is drawn as it was.
  ///
  /// - Returns: a PNG or SVG file.
  /// - Throws: `PictureError`: a library is missing, the picture has more pixels than ``PictureOptions/pixelLimit``, it takes
  ///   too long, or too many others are drawn before it; ``PageError/destroyed``; `CancellationError` while it waits for them.
  public func picture(_ options: PictureOptions = PictureOptions()) async throws -> [UInt8] {
    guard phase != .destroyed else { throw PageError.destroyed }
    let turns = DrawingTurns.shared
    var time = DrawingTime(options.time)
    let drawing = try await time.waiting { try await turns.begin(for: id, within: $0) }
    defer { turns.end(drawing) }
    let pages = shownPages.map(\.page)
    for page in pages { _ = try page.pageTexts.get() }
    await withTaskGroup(of: Void.self) { [patience = time.patience] group in
      for page in pages { group.addTask { await page.useFonts(until: patience) } }
    }
    var scene: PageScene
    let memory = DrawingMemory(turns)
    defer { memory.release() }
    do {
      let work = try await time.waiting { try await turns.beginWork(for: id, within: $0) }
      defer { turns.endWork(work) }
      guard phase != .destroyed else { throw PageError.destroyed }
      scene = try PageScene(shownPages, options)
      guard memory.take(scene.size) else { throw PageScene.noRoom }
      scene = try await scene.laidOut(until: time.deadline)
      if scene.files.isEmpty { return try await scene.drawn(with: [:], until: time.deadline) }
    }
    let files = PictureFiles(memory)
    await load(scene.files, into: files, until: time.patience)
    guard !files.lacksRoom else { throw PageScene.noRoom }
    let work = try await time.waiting { try await turns.beginWork(for: id, within: $0) }
    defer { turns.endWork(work) }
    return try await scene.drawn(with: files.bytes, until: time.deadline)
  }

  /// The page and the pages within it, outer ones before inner ones. Pages are embedded at most 8 deep.
  private var shownPages: [PageScene.Shown] {
    var found: [PageScene.Shown] = [(self, nil)]
    var next = 0
    while next < found.count {
      found += found[next].page.embedded.map { ($1, (next, $0)) }
      next += 1
    }
    return found
  }

  // MARK: Files

  /// Loads the files of pictures that come until a deadline.
  private func load(
    _ wanted: [PageScene.File: PageInstance], into files: PictureFiles, until deadline: ContinuousClock.Instant
  ) async {
    await load(until: deadline) {
      await withTaskGroup(of: Void.self) { group in
        for (count, (file, page)) in wanted.enumerated() {
          // One that does not come holds up few others.
          if count >= 8 { await group.next() }
          group.addTask { await files.add(file, page.pictureBytes(file.reference)) }
        }
      }
    }
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

  /// Draws the page's texts, and measures them unless the app does. The libraries are loaded by the first call.
  var pageTexts: Result<PageTexts, PictureError> {
    if let ownTexts { return .success(ownTexts) }
    return Result { () throws(PictureError) in
      let texts = PageTexts(try SystemFonts.shared())
      ownTexts = texts
      return texts
    }
  }

  /// Measures the page's texts.
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
      let (files, file) = (PictureFiles(), PageScene.File(page: 0, reference: source))
      await load(until: deadline) { [weak self] in
        await files.add(file, self?.stored(ResourceRequest(source, type: .font, behavior: .cacheFirst)))
      }
      // The page may have ended, or have been opened again.
      guard ownTexts === texts else { return }
      guard let bytes = files.bytes[file] else {
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

/// The time of a drawing. Waits for other drawings are none of it, and have a limit of their own.
private struct DrawingTime {
  private let limit: Duration
  private var start = ContinuousClock.now
  /// The time that it may still wait for others.
  private var rest: Duration

  init(_ limit: Duration) { (self.limit, rest) = (limit, limit * 2) }

  /// When its files have to be here.
  var patience: ContinuousClock.Instant { start + limit / 2 }
  /// When it has to have ended.
  var deadline: ContinuousClock.Instant { start + limit }

  /// Waits for other drawings.
  ///
  /// - Parameter wait: gets the longest wait.
  @PageActor mutating func waiting<Pass: Sendable>(_ wait: (Duration) async throws -> Pass) async throws -> Pass {
    let began = ContinuousClock.now
    let pass = try await wait(rest)
    let waited = ContinuousClock.now - began
    start += waited
    rest -= waited
    return pass
  }
}

/// The memory of a drawing under way, while it waits for files and for its turn.
@PageActor private final class DrawingMemory {
  /// The bytes that each drawing may have, whatever others take: the pictures of most pages.
  private static let share = 2 << 20

  private let turns: DrawingTurns
  private var size = 0
  /// The bytes that it has taken of the memory for all.
  private var taken = 0

  init(_ turns: DrawingTurns) { self.turns = turns }

  /// - Returns: `false` if other drawings have taken too much.
  func take(_ bytes: Int) -> Bool {
    let more = max(0, size + bytes - Self.share) - taken
    guard turns.take(more) else { return false }
    size += bytes
    taken += more
    return true
  }

  /// Gives everything back, and keeps nothing that comes later.
  func release() {
    turns.give(taken)
    (size, taken) = (0, 0)
  }
}

/// The files of a drawing that have come.
@PageActor private final class PictureFiles {
  private(set) var bytes: [PageScene.File: [UInt8]] = [:]
  /// `true` if a file was dropped since other drawings have taken too much memory.
  private(set) var lacksRoom = false
  private var room = PageScene.pictureRoom
  private let memory: DrawingMemory?

  /// - Parameter memory: that of the drawing; `nil` for a single file that is used at once.
  init(_ memory: DrawingMemory? = nil) { self.memory = memory }

  /// Adds a file that has come. One for which there is no room is kept as an empty one, which counts as damaged.
  func add(_ file: PageScene.File, _ bytes: [UInt8]?) {
    guard let bytes, !lacksRoom, !Task.isCancelled else { return }
    let kept = bytes.count <= room ? bytes : []
    guard memory?.take(kept.count) ?? true else {
      lacksRoom = true
      return
    }
    room -= kept.count
    self.bytes[file] = kept
  }
}

/// A page and the pages within it, as they were when a picture was asked for: a value, which is laid out and drawn while other
/// pages run.
private struct PageScene: Sendable {
  /// The most bytes of files, and of decoded pictures that are kept while a page is drawn.
  static let pictureRoom = 64 << 20
  static let noRoom = PictureError.busy("the pictures that are being drawn take too much memory: try again later")

  /// A page, and the `embed` that shows it: the place of its page, which comes before, and its ref. `nil` for the outermost.
  typealias Shown = (page: PageInstance, element: (page: Int, ref: String)?)

  /// A picture of one of the pages, by the page's reference.
  struct File: Hashable {
    let page: Int
    let reference: String
  }

  private struct Page: Sendable {
    let instance: PageInstance
    let element: (page: Int, ref: String)?
    let texts: PageTexts
    let tree: ElementTree
    /// The elements with the cells of lists; `nil` without cells.
    let cells: ElementTree?
    var elements: ElementTree { cells ?? tree }
    var layout: ElementLayout
    var window: LayoutWindow
    /// The units of the page in one unit of the page around it.
    let units: Double
    /// The elements that can be seen of those that show pictures and pages.
    var seen: Set<String> = []
    /// The places of the pages that its elements show, of those that can be seen.
    var inner: [String: Int] = [:]

    @PageActor init(_ shown: Shown) throws(PictureError) {
      (instance, element) = shown
      texts = try instance.pageTexts.get()
      // That of a page within another one follows when that one is laid out.
      window = element == nil ? instance.layoutWindow : instance.deviceWindow
      units = instance.unitsPerUnitAround
      _ = instance.expandedTree
      (tree, cells) = (instance.tree, instance.expansion?.tree)
      layout =
        instance.elementLayout
        ?? ElementLayout(window: window, measurer: instance.measurer, firesEvents: false)
    }

    /// Lays the page out for its window.
    mutating func layOut(until deadline: ContinuousClock.Instant) {
      layout.wrapMeasurer { TimedMeasurer(measurer: $0, deadline: deadline) }
      layout.setWindow(window)
      _ = layout.update(tree) { [cells] in cells }
    }

    /// Notes what can be seen of a part of the page.
    mutating func look(at area: LayoutRect) {
      for box in layout.boxes.visibleBoxes(in: area) where box.type == "embed" || elements[box.ref]?.image != nil {
        seen.insert(box.ref)
      }
    }

    func picture(of ref: String) -> String? {
      guard case .loaded(let reference, _, _, _)? = elements[ref]?.image else { return nil }
      return reference
    }
  }

  private let options: PictureOptions
  private var pages: [Page]
  private let deviceWidth: Double?
  /// Hears of the layout.
  private let observer: (@Sendable (PageWork.Moment) -> Void)?
  /// The part of the outermost page that is drawn.
  private var area = LayoutRect.zero
  /// The pictures that can be seen, with the pages that load them.
  private(set) var files: [File: PageInstance] = [:]

  /// - Parameter shown: the page, and the pages within it, outer ones before inner ones.
  @PageActor init(_ shown: [Shown], _ options: PictureOptions) throws(PictureError) {
    self.options = options
    pages = []
    observer = shown.first?.page.observer(of: .picture)
    for one in shown { pages.append(try Page(one)) }
    for index in pages.indices { pages[index].layout.observeThreads(observer) }
    deviceWidth = shown.first?.page.configuration.environment["deviceWidth"].number
    guard let screen = options.screen, !pages.isEmpty else { return }
    pages[0].window.height = pages[0].window.width / Double(screen.width) * Double(screen.height)
    pages[0].window.unitsPerPoint = pages[0].window.width / Double(screen.width)
  }

  /// The memory of the boxes, of which there may be a copy; of many it is more than is counted.
  var size: Int { min(pages.reduce(0) { $0 + $1.elements.count } * 1_000, DrawingTurns.roomLimit - Self.pictureRoom) }

  /// The width of the picture in pixels.
  private var width: Double {
    options.screen.map { Double($0.width) * $0.scale } ?? deviceWidth ?? area.width
  }

  /// Lays the pages out for the picture.
  ///
  /// - Throws: `PictureError`.
  @concurrent nonisolated func laidOut(until deadline: ContinuousClock.Instant) async throws(PictureError) -> PageScene
  {
    var scene = self
    observer?(.begin)
    defer { observer?(.end) }
    for index in pages.indices {
      if let (outer, ref) = pages[index].element {
        guard scene.enter(index, by: ref, of: outer) else { continue }
        scene.pages[index].layOut(until: deadline)
        let window = scene.pages[index].window
        scene.pages[index].look(at: LayoutRect(x: 0, y: 0, width: window.width, height: window.height))
      } else {
        scene.pages[index].layOut(until: deadline)
        try scene.measure(pages[index].window, scene.pages[index].layout.boxes)
        scene.pages[index].look(at: scene.area)
      }
      guard ContinuousClock.now < deadline else { throw .tooSlow(options.time) }
      let page = scene.pages[index]
      for reference in page.seen.compactMap({ page.picture(of: $0) }) {
        scene.files[File(page: index, reference: reference)] = page.instance
      }
    }
    return scene
  }

  /// Decides how large the picture is.
  private mutating func measure(_ window: LayoutWindow, _ boxes: LayoutTree) throws(PictureError) {
    area = LayoutRect(x: 0, y: 0, width: window.width, height: window.height)
    if options.isFull, let body = boxes.root.flatMap({ boxes.box($0) }) {
      area.height = max(window.height, body.contentSize.height, body.frame.height)
    }
    let height = width / area.width * area.height
    guard width * height <= Double(options.allowedPixels), max(width, height) <= Double(PageDrawing.sideLimit) else {
      throw .tooLarge(width: width, height: height, limit: options.allowedPixels)
    }
  }

  /// Gives a page the box of the element that shows it.
  ///
  /// - Returns: `false` if the element cannot be seen, or the page has nothing to show.
  private mutating func enter(_ index: Int, by ref: String, of outer: Int) -> Bool {
    guard pages[outer].seen.contains(ref), let box = pages[outer].layout.boxes.box(ref), pages[index].tree.root != nil
    else { return false }
    let units = pages[index].units
    pages[index].window.width = box.frame.width * units
    pages[index].window.height = box.frame.height * units
    pages[index].window.unitsPerPoint = pages[outer].window.unitsPerPoint * units
    pages[outer].inner[ref] = index
    return true
  }

  private struct DrawnPicture: Hashable {
    let file: File
    let width: Double
    let height: Double
  }

  /// Draws the pages once they were laid out.
  ///
  /// - Parameter files: the pictures that have come.
  /// - Throws: `PictureError`.
  @concurrent nonisolated func drawn(
    with files: [File: [UInt8]], until deadline: ContinuousClock.Instant
  ) async throws(PictureError) -> [UInt8] {
    var decoded: [DrawnPicture: DecodedPicture] = [:]
    var room = Self.pictureRoom
    func decode(_ file: File, _ pixels: LayoutSize) -> DecodedPicture? {
      guard let bytes = files[file] else { return nil }
      let key = DrawnPicture(file: file, width: pixels.width, height: pixels.height)
      if let found = decoded[key] { return found }
      let picture = (try? DecodedPicture.decode(bytes, for: pixels)) ?? .placeholder
      if picture.cost <= room {
        room -= picture.cost
        decoded[key] = picture
      }
      return picture
    }
    func drawing(of index: Int, _ area: LayoutRect?) -> PageDrawing {
      let page = pages[index]
      let elements = page.elements
      var made = PageDrawing(page.layout.boxes, area: area, texts: page.texts) { ref in
        guard let element = elements[ref] else { return PageDrawing.Look() }
        return PageDrawing.Look(style: element.style.layoutValues, attributes: element.attributes.layoutValues)
      } picture: { ref, pixels in
        page.picture(of: ref).flatMap { decode(File(page: index, reference: $0), pixels) }
      }
      made.embedded = { ref in page.inner[ref].map { drawing(of: $0, nil) } }
      return made
    }
    var outermost = drawing(of: 0, area)
    outermost.timeLimit = deadline - .now
    do {
      return switch options.format {
      case .png: try outermost.png(width: width)
      case .svg: try outermost.svg(width: width)
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
