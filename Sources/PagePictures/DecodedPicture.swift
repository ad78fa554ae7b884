import CCairo
import Containers
import Foundation
import PageLayout

/// A picture's pixels, to be drawn.
///
/// PNG files are decoded by cairo, JPEG by libjpeg-turbo, WebP by libwebp, the first picture of a GIF by giflib, and SVG by
/// librsvg. Each library is loaded when it is needed first, and a picture whose library is missing cannot be decoded.
///
/// `@unchecked Sendable`: its pixels are only read once it was decoded, and what is attached to them is behind a lock.
package final class DecodedPicture: @unchecked Sendable {
  /// The largest number of bytes of a file that is decoded.
  package static let byteLimit = 32 << 20
  /// The largest number of pixels of a picture that is decoded: 96 MB of memory.
  package static let pixelLimit = 24_000_000
  /// The largest number of bytes of an SVG file: its drawing may take long.
  package static let drawingLimit = 1 << 20

  /// The picture in the place of one that cannot be decoded.
  package static let placeholder = DecodedPicture()

  /// The picture's size in pixels; of a JPEG that was decoded smaller the size of the whole.
  package let size: LayoutSize
  /// The bytes of memory that the pixels take.
  package let cost: Int
  /// cairo's surface, whose pixels nothing changes; `nil` for the placeholder.
  let surface: OpaquePointer?
  private let lock = NSLock()
  /// The length of the PNG file that is attached to the surface. Protected by the lock.
  private var encodedBytes: Int?
  /// By what it is among the ``kept`` ones. Protected by the lock.
  private var keptAs: Kept?

  private init() { (size, cost, surface) = (LayoutSize(width: 1, height: 1), 0, nil) }

  private init(_ surface: OpaquePointer, size: LayoutSize) {
    self.surface = surface
    self.size = size
    cost = Int(cairo_image_surface_get_height(surface)) * Int(cairo_image_surface_get_stride(surface))
  }

  deinit { if let surface { cairo_surface_destroy(surface) } }

  /// The pictures that the process has decoded last, by their files: a page that is drawn again, or scrolls, shows the same pictures. Those
  /// of more than 12 MB are not kept.
  private static let kept = LRUCache<Kept, DecodedPicture>(capacity: 48 << 20)

  /// A file, by its bytes, and the size for which it was decoded.
  struct Kept: Hashable, Sendable {
    let bytes: [UInt8]
    let pixels: LayoutSize?

    /// The memory that the file takes with what was decoded of it: also the smallest pictures take some in cairo and here.
    func cost(of picture: Int) -> Int { picture + bytes.count + 2_000 }

    static func == (first: Kept, second: Kept) -> Bool {
      guard first.bytes.count == second.bytes.count, first.pixels == second.pixels else { return false }
      return first.bytes.withUnsafeBytes { first in
        second.bytes.withUnsafeBytes { second in
          guard let start = first.baseAddress, let other = second.baseAddress else { return true }
          return memcmp(start, other, first.count) == 0
        }
      }
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(bytes.count)
      hasher.combine(pixels)
      // Files that only differ elsewhere must not be many; of large ones only some are kept. Their end differs more than
      // their head.
      bytes.suffix(bytes.count > 64 << 10 ? 256 : bytes.count).withUnsafeBytes { hasher.combine(bytes: $0) }
    }
  }

  /// Forgets the pictures that are kept for further drawings.
  package static func releaseKept() { kept.removeAll() }

  /// Decodes a file, or finds what was decoded of the same bytes before.
  ///
  /// - Parameters:
  ///   - bytes: the file, at most 32 MiB, of at most 24 million pixels.
  ///   - pixels: the size in which the picture is to be drawn, or `nil` for its own. A larger JPEG is decoded smaller, and an
  ///     SVG in this size.
  /// - Throws: ``PictureError``: a library is missing, the format is unknown, the file is damaged or too large.
  package static func decode(_ bytes: [UInt8], for pixels: LayoutSize? = nil) throws(PictureError) -> DecodedPicture {
    if let reason = pk_load_cairo() { throw .unavailable(String(cString: reason)) }
    guard bytes.count <= byteLimit else {
      throw .picture("the picture's file has \(bytes.count) bytes, \(byteLimit) are allowed")
    }
    func starts(_ text: String, at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
    let isJPEG = bytes.starts(with: [0xFF, 0xD8])
    let isRaster =
      isJPEG || bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) || starts("GIF8")
      || starts("RIFF") && starts("WEBP", at: 8)
    let isSVG =
      !isRaster && (String(decoding: bytes.prefix(1_024), as: UTF8.self).contains("<svg") || starts("<?xml"))
    // Others are decoded in their own size.
    let key = Kept(bytes: bytes, pixels: isJPEG || isSVG ? pixels : nil)
    if let found = kept[key] { return found }
    let picture: DecodedPicture
    switch bytes.first {
    case _ where isSVG: picture = try svg(bytes, pixels)
    case _ where !isRaster: throw .picture("the picture has a format that cannot be drawn")
    case _ where isJPEG: picture = try jpeg(bytes, pixels)
    case UInt8(ascii: "G"): picture = try gif(bytes)
    case UInt8(ascii: "R"): picture = try webp(bytes)
    default: picture = try png(bytes)
    }
    picture.keep(as: key)
    return picture
  }

  /// Attaches the picture as a PNG file, which cairo takes for an SVG file instead of writing one itself.
  ///
  /// - Returns: the length of the file.
  /// - Throws: ``PictureError/tooSlow(_:)``.
  func encode(by deadline: Deadline) throws(PictureError) -> Int {
    guard let surface else { return 0 }
    lock.lock()
    defer { lock.unlock() }
    if let encodedBytes { return encodedBytes }
    let format = cairo_image_surface_get_format(surface)
    // Those of PNG files with more bits are written by cairo.
    guard [CInt(CAIRO_FORMAT_ARGB32), CInt(CAIRO_FORMAT_RGB24)].contains(format) else { return cost }
    let file = try Canvas.png(surface, isOpaque: format == CInt(CAIRO_FORMAT_RGB24), level: 1, by: deadline)
    guard let copy = malloc(file.count) else { throw .picture("there is no memory for the picture") }
    copy.copyMemory(from: file, byteCount: file.count)
    let status = cairo_surface_set_mime_data(
      surface, "image/png", copy.assumingMemoryBound(to: UInt8.self), UInt(file.count), { free($0) }, copy)
    guard status == 0 else {
      free(copy)
      return cost
    }
    encodedBytes = file.count
    // One that others have decoded meanwhile may be in its place.
    if let keptAs, Self.kept[keptAs] === self {
      Self.kept.remove(keptAs)
      Self.kept.insert(self, for: keptAs, cost: keptAs.cost(of: cost + file.count))
    }
    return file.count
  }

  private func keep(as key: Kept) {
    lock.withLock { keptAs = key }
    Self.kept.insert(self, for: key, cost: key.cost(of: cost))
  }

  private static func load(_ decoder: pk_decoder) throws(PictureError) {
    if let reason = pk_load_decoder(decoder) { throw .unavailable(String(cString: reason)) }
  }

  /// Makes a surface, and has it filled.
  private static func make(
    _ format: String, _ width: CInt, _ height: CInt, size: LayoutSize? = nil,
    _ fill: (UnsafeMutablePointer<UInt8>, _ stride: Int) -> Bool
  ) throws(PictureError) -> DecodedPicture {
    try check(format, Int(width), Int(height))
    let noMemory = PictureError.picture("there is no memory for the \(format) picture")
    guard let surface = cairo_image_surface_create(CInt(CAIRO_FORMAT_ARGB32), width, height) else { throw noMemory }
    // It destroys the surface.
    let picture = DecodedPicture(
      surface, size: size ?? LayoutSize(width: Double(width), height: Double(height)))
    guard cairo_surface_status(surface) == 0, let data = cairo_image_surface_get_data(surface) else { throw noMemory }
    cairo_surface_flush(surface)
    guard fill(data, Int(cairo_image_surface_get_stride(surface))) else { throw damaged(format) }
    cairo_surface_mark_dirty(surface)
    return picture
  }

  private static func check(_ format: String, _ width: Int, _ height: Int) throws(PictureError) {
    guard width > 0, height > 0 else { throw damaged(format) }
    let (pixels, overflows) = width.multipliedReportingOverflow(by: height)
    guard !overflows, pixels <= pixelLimit, max(width, height) <= Canvas.sideLimit else {
      throw .picture("the \(format) picture has \(width) x \(height) pixels, \(pixelLimit) are allowed")
    }
  }

  private static func damaged(_ format: String) -> PictureError { .picture("the \(format) picture is damaged") }

  private static func png(_ bytes: [UInt8]) throws(PictureError) -> DecodedPicture {
    // PNG §11.2.2: the size is in the first chunk.
    guard bytes.count >= 24, bytes[8..<16].elementsEqual([0, 0, 0, 13] + Array("IHDR".utf8)) else {
      throw damaged("PNG")
    }
    func number(_ start: Int) -> Int { bytes[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) } }
    try check("PNG", number(16), number(20))
    let surface = bytes.withUnsafeBufferPointer { bytes in
      var rest = Rest(bytes: bytes)
      return cairo_image_surface_create_from_png_stream(
        { context, target, count in
          guard let context, let target else { return CInt(CAIRO_STATUS_READ_ERROR) }
          let isRead = context.assumingMemoryBound(to: Rest.self).pointee.take(target, Int(count))
          return isRead ? CInt(CAIRO_STATUS_SUCCESS) : CInt(CAIRO_STATUS_READ_ERROR)
        }, &rest)
    }
    guard let surface else { throw damaged("PNG") }
    guard cairo_surface_status(surface) == 0 else {
      cairo_surface_destroy(surface)
      throw damaged("PNG")
    }
    return DecodedPicture(surface, size: LayoutSize(width: Double(number(16)), height: Double(number(20))))
  }

  private struct Rest {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    mutating func take(_ target: UnsafeMutablePointer<UInt8>, _ count: Int) -> Bool {
      guard let base = bytes.baseAddress, count <= bytes.count - position else { return false }
      target.update(from: base + position, count: count)
      position += count
      return true
    }
  }

  private static func jpeg(_ bytes: [UInt8], _ pixels: LayoutSize?) throws(PictureError) -> DecodedPicture {
    try load(PK_DECODER_JPEG)
    guard let decoder = tjInitDecompress() else { throw damaged("JPEG") }
    defer { tjDestroy(decoder) }
    var (width, height, sampling, colours): (CInt, CInt, CInt, CInt) = (0, 0, 0, 0)
    guard tjDecompressHeader3(decoder, bytes, UInt(bytes.count), &width, &height, &sampling, &colours) == 0 else {
      throw damaged("JPEG")
    }
    try check("JPEG", Int(width), Int(height))
    // It is decoded in eighths of its size at the least cost, and then drawn smaller.
    var eighths: CInt = 8
    if let pixels, pixels.width.isFinite, pixels.height.isFinite {
      let share = max(pixels.width / Double(width), pixels.height / Double(height))
      eighths = CInt(min(max((share * 8).rounded(.up), 1), 8))
    }
    let (columns, rows) = ((width * eighths + 7) / 8, (height * eighths + 7) / 8)
    let size = LayoutSize(width: Double(width), height: Double(height))
    return try make("JPEG", columns, rows, size: size) { data, stride in
      // Lines that are decoded before the damage are drawn, as browsers do: only a fatal error is a failure.
      let result = tjDecompress2(
        decoder, bytes, UInt(bytes.count), data, columns, CInt(stride), rows, CInt(TJPF_BGRA), CInt(TJFLAG_LIMITSCANS))
      return result == 0 || tjGetErrorCode(decoder) == 0
    }
  }

  private static func webp(_ bytes: [UInt8]) throws(PictureError) -> DecodedPicture {
    try load(PK_DECODER_WEBP)
    var (width, height): (CInt, CInt) = (0, 0)
    guard WebPGetInfo(bytes, bytes.count, &width, &height) != 0 else { throw damaged("WebP") }
    return try make("WebP", width, height) { data, stride in
      guard WebPDecodeBGRAInto(bytes, bytes.count, data, stride * Int(height), CInt(stride)) != nil else {
        return false
      }
      pk_premultiply(data, width, height, stride)
      return true
    }
  }

  private static func gif(_ bytes: [UInt8]) throws(PictureError) -> DecodedPicture {
    try load(PK_DECODER_GIF)
    var (width, height): (CInt, CInt) = (0, 0)
    guard pk_gif_get_size(bytes, bytes.count, &width, &height) else { throw damaged("GIF") }
    return try make("GIF", width, height) { pk_gif_draw(bytes, bytes.count, $0, width, height, $1) }
  }

  private static func svg(_ bytes: [UInt8], _ pixels: LayoutSize?) throws(PictureError) -> DecodedPicture {
    try load(PK_DECODER_SVG)
    guard bytes.count <= drawingLimit else {
      throw .picture("the SVG picture has \(bytes.count) bytes, \(drawingLimit) are allowed")
    }
    guard let outline = SVGOutline(bytes) else {
      throw .picture("the SVG picture has filters, pictures, entities or dashes, whose cost has no bound")
    }
    guard outline.count <= SVGOutline.countLimit else {
      throw .picture("the SVG picture draws more than \(Int(SVGOutline.countLimit)) elements")
    }
    var error: UnsafeMutablePointer<GError>?
    defer { if let error { g_error_free(error) } }
    // Without an address of its own it can load no other files.
    guard let handle = rsvg_handle_new_from_data(bytes, bytes.count, &error) else { throw damaged("SVG") }
    defer { g_object_unref(UnsafeMutableRawPointer(handle)) }
    let own = intrinsicSize(handle)
    var size = own
    if let pixels, pixels.width.isFinite, pixels.height.isFinite {
      let factor = max(pixels.width / own.width, pixels.height / own.height)
      if factor.isFinite, factor > 0 { size = LayoutSize(width: own.width * factor, height: own.height * factor) }
    }
    // A drawing has no pixels of its own: a large one is drawn smaller, and one with many elements too.
    let room = min(4_000_000, Self.workLimit / max(1, outline.work))
    let most = min(1, (room / max(1, size.width * size.height)).squareRoot(), 8_192 / max(size.width, size.height))
    let (width, height) = (max(1, (size.width * most).rounded(.up)), max(1, (size.height * most).rounded(.up)))
    guard width.isFinite, height.isFinite, width <= 8_193, height <= 8_193 else { throw damaged("SVG") }
    let noMemory = PictureError.picture("there is no memory for the SVG picture")
    guard let surface = cairo_image_surface_create(CInt(CAIRO_FORMAT_ARGB32), CInt(width), CInt(height)) else {
      throw noMemory
    }
    // It destroys the surface.
    let picture = DecodedPicture(surface, size: own)
    guard cairo_surface_status(surface) == 0, let cairo = cairo_create(surface) else { throw noMemory }
    defer { cairo_destroy(cairo) }
    var box = RsvgRectangle(x: 0, y: 0, width: width, height: height)
    guard rsvg_handle_render_document(handle, cairo, &box, &error) != 0 else { throw damaged("SVG") }
    return picture
  }

  /// The most work for a drawing, some seconds, in pixels that are filled with a colour.
  private static let workLimit = 1e10

  /// The size in pixels; by the drawing's box, or 300 x 150 as in CSS, without one.
  private static func intrinsicSize(_ handle: OpaquePointer) -> LayoutSize {
    var (width, height) = (0.0, 0.0)
    if rsvg_handle_get_intrinsic_size_in_pixels(handle, &width, &height) == 0 || !(width > 0 && height > 0) {
      var hasBox: CInt = 0
      var box = RsvgRectangle()
      rsvg_handle_get_intrinsic_dimensions(handle, nil, nil, nil, nil, &hasBox, &box)
      (width, height) = hasBox != 0 && box.width > 0 && box.height > 0 ? (box.width, box.height) : (300, 150)
    }
    guard width.isFinite, height.isFinite else { return LayoutSize(width: 300, height: 150) }
    return LayoutSize(width: min(width, 1e6), height: min(height, 1e6))
  }
}
