import CCairo
import CZlib
import Foundation

/// What a page is drawn on: pixels in memory, or an SVG file that grows.
final class Canvas {
  /// cairo's largest side in pixels.
  static let sideLimit = 32_767
  /// The largest number of pixels of a picture.
  static let pixelLimit = 64_000_000

  let cairo: OpaquePointer
  /// The number of pixels; of an SVG file, of its units.
  let pixels: Int
  private let surface: OpaquePointer
  private let isOpaque: Bool
  private let file: GrowingFile?

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

  /// Ends an SVG file.
  func svg() throws(PictureError) -> [UInt8] {
    try check()
    cairo_surface_finish(surface)
    guard let file else { return [] }
    let status = cairo_surface_status(surface)
    if file.isFull { throw .tooManyBytes(limit: file.limit) }
    guard status == 0 else { throw .drawing(Self.text(of: status)) }
    return file.bytes
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
  func png(level: Int) throws(PictureError) -> [UInt8] {
    try check()
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
    var stream = z_stream()
    guard pk_deflate_init_png(&stream, CInt(min(max(level, 0), 9))) == Z_OK else {
      throw .drawing("zlib has no memory")
    }
    defer { deflateEnd(&stream) }
    var chunk = [UInt8](repeating: 0, count: 256 << 10)
    for start in Swift.stride(from: 0, to: Int(height), by: bandHeight) {
      let rows = min(bandHeight, Int(height) - start)
      let above = start > 0 ? UnsafePointer(data + (start - 1) * stride) : nil
      pk_filter_rows(data + start * stride, width, CInt(rows), stride, !isOpaque, above, &band)
      let isLast = start + rows == Int(height)
      let isWritten = band.withUnsafeMutableBufferPointer { band in
        stream.next_in = band.baseAddress
        stream.avail_in = UInt32(rows * rowSize)
        var result = Z_OK
        repeat {
          let count = chunk.withUnsafeMutableBufferPointer { chunk in
            stream.next_out = chunk.baseAddress
            stream.avail_out = UInt32(chunk.count)
            result = deflate(&stream, isLast ? Z_FINISH : Z_NO_FLUSH)
            return chunk.count - Int(stream.avail_out)
          }
          if count > 0 { Self.append(chunk[..<count], as: "IDAT", to: &file) }
        } while stream.avail_out == 0 && (result == Z_OK || result == Z_BUF_ERROR)
        return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR
      }
      guard isWritten else { throw .drawing("zlib cannot compress the picture") }
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

/// The bytes of a file with a limit.
private final class GrowingFile {
  let limit: Int
  private(set) var bytes: [UInt8] = []
  private(set) var isFull = false

  init(limit: Int) { self.limit = limit }

  func append(_ more: UnsafeBufferPointer<UInt8>) -> Bool {
    guard !isFull, more.count <= limit - bytes.count else {
      isFull = true
      return false
    }
    bytes += more
    return true
  }
}
