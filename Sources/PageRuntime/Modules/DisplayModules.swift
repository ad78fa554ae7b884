import ScriptEngine

/// `dom`, `animation`, `webview`, `canvas` and `picker`, as a host without a screen has them.
enum DisplayModules {
  static func register(_ table: inout ModuleTable) {
    table.add(
      "dom", "addRule",
      .deferred { call, page in
        guard let kind = call[0].string else { return }
        try await page.addRule(kind, call[1])
      })
    table.add(
      "dom", "scrollToElement",
      .deferred { call, page in
        if let ref = call[0].reference { page.scrollTarget = ref }
      })
    table.add(
      "dom", "getComponentRect",
      .deferred { call, page in
        guard let callback = call.callback(at: 1) else { return }
        try await page.callback(callback, await page.rect(of: call[0].reference ?? ""))
      })
    table.add(
      "dom", "getLayoutDirection",
      .deferred { call, page in
        guard let callback = call.callback(at: 1) else { return }
        try await page.callback(callback, .string(page.tree.direction(of: call[0].reference ?? "")))
      })
    for name in ["beginBatchMark", "endBatchMark"] { table.add("dom", name, .idle) }
    table.add(
      "animation", "transition",
      .deferred { call, page in
        // Pages animate elements that are gone, and $refs that are undefined: the SDK tells the callback alone.
        let ref = call[0].reference ?? ""
        let isThere = page.tree[ref] != nil
        // Without a screen the animation is at its end at once.
        if isThere, let styles = call[1]["styles"].object { page.settleAnimation(of: ref, styles) }
        if let callback = call.callback(at: 2) {
          let answer: ScriptValue =
            isThere
            ? ["result": "SUCCESS", "message": ""]
            : ["result": "Fail", "message": .string("No component find for ref:\(ref)")]
          try await page.callback(callback, answer)
        }
      })
    for name in ["goBack", "goForward", "reload", "postMessage", "notifyWebview"] { table.add("webview", name, .idle) }
    table.add("canvas", "addDrawActions", .idle)
    table.add("canvas", "initTexture", .answering(at: 1) { ["url": $0[0], "width": 0, "height": 0] })
    for name in ["pick", "pickDate", "pickTime"] {
      table.add(
        "picker", name,
        .deferred { call, page in
          if let callback = call.callback(at: 1) { try await page.callback(callback, ["result": "cancel"]) }
        })
    }
  }
}

extension ElementTree {
  /// The direction in which an element is laid out, `ltr` or `rtl`: its own style's, or that of the nearest element above
  /// that has one. `unknow`, as the SDK writes it, if there is no such element.
  fileprivate func direction(of ref: String) -> String {
    guard ref != "viewport" else { return "ltr" }
    guard self[ref] != nil else { return "unknow" }
    var next = self[ref]
    while let element = next {
      if let direction = element.style["direction"]?.string, ["ltr", "rtl"].contains(direction) { return direction }
      next = element.parent.flatMap { self[$0] }
    }
    return "ltr"
  }
}
