import CCairo
import CZlib
import Foundation

/// The ground that a page is drawn on: pixels in memory, or an SVG file that grows.
final class Canvas {
  /// cairo's largest side in pixels.
  static let sideLimit = 32_767
  /// The largest number of pixels of a picture.
  static let pixelLimit = 32 << 20
  /// The largest number of bytes of the pixels of pictures in an SVG file, which cairo keeps until its end.
  static let pictureLimit = 64 << 20

  let cairo: OpaquePointer
  /// The number of pixels; of an SVG file, of its units.
  let pixels: Int
  let surface: OpaquePointer
  private let isOpaque: Bool
  private let file: GrowingFile?
  /// The pictures in an SVG file.
  private var pictures: [ObjectIdentifier: DecodedPicture] = [:]
  private var pictureBytes = 0
  private var parts = 1

  /// `true` if the drawing is kept as SVG.
  var isSVG: Bool { file != nil }

  /// - Parameters:
  ///   - width, height: the size in pixels.
  ///   - scale: the pixels of a unit.
  ///   - isOpaque: `false` for a picture with transparent parts.
  init(width: Double, height: Double, scale: Double, isOpaque: Bool) throws(PictureError) {
    let (columns, rows) = try Self.size(width, height)
    if let reason = pk_load_cairo() { throw .unavailable(String(cString: reason)) }
    let format = isOpaque ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32
    (surface, cairo) = try Self.make(cairo_image_surface_create(CInt(format), CInt(columns), CInt(rows)))
    self.isOpaque = isOpaque
    pixels = columns * rows
    file = nil
    cairo_scale(cairo, scale, scale)
  }

  /// A canvas whose drawing is kept as SVG.
  ///
  /// - Parameter byteLimit: the largest length of the file.
  init(svgWidth width: Double, height: Double, scale: Double, byteLimit: Int) throws(PictureError) {
    let (columns, rows) = try Self.size(width, height)
    pixels = columns * rows
    if let reason = pk_load_cairo() { throw .unavailable(String(cString: reason)) }
    let file = GrowingFile(limit: byteLimit)
    let surface = cairo_svg_surface_create_for_stream(
      { context, bytes, count in
        guard let context, let bytes else { return CInt(CAIRO_STATUS_WRITE_ERROR) }
        let file = Unmanaged<GrowingFile>.fromOpaque(context).takeUnretainedValue()
        return file.append(UnsafeBufferPointer(start: bytes, count: Int(count)))
          ? CInt(CAIRO_STATUS_SUCCESS) : CInt(CAIRO_STATUS_WRITE_ERROR)
      }, Unmanaged.passUnretained(file).toOpaque(), width, height)
    (self.surface, cairo) = try Self.make(surface)
    // Pixels, and not points.
    cairo_svg_surface_set_document_unit(self.surface, CInt(CAIRO_SVG_UNIT_USER))
    self.file = file
    isOpaque = false
    cairo_scale(cairo, scale, scale)
  }

  deinit {
    cairo_destroy(cairo)
    cairo_surface_destroy(surface)
    // The surface writes to the file until it is gone.
    withExtendedLifetime(file) {}
  }

  private static func size(_ width: Double, _ height: Double) throws(PictureError) -> (Int, Int) {
    let error = PictureError.tooLarge(width: width, height: height, limit: pixelLimit)
    let limit = Double(sideLimit)
    guard width.isFinite, height.isFinite, width <= limit, height <= limit else { throw error }
    let (columns, rows) = (max(1, Int(width.rounded(.up))), max(1, Int(height.rounded(.up))))
    guard columns * rows <= pixelLimit else { throw error }
    return (columns, rows)
  }

  private static func make(_ surface: OpaquePointer?) throws(PictureError) -> (OpaquePointer, OpaquePointer) {
    guard let surface else { throw .drawing("it makes no surface") }
    let status = cairo_surface_status(surface)
    guard status == 0, let cairo = cairo_create(surface) else {
      cairo_surface_destroy(surface)
      throw .drawing(text(of: status))
    }
    return (surface, cairo)
  }

  static func text(of status: CInt) -> String {
    cairo_status_to_string(status).map { String(cString: $0) } ?? "\(status)"
  }

  /// - Throws: ``PictureError/drawing(_:)`` if cairo has given up.
  func check() throws(PictureError) {
    let status = cairo_status(cairo)
    guard status != 0 else { return }
    if let file, file.isFull { throw .tooManyBytes(limit: file.limit) }
    throw .drawing(Self.text(of: status))
  }

  /// Has cairo write what was drawn, which it otherwise only does at the end of an SVG file, where nothing can stop it.
  /// No group may be open.
  func endPart() {
    guard isSVG else { return }
    cairo_surface_show_page(surface)
    parts += 1
  }

  /// Ends an SVG file.
  func svg(by deadline: Deadline) throws(PictureError) -> [UInt8] {
    try check()
    try deadline.check()
    guard let file else { return [] }
    file.deadline = deadline
    if parts > 1 {
      // The parts are cairo's pages, which only this version of SVG has: the last one is written before it is known.
      cairo_surface_show_page(surface)
      cairo_svg_surface_restrict_to_version(surface, CInt(CAIRO_SVG_VERSION_1_2))
    }
    cairo_surface_finish(surface)
    let status = cairo_surface_status(surface)
    if file.isFull { throw .tooManyBytes(limit: file.limit) }
    try deadline.check()
    guard status == 0 else { throw .drawing(Self.text(of: status)) }
    return parts > 1 ? Self.withoutPages(file.bytes) : file.bytes
  }

  /// An SVG file with groups in the place of pages, which lie upon each other then. There is no text in the file that could
  /// look like their tags.
  static func withoutPages(_ file: [UInt8]) -> [UInt8] {
    let tags = ["<pageSet>\n", "</pageSet>\n", "<page>\n", "</page>\n"].map { Array($0.utf8) }
    var result: [UInt8] = []
    result.reserveCapacity(file.count)
    var rest = file[...]
    if let version = file.prefix(1_000).firstRange(of: Array(#" version="1.2""#.utf8)) {
      result += file[..<version.lowerBound] + Array(#" version="1.1""#.utf8)
      rest = file[version.upperBound...]
    }
    while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
      result += rest[..<start]
      rest = rest[start...]
      let tag = tags.first { rest.starts(with: $0) }
      if tag == nil { result.append(UInt8(ascii: "<")) }
      rest = rest.dropFirst(tag?.count ?? 1)
    }
    return result + rest
  }

  /// Prepares a picture that is drawn next: cairo would only write it at the end of an SVG file, which cannot be stopped.
  func add(_ picture: DecodedPicture, by deadline: Deadline) throws(PictureError) {
    guard let file, picture.surface != nil, pictures[ObjectIdentifier(picture)] == nil else { return }
    guard picture.cost <= Self.pictureLimit - pictureBytes else {
      throw .picture("the pictures in the SVG file have more than \(Self.pictureLimit) bytes of pixels")
    }
    pictures[ObjectIdentifier(picture)] = picture
    pictureBytes += picture.cost
    // Base64 has four letters for each three bytes that are begun.
    guard file.reserve((try picture.encode(by: deadline) + 2) / 3 * 4) else { throw .tooManyBytes(limit: file.limit) }
  }

  /// The colour of a pixel: red, green, blue and alpha, as they are in a PNG file.
  func pixel(_ x: Int, _ y: Int) -> [UInt8]? {
    cairo_surface_flush(surface)
    guard let data = cairo_image_surface_get_data(surface),
      (0..<Int(cairo_image_surface_get_width(surface))).contains(x),
      (0..<Int(cairo_image_surface_get_height(surface))).contains(y)
    else { return nil }
    var row = [UInt8](repeating: 0, count: 5)
    pk_filter_rows(data + y * Int(cairo_image_surface_get_stride(surface)) + x * 4, 1, 1, 4, !isOpaque, nil, &row)
    return Array(row[1...3]) + [isOpaque ? 255 : row[4]]
  }

  /// The picture as a PNG file.
  ///
  /// - Parameter level: zlib's; 1 is fast, 9 small.
  func png(level: Int, by deadline: Deadline = .none) throws(PictureError) -> [UInt8] {
    try check()
    return try Self.png(surface, isOpaque: isOpaque, level: level, by: deadline)
  }

  /// The pixels of a surface as a PNG file.
  static func png(
    _ surface: OpaquePointer, isOpaque: Bool, level: Int, by deadline: Deadline
  ) throws(PictureError) -> [UInt8] {
    cairo_surface_flush(surface)
    guard let data = cairo_image_surface_get_data(surface) else { throw .drawing("it has no pixels") }
    let (width, height) = (cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface))
    let stride = Int(cairo_image_surface_get_stride(surface))
    var file: [UInt8] = [137, 80, 78, 71, 13, 10, 26, 10]
    let head = Self.big(UInt32(width)) + Self.big(UInt32(height)) + [8, isOpaque ? 2 : 6, 0, 0, 0]
    Self.append(head, as: "IHDR", to: &file)
    let rowSize = 1 + Int(width) * (isOpaque ? 3 : 4)
    // Bands small enough for the processor's cache, each written as a chunk of its own when the buffer is full.
    let bandHeight = max(1, min(Int(height), (128 << 10) / rowSize))
    var band = [UInt8](repeating: 0, count: bandHeight * rowSize)
    guard let deflater = Deflater(level: level) else { throw .drawing("zlib has no memory") }
    for start in Swift.stride(from: 0, to: Int(height), by: bandHeight) {
      try deadline.check()
      let rows = min(bandHeight, Int(height) - start)
      let above = start > 0 ? UnsafePointer(data + (start - 1) * stride) : nil
      pk_filter_rows(data + start * stride, width, CInt(rows), stride, !isOpaque, above, &band)
      let isLast = start + rows == Int(height)
      let isWritten = band.withUnsafeMutableBufferPointer { band in
        deflater.run(band[..<(rows * rowSize)], isLast: isLast) { Self.append($0, as: "IDAT", to: &file) }
      }
      guard isWritten else { throw .drawing("the picture cannot be compressed") }
    }
    Self.append([], as: "IEND", to: &file)
    return file
  }

  private static func big(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  }

  /// PNG §5.3: the length, the type, the bytes, and a checksum of the type and the bytes.
  private static func append(_ bytes: some Collection<UInt8>, as type: String, to file: inout [UInt8]) {
    file += big(UInt32(bytes.count))
    let start = file.count
    file += Array(type.utf8)
    file += bytes
    let checksum = file[start...].withUnsafeBufferPointer { crc32(0, $0.baseAddress, UInt32($0.count)) }
    file += big(UInt32(checksum))
  }
}

/// Compresses into zlib's format: at its lowest level with ISA-L, if that is there, else with zlib.
private final class Deflater {
  private let fast: OpaquePointer?
  /// It does not move: zlib remembers its address.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private var chunk = [UInt8](repeating: 0, count: 256 << 10)

  /// `nil` without memory.
  init?(level: Int) {
    stream.initialize(to: z_stream())
    fast = level == 1 ? pk_deflater_new() : nil
    guard fast != nil || pk_deflate_init_png(stream, CInt(min(max(level, 0), 9))) == Z_OK else { return nil }
  }

  deinit {
    if let fast { pk_deflater_free(fast) } else { deflateEnd(stream) }
    stream.deallocate()
  }

  /// Compresses bytes.
  ///
  /// - Parameter write: gets what is ready, some of it later.
  /// - Returns: `false` if that fails.
  func run(
    _ bytes: Slice<UnsafeMutableBufferPointer<UInt8>>, isLast: Bool, _ write: (ArraySlice<UInt8>) -> Void
  ) -> Bool {
    let part = UnsafeMutableBufferPointer(rebasing: bytes)
    (stream.pointee.next_in, stream.pointee.avail_in) = (part.baseAddress, UInt32(part.count))
    var count = UInt32(part.count)
    while true {
      let written = chunk.withUnsafeMutableBufferPointer { chunk in
        if let fast {
          return Int(pk_deflater_run(fast, part.baseAddress, count, isLast, chunk.baseAddress, UInt32(chunk.count)))
        }
        (stream.pointee.next_out, stream.pointee.avail_out) = (chunk.baseAddress, UInt32(chunk.count))
        let result = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
        guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else { return -1 }
        return chunk.count - Int(stream.pointee.avail_out)
      }
      count = 0
      guard written >= 0 else { return false }
      if written > 0 { write(chunk[..<written]) }
      if written < chunk.count { return true }
    }
  }
}

/// The time at which a drawing has to have ended.
struct Deadline {
  static let none = Deadline(limit: .zero, end: nil)

  private let limit: Duration
  private let end: ContinuousClock.Instant?

  /// - Parameter whole: the time that an error names, if this is a part of it.
  init(within limit: Duration, of whole: Duration? = nil) { self.init(limit: whole ?? limit, end: .now + limit) }

  private init(limit: Duration, end: ContinuousClock.Instant?) { (self.limit, self.end) = (limit, end) }

  var isOver: Bool { end.map { ContinuousClock.now >= $0 } ?? false }

  /// - Throws: ``PictureError/tooSlow(_:)`` if the time is over.
  func check() throws(PictureError) { if isOver { throw .tooSlow(limit) } }
}

/// The bytes of a file with a limit.
private final class GrowingFile {
  let limit: Int
  var deadline = Deadline.none
  private(set) var bytes: [UInt8] = []
  private(set) var isFull = false
  /// The bytes that will come for certain.
  private var reserved = 0

  init(limit: Int) { self.limit = limit }

  /// - Returns: `false` if there is no room for so many more bytes.
  func reserve(_ count: Int) -> Bool {
    reserved += count
    return reserved <= limit - bytes.count
  }

  func append(_ more: UnsafeBufferPointer<UInt8>) -> Bool {
    guard !isFull, more.count <= limit - bytes.count else {
      isFull = true
      return false
    }
    bytes += more
    return !deadline.isOver
  }
}
