import ScriptEngine

/// The built-in components.
enum DefaultComponents {
  static let types = [
    "div", "container", "text", "image", "richtext", "scroller", "list", "recycle-list", "waterfall", "header", "cell",
    "cell-slot", "embed", "a", "select", "switch", "input", "textarea", "video", "indicator", "slider", "cycleslider",
    "slider-neighbor", "web", "loading", "loading-indicator", "refresh", "canvas", "hlist", "vlist", "recycler",
    "simplelist", "footer",
  ]

  /// The types, and other names for them.
  static let typesKnown = Set(types + ["img", "span"])

  static func register(_ table: inout ComponentTable) {
    for type in types { table.add(type) }
    for type in ["input", "textarea"] { table.add(type, methods: InputComponent.methods) }
    table.add("recycle-list", methods: RecycleListComponent.methods)
    // These have no effect in a host without a screen.
    for type in ["scroller", "list", "waterfall", "hlist", "vlist", "recycler", "simplelist"] {
      table.add(type, methods: ["resetLoadmore": .idle])
    }
    table.add(
      "image",
      methods: [
        "save": .answering(at: 0) { _ in ["success": false, "errorDesc": "this host has no place for pictures"] }
      ])
    table.add(
      "web",
      methods: [
        "goBack": .idle, "goForward": .idle, "postMessage": .idle,
        "reload": .deferred { call, page in page.reloadDocument(of: call.ref ?? "") },
      ])
  }

  static let table: ComponentTable = {
    var table = ComponentTable()
    register(&table)
    return table
  }()
}
