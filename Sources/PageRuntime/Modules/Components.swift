import ScriptEngine

// MARK: The built-in components

extension ComponentTable {
  private static let types = [
    "div", "container", "text", "image", "richtext", "scroller", "list", "recycle-list", "waterfall", "header", "cell",
    "cell-slot", "embed", "a", "select", "switch", "input", "textarea", "video", "indicator", "slider", "cycleslider",
    "slider-neighbor", "web", "loading", "loading-indicator", "refresh", "canvas", "hlist", "vlist", "recycler",
    "simplelist", "footer",
  ]

  /// The types, and other names for them.
  static let typesKnown = Set(types + ["img", "span"])

  /// The built-in components with their methods.
  static let builtIn: ComponentTable = {
    var table = ComponentTable()
    for type in types { table.add(type) }
    for type in ["input", "textarea"] { table.add(type, methods: inputMethods) }
    table.add("recycle-list", methods: recycleListMethods)
    for type in ["scroller", "list", "waterfall", "hlist", "vlist", "recycler", "simplelist"] {
      table.add(type, methods: ["resetLoadmore": resetLoadmore])
    }
    table.add(
      "image",
      methods: [
        "save": .answering(at: 0) { _, _ in ["success": false, "errorDesc": "this host has no place for pictures"] }
      ])
    table.add(
      "web",
      methods: [
        "goBack": .idle, "goForward": .idle, "postMessage": .idle,
        "reload": .deferred { call, page in page.reloadDocument(of: call.ref ?? "") },
      ])
    return table
  }()
}

extension ComponentTable {
  /// Lets a scroller be told `loadmore` again before its content has changed.
  static let resetLoadmore = ModuleMethod.deferred { call, page in
    page.elementLayout?.resetLoadmore(of: call.ref ?? "")
  }
}

// MARK: - input and textarea

extension ComponentTable {
  /// The methods of `input` and `textarea`.
  fileprivate static let inputMethods: [String: ModuleMethod] = [
    "focus": .deferred { call, page in await page.focus(call.ref) },
    "blur": .deferred { call, page in
      if page.focusedInput == call.ref { await page.focus(nil) }
    },
    "setSelectionRange": .deferred { call, page in
      // A range that is not within the text changes nothing.
      guard let ref = call.ref, let start = call[0].int, let end = call[1].int, start >= 0,
        start <= end, end <= page.inputLength(of: ref)
      else { return }
      await page.focus(ref, selecting: start..<end)
    },
    "setTextFormatter": .idle,
    // Devices and the documentation have different names for it.
    "getSelectionRange": selection, "getEditSelectionRange": selection,
  ]

  private static let selection = ModuleMethod.answering(at: 0) { call, page in
    // Without the focus nothing is selected.
    let range = page.focusedInput == call.ref ? page.inputSelection : 0..<0
    return ["selectionStart": .number(Double(range.lowerBound)), "selectionEnd": .number(Double(range.upperBound))]
  }
}

extension PageInstance {
  /// Gives an input the focus, and takes it from the one that had it. Both get their events, as from a user.
  ///
  /// - Parameters:
  ///   - ref: the input; `nil` for none.
  ///   - selection: the new selection; `nil` for the former one, or for the end of the text if the input gets the focus.
  func focus(_ ref: String?, selecting selection: Range<Int>? = nil) async {
    if let selection { inputSelection = selection }
    guard focusedInput != ref else { return }
    let former = focusedInput
    focusedInput = ref
    let end = ref.map { inputLength(of: $0) } ?? 0
    inputSelection = selection ?? end..<end
    if let former { await tell(former, "blur", ["value": .string(inputText(of: former))]) }
    if let ref { await tell(ref, "focus", ["value": .string(inputText(of: ref))]) }
  }

  private func inputText(of ref: String) -> String { tree[ref]?.attributes["value"]?.plainText ?? "" }

  /// The length in UTF-16 units, as scripts count text.
  fileprivate func inputLength(of ref: String) -> Int { inputText(of: ref).utf16.count }
}
