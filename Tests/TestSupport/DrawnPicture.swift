import CCairo

@testable import PagePictures

/// A PNG file's pixels.
public struct DrawnPicture {
  private let picture: DecodedPicture

  /// `true` if this machine has what pages are drawn with.
  public static let canDraw = pk_load_cairo() == nil

  /// - Throws: the reason why it is no picture.
  public init(_ file: [UInt8]) throws { picture = try DecodedPicture.decode(file) }

  /// The size in pixels, such as `750x1624`.
  public var size: String { "\(Int(picture.size.width))x\(Int(picture.size.height))" }

  /// The red, green and blue of a pixel; empty outside of the picture.
  public func color(_ x: Int, _ y: Int) -> [UInt8] {
    guard let surface = picture.surface, let data = cairo_image_surface_get_data(surface),
      (0..<Int(picture.size.width)).contains(x), (0..<Int(picture.size.height)).contains(y)
    else { return [] }
    let start = y * Int(cairo_image_surface_get_stride(surface)) + 4 * x
    return [data[start + 2], data[start + 1], data[start]]
  }
}
