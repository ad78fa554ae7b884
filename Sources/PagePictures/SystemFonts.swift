import CCairo
import CLinux
import Foundation
import Glibc
import PageLayout

/// The reason why something cannot be drawn, as a sentence.
public enum PictureError: Error, Hashable, CustomStringConvertible {
  /// A library is missing; the text names its package.
  case unavailable(String)
  /// The picture would have more pixels than `limit`, or a side of more than 32,767.
  case tooLarge(width: Double, height: Double, limit: Int)
  /// Drawing took longer than it may.
  case tooSlow(Duration)
  /// The process draws one picture at a time, and this one waited for too long, or too many wait: draw it later.
  case busy(String)
  /// The file would have more bytes than `limit`.
  case tooManyBytes(limit: Int)
  /// cairo's reason.
  case drawing(String)
  /// A font of a page is refused.
  case font(family: String, reason: String)
  /// A picture's file cannot be drawn: its format is unknown, it is damaged or too large.
  case picture(String)

  /// The sentence.
  public var description: String {
    switch self {
    case .unavailable(let reason): reason
    case .tooLarge(let width, let height, let limit):
      "a picture of \(Self.text(width)) x \(Self.text(height)) pixels is too large: "
        + (width * height > Double(limit) ? "\(limit)" : "sides of \(Canvas.sideLimit)") + " pixels are allowed"
    case .busy(let reason): reason
    case .tooSlow(let limit): "drawing the page took longer than \(limit)"
    case .tooManyBytes(let limit): "the picture's file has more than \(limit) bytes"
    case .drawing(let reason): "cairo cannot draw the page: \(reason)"
    case .font(let family, let reason): "the font \"\(family)\" is not used: \(reason)"
    case .picture(let reason): reason
    }
  }

  private static func text(_ number: Double) -> String {
    Int(exactly: number.rounded(.up)).map(String.init) ?? String(number)
  }
}

/// The system's fonts, and Pango's state for them. Loaded once for a process, and before a process gives up its right to
/// open files.
///
/// Pages add fonts of their own through ``PageTexts``. One text is set or drawn at a time.
package final class SystemFonts: @unchecked Sendable {
  /// The state behind the lock: neither Pango nor fontconfig may be used by two threads at once.
  struct State {
    let config: OpaquePointer
    let map: OpaquePointer
    /// Contexts of the two base directions.
    let leftToRight: OpaquePointer
    let rightToLeft: OpaquePointer
    let latin: OpaquePointer?
    let chinese: OpaquePointer?
    /// The texts of pages, by the page's number.
    var pages: [Int: PageState] = [:]
    var nextPage = 0
    var nextFont = 0
    /// The files of the pages' fonts by their numbers.
    var files: [Int: FontFile] = [:]
    var budget = FontBudget()
    var metrics: [FontKey: FontMetrics] = [:]
  }

  private let lock = NSLock()
  /// Protected by the lock. Objects that are made with it stay behind the lock too: Pango's objects name each other.
  private var state: State

  private static let loaded: Result<SystemFonts, PictureError> = Result { () throws(PictureError) in try SystemFonts() }

  /// fontconfig's configuration with the list of fonts, which is read once for a process. It lives as long as that.
  nonisolated(unsafe) private static let config: Result<OpaquePointer, PictureError> = Result {
    () throws(PictureError) in
    if let reason = pk_load_cairo() { throw .unavailable(String(cString: reason)) }
    guard let config = FcInitLoadConfigAndFonts() else {
      throw .unavailable("pictures of pages cannot be drawn: fontconfig finds no configuration")
    }
    return config
  }

  /// The fonts of this process, which are loaded by the first call; that takes some 10 ms.
  ///
  /// - Throws: ``PictureError/unavailable(_:)`` if a library is missing. Later calls throw the same.
  package static func shared() throws(PictureError) -> SystemFonts { try loaded.get() }

  private static let decoders = [PK_DECODER_JPEG, PK_DECODER_WEBP, PK_DECODER_GIF, PK_DECODER_SVG]

  /// The libraries for pictures that this machine lacks, each a sentence with the package to install, those for pages
  /// themselves first; empty if none is missing. This loads them.
  package static var problems: [String] {
    ([pk_load_cairo()] + decoders.map { pk_load_decoder($0) }).compactMap { $0.map { String(cString: $0) } }
  }

  /// Loads the fonts that a process needs that will have no right to open other files, and opens those of usual texts.
  ///
  /// Pango starts threads: one for each search, which ends by itself, and since 1.51.2 one for each map of fonts, which ends
  /// with the map. Rights that a process gives up afterwards stay with those that run already. So this map is gone when the
  /// call returns, though its threads may take a moment; ``shared()`` makes another one when it is needed.
  ///
  /// - Returns: the folders of fonts, from which the process must still be able to read: Pango opens a font when a text needs
  ///   it.
  package static func preload() throws(PictureError) -> [String] {
    let fonts = try SystemFonts()
    for decoder in decoders { _ = pk_load_decoder(decoder) }
    // The library that it needs.
    pk_deflater_free(pk_deflater_new())
    let texts = PageTexts(fonts)
    texts.open("Aa1 汉字 한글 かな \u{1F600} ا")
    return fonts.folders
  }

  private init() throws(PictureError) {
    let config = try Self.config.get()
    guard let map = pango_cairo_font_map_new_for_font_type(CInt(CAIRO_FONT_TYPE_FT)) else {
      throw .unavailable("pictures of pages cannot be drawn: Pango makes no map of fonts")
    }
    pango_fc_font_map_set_config(map, config)
    func makeContext(_ direction: Int) throws(PictureError) -> OpaquePointer {
      guard let context = pango_font_map_create_context(map), let options = cairo_font_options_create() else {
        throw .unavailable("pictures of pages cannot be drawn: Pango makes no context")
      }
      // Texts scale with the picture: nothing is rounded to pixels.
      cairo_font_options_set_antialias(options, CInt(CAIRO_ANTIALIAS_GRAY))
      cairo_font_options_set_hint_style(options, CInt(CAIRO_HINT_STYLE_NONE))
      cairo_font_options_set_hint_metrics(options, CInt(CAIRO_HINT_METRICS_OFF))
      pango_cairo_context_set_font_options(context, options)
      cairo_font_options_destroy(options)
      pango_context_set_round_glyph_positions(context, 0)
      pango_context_set_base_dir(context, CInt(direction))
      return context
    }
    state = State(
      config: config, map: map, leftToRight: try makeContext(PANGO_DIRECTION_LTR),
      rightToLeft: try makeContext(PANGO_DIRECTION_RTL), latin: pango_language_from_string("en"),
      chinese: pango_language_from_string("zh-cn"))
  }

  deinit {
    for object in [state.leftToRight, state.rightToLeft, state.map] { g_object_unref(UnsafeMutableRawPointer(object)) }
  }

  func withState<Result>(_ body: (inout State) throws(PictureError) -> Result) throws(PictureError) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&state)
  }

  /// The folders that fontconfig knows, which exist, without those that are within another one of them.
  private var folders: [String] {
    let folders: [String]? = try? withState { state throws(PictureError) in
      guard let list = FcConfigGetFontDirs(state.config) else { return [] }
      defer { FcStrListDone(list) }
      var folders: [String] = []
      while let name = FcStrListNext(list) { folders.append(String(cString: name)) }
      return folders
    }
    return Self.outermost((folders ?? []).filter { access($0, R_OK) == 0 })
  }
}

extension SystemFonts {
  /// The folders that are within no other one.
  static func outermost(_ folders: [String]) -> [String] {
    folders.sorted().reduce(into: []) { found, folder in
      if let last = found.last, folder == last || folder.hasPrefix(last.hasSuffix("/") ? last : last + "/") { return }
      found.append(folder)
    }
  }
}

/// A page's part of ``SystemFonts``: its fonts, and the texts that it has set and measured.
struct PageState {
  var texts = TextCache<SetText>(limit: 1 << 20)
  /// Many more than are kept as lines: a drawing measures all texts of a page, and draws those that are seen.
  var sizes = TextCache<LayoutSize>(limit: 1 << 20)
  var fonts: [PageFont] = []

  mutating func forgetTexts() {
    texts.removeAll()
    sizes.removeAll()
  }
}

/// A font of a page.
struct PageFont {
  /// The name that the page gave it, in lower case.
  let family: String
  /// The name that fontconfig knows, which no other file has.
  let name: String
  /// The number of its ``FontFile``.
  let file: Int
}

/// The file of a font in memory. Pages that bring the same bytes share it.
struct FontFile {
  let size: Int
  /// A hash of the bytes, to find the same ones.
  let hash: Int
  /// The file, which stays open: Pango opens it again by its path.
  let descriptor: Int32
  let patterns: [OpaquePointer]
  /// The number of the fonts of pages that are this file.
  var users = 0
}

/// The room for the fonts of all pages of a process: each file has a descriptor, of which a confined process has 64.
struct FontBudget {
  static let countLimit = 24
  static let byteLimit = 64 << 20

  private(set) var count = 0
  private(set) var bytes = 0

  mutating func add(_ size: Int) {
    count += 1
    bytes += size
  }

  mutating func remove(_ size: Int) {
    count -= 1
    bytes -= size
  }

  /// The reason why a file of `size` bytes is one too many; `nil` if it is not.
  ///
  /// - Parameter replaced: the size of the file that it replaces.
  func refusal(of size: Int, replacing replaced: Int? = nil) -> String? {
    var after = self
    if let replaced { after.remove(replaced) }
    after.add(size)
    if after.count > Self.countLimit { return "the open pages have \(Self.countLimit) fonts, which is the limit" }
    if after.bytes > Self.byteLimit { return "the fonts of the open pages have more than \(Self.byteLimit) bytes" }
    return nil
  }
}

extension SystemFonts.State {
  /// The largest size of a font in bytes.
  static let fontLimit = 32 << 20
  /// The largest number of fonts of one page.
  static let fontCount = 16

  /// Adds a font to a page, in the place of one with the same family.
  mutating func addFont(_ family: String, _ bytes: [UInt8], page: Int) throws(PictureError) {
    func refuse(_ reason: String) -> PictureError { .font(family: family, reason: reason) }
    guard var found = pages[page] else { return }
    let key = family.lowercased()
    let former = found.fonts.first { $0.family == key }
    guard former != nil || found.fonts.count < Self.fontCount else {
      throw refuse("a page may have \(Self.fontCount) fonts")
    }
    guard bytes.count <= Self.fontLimit else { throw refuse("it has more than \(Self.fontLimit) bytes") }
    let hash = bytes.hashValue
    let file: Int
    if let same = files.first(where: { $0.value.hash == hash && $0.value.has(bytes) })?.key {
      file = same
    } else {
      let gone = former.flatMap { files[$0.file] }.flatMap { $0.users == 1 ? $0.size : nil }
      if let reason = budget.refusal(of: bytes.count, replacing: gone) { throw refuse(reason) }
      file = try addFile(bytes, hash, refuse)
    }
    files[file]?.users += 1
    found.fonts.removeAll { $0.family == key }
    found.fonts.append(PageFont(family: key, name: Self.name(of: file), file: file))
    found.forgetTexts()
    pages[page] = found
    if let former { remove([former]) }
  }

  private static func name(of file: Int) -> String { "pagekit-font-\(file)" }

  /// Makes a file known to fontconfig.
  ///
  /// - Returns: its number.
  private mutating func addFile(
    _ bytes: [UInt8], _ hash: Int, _ refuse: (String) -> PictureError
  ) throws(PictureError) -> Int {
    // The kinds of files that HarfBuzz reads too.
    let kinds: [[UInt8]] = [[0, 1, 0, 0], Array("OTTO".utf8), Array("true".utf8), Array("ttcf".utf8)]
    guard kinds.contains(where: { bytes.starts(with: $0) }) else {
      throw refuse("the file is not a TrueType or OpenType font")
    }
    guard let fonts = FcConfigGetFonts(config, CInt(FcSetSystem)), let read = FcFontSetCreate() else {
      throw refuse("fontconfig has no set of fonts")
    }
    defer { FcFontSetDestroy(read) }
    let descriptor = try Self.file(of: bytes, refuse)
    var count: CInt = 0
    let path = path(of: descriptor)
    _ = path.withCString { path in
      path.withMemoryRebound(to: UInt8.self, capacity: 1) { FcFreeTypeQueryAll($0, .max, nil, &count, read) }
    }
    var patterns: [OpaquePointer] = []
    // Fonts with axes come in many named instances.
    for index in 0..<min(Int(read.pointee.nfont), 64) {
      guard let pattern = read.pointee.fonts[index] else { continue }
      _ = FcPatternDel(pattern, "family")
      _ = Self.name(of: nextFont).withCString { name in
        name.withMemoryRebound(to: UInt8.self, capacity: 1) { FcPatternAddString(pattern, "family", $0) }
      }
      FcPatternReference(pattern)
      if FcFontSetAdd(fonts, pattern) != 0 { patterns.append(pattern) } else { FcPatternDestroy(pattern) }
    }
    guard !patterns.isEmpty else {
      close(descriptor)
      throw refuse("FreeType finds no font in the file")
    }
    let number = nextFont
    nextFont += 1
    files[number] = FontFile(size: bytes.count, hash: hash, descriptor: descriptor, patterns: patterns)
    budget.add(bytes.count)
    changeFonts()
    return number
  }

  /// Has Pango search again.
  private mutating func changeFonts() {
    pango_fc_font_map_config_changed(map)
    metrics = [:]
  }

  /// A path of a font's file that no other font has had: cairo keeps what it has read by the path, also when the file is
  /// closed and its number is another one's. The number of the font stands in it as `/` and `/.`.
  private func path(of descriptor: Int32) -> String {
    let number = String(nextFont, radix: 2).map { $0 == "0" ? "/" : "/." }.joined()
    return "/proc/self/fd\(number)/\(descriptor)"
  }

  /// Forgets a page.
  mutating func removePage(_ page: Int) {
    guard var found = pages.removeValue(forKey: page) else { return }
    found.forgetTexts()
    remove(found.fonts)
  }

  /// Forgets fonts of pages, and files that are no other ones' too.
  private mutating func remove(_ gone: [PageFont]) {
    guard let fonts = FcConfigGetFonts(config, CInt(FcSetSystem)) else { return }
    var areFewer = false
    for font in gone {
      files[font.file]?.users -= 1
      guard let file = files[font.file], file.users == 0 else { continue }
      files[font.file] = nil
      budget.remove(file.size)
      areFewer = true
      for pattern in file.patterns {
        let count = Int(fonts.pointee.nfont)
        guard let index = (0..<count).last(where: { fonts.pointee.fonts[$0] == pattern }) else { continue }
        for next in (index + 1)..<max(count, index + 1) { fonts.pointee.fonts[next - 1] = fonts.pointee.fonts[next] }
        fonts.pointee.nfont -= 1
        FcPatternDestroy(pattern)
      }
      close(file.descriptor)
    }
    if areFewer { changeFonts() }
  }

  /// A file in memory, whose path other libraries can open.
  private static func file(of bytes: [UInt8], _ refuse: (String) -> PictureError) throws(PictureError) -> Int32 {
    let descriptor = memfd_create("pagekit-font", 1)  // MFD_CLOEXEC
    guard descriptor >= 0 else { throw refuse("no file in memory can be made (\(String(cString: strerror(errno))))") }
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        bytes.baseAddress.map { write(descriptor, $0 + written, bytes.count - written) } ?? 0
      }
      guard count > 0 else {
        close(descriptor)
        throw refuse("it cannot be kept in memory (\(String(cString: strerror(errno))))")
      }
      written += count
    }
    return descriptor
  }
}

extension FontFile {
  /// Compares the file with bytes.
  func has(_ bytes: [UInt8]) -> Bool {
    guard bytes.count == size else { return false }
    var part = [UInt8](repeating: 0, count: min(size, 64 << 10))
    var offset = 0
    while offset < size {
      let count = pread(descriptor, &part, part.count, off_t(offset))
      guard count > 0, bytes[offset..<(offset + count)].elementsEqual(part[..<count]) else { return false }
      offset += count
    }
    return true
  }
}
