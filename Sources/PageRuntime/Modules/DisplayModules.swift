import ScriptEngine

/// `dom`, `animation`, `webview` and `picker`, as a host without a screen has them.
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
      "animation", "transition",
      .deferred { call, page in
        // Without a screen the animation is at its end at once.
        if let ref = call[0].reference, let styles = call[1]["styles"].object { page.settleAnimation(of: ref, styles) }
        if let callback = call.callback(at: 2) {
          try await page.callback(callback, ["result": "SUCCESS", "message": ""])
        }
      })
    for name in ["goBack", "goForward", "reload"] { table.add("webview", name, .deferred { _, _ in }) }
    for name in ["pick", "pickDate", "pickTime"] {
      table.add(
        "picker", name,
        .deferred { call, page in
          if let callback = call.callback(at: 1) { try await page.callback(callback, ["result": "cancel"]) }
        })
    }
  }
}
