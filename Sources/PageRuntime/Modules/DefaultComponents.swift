import ScriptEngine

/// The components every page may use.
enum DefaultComponents {
  static let types = [
    "div", "container", "text", "image", "richtext", "scroller", "list", "recycle-list", "waterfall", "header", "cell",
    "cell-slot", "embed", "a", "select", "switch", "input", "textarea", "video", "indicator", "slider", "cycleslider",
    "slider-neighbor", "web", "loading", "loading-indicator", "refresh", "canvas",
  ]

  /// These, and other names that are used for them.
  static let typesKnown = Set(types + ["img", "span"])

  /// Methods that frameworks are told of; what a host does not show has nothing to do for them.
  private static let methods: [String: [String]] = [
    "scroller": ["resetLoadmore"], "list": ["resetLoadmore"], "waterfall": ["resetLoadmore"],
    "input": ["focus", "blur", "setSelectionRange", "getSelectionRange"],
    "textarea": ["focus", "blur", "setSelectionRange", "getSelectionRange"],
    "web": ["goBack", "goForward", "reload"],
  ]

  static var names: ScriptValue {
    .array(
      types.map { type in
        ["type": .string(type), "methods": .array((methods[type] ?? []).map { .string($0) })]
      })
  }
}
