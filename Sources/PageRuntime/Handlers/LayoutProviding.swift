import ScriptEngine

/// Gives the places of elements: a renderer that lays pages out.
public protocol LayoutProviding: Sendable {
  /// Returns an element's place on the page, or `nil` if it has none.
  ///
  /// - Parameter ref: the element's ref in ``PageInstance/tree``.
  @PageActor func rect(of ref: String, in page: PageInstance) async -> LayoutRect?
  /// Returns the place of the whole page, or `nil` for the size of the device. The default is `nil`.
  @PageActor func viewport(of page: PageInstance) async -> LayoutRect?
}

extension LayoutProviding {
  /// Returns `nil`.
  @PageActor public func viewport(of page: PageInstance) async -> LayoutRect? { nil }
}

/// A rectangle on a page, in the units of its design, from the page's top left corner.
public struct LayoutRect: Hashable, Sendable {
  /// The distance from the page's left edge.
  public var left: Double
  /// The distance from the page's top edge.
  public var top: Double
  /// The width.
  public var width: Double
  /// The height.
  public var height: Double

  /// A rectangle by its top left corner and its size.
  public init(left: Double, top: Double, width: Double, height: Double) {
    self.left = left
    self.top = top
    self.width = width
    self.height = height
  }

  fileprivate var scriptValue: ScriptValue {
    [
      "width": .number(width), "height": .number(height), "left": .number(left), "right": .number(left + width),
      "top": .number(top), "bottom": .number(top + height),
    ]
  }
}

extension PageInstance {
  /// The answer of `dom.getComponentRect`. Without a layout only the whole page has a place.
  ///
  /// - Parameter ref: an element's ref, or `viewport` for the whole page.
  func rect(of ref: String) async -> ScriptValue {
    func refused(_ reason: String) -> ScriptValue { ["result": false, "errMsg": .string(reason)] }
    let layout = registry.handlers.layout
    var rect: LayoutRect?
    if ref == "viewport" {
      rect = await layout?.viewport(of: self) ?? deviceRect
    } else {
      guard let layout else { return refused("this host does not lay pages out") }
      guard tree[ref] != nil else { return refused("there is no element \(ref)") }
      rect = await layout.rect(of: ref, in: self)
    }
    guard let rect else { return refused("\(ref) has no place on the page") }
    return ["result": true, "size": rect.scriptValue]
  }

  /// The size of the device of `WXEnvironment` in the units of the page's design: 750 wide, or as wide as
  /// `meta.setViewport` says.
  private var deviceRect: LayoutRect? {
    let environment = configuration.environment
    guard let deviceWidth = environment["deviceWidth"].size, let deviceHeight = environment["deviceHeight"].size
    else { return nil }
    let scale = environment["scale"].size ?? 1
    let wanted = viewport["width"]
    let width =
      switch wanted.string {
      case "device-width": deviceWidth / scale
      case "device-height": deviceHeight / scale
      default: wanted.size ?? 750
      }
    return LayoutRect(left: 0, top: 0, width: width, height: width / deviceWidth * deviceHeight)
  }
}

extension ScriptValue {
  /// A number above 0, also one that is written as text; `nil` for other values.
  fileprivate var size: Double? {
    (number ?? string.flatMap { Double($0) }).flatMap { $0 > 0 && $0.isFinite ? $0 : nil }
  }
}
