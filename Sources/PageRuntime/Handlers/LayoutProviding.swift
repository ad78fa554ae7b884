import ScriptEngine

/// Tells where elements are: a renderer that lays pages out.
public protocol LayoutProviding: Sendable {
  /// An element's place on the page; nil where it has none.
  @PageActor func rect(of ref: String, in page: PageInstance) async -> LayoutRect?
  /// The whole page's; nil where that is not known.
  @PageActor func viewport(of page: PageInstance) async -> LayoutRect?
}

extension LayoutProviding {
  @PageActor public func viewport(of page: PageInstance) async -> LayoutRect? { nil }
}

/// A place, in the page's own units from its top left corner.
public struct LayoutRect: Hashable, Sendable {
  public var left: Double
  public var top: Double
  public var width: Double
  public var height: Double

  public init(left: Double, top: Double, width: Double, height: Double) {
    self.left = left
    self.top = top
    self.width = width
    self.height = height
  }

  public var right: Double { left + width }
  public var bottom: Double { top + height }

  fileprivate var scriptValue: ScriptValue {
    [
      "width": .number(width), "height": .number(height), "left": .number(left), "right": .number(right),
      "top": .number(top), "bottom": .number(bottom),
    ]
  }
}

extension PageInstance {
  /// What `dom.getComponentRect` answers; `viewport` stands for the whole page.
  func rect(of ref: String) async -> ScriptValue {
    func refused(_ reason: String) -> ScriptValue { ["result": false, "errMsg": .string(reason)] }
    guard let layout = registry.handlers.layout else { return refused("this host does not lay pages out") }
    let rect: LayoutRect?
    if ref == "viewport" {
      rect = await layout.viewport(of: self)
    } else {
      guard tree[ref] != nil else { return refused("there is no element \(ref)") }
      rect = await layout.rect(of: ref, in: self)
    }
    guard let rect else { return refused("\(ref) has no place on the page") }
    return ["result": true, "size": rect.scriptValue]
  }
}
