import ScriptEngine
import Synchronization

/// `locale`, `deviceInfo`, `meta`, `sdk-console-log`, `dark-scheme`, `voice-over`, `clipboard` and `instanceWrap`: the
/// device, its user and the page itself.
extension ModuleTable {
  static func addDevice(to table: inout ModuleTable) {
    table.add(
      "locale", "getLanguage",
      .deferred { call, page in
        if let callback = call.callback(at: 0) {
          try await page.callback(callback, .string(page.configuration.language))
        }
      })
    table.add("locale", "getLanguageSync", .immediate { _, configuration in .string(configuration.language) })
    // iOS returns the languages, and Android has both forms.
    table.add(
      "locale", "getLanguages",
      .deferred(returning: { _, configuration in [.string(configuration.language)] }) { call, page in
        if let callback = call.callback(at: 0) {
          try await page.callback(callback, [.string(page.configuration.language)])
        }
      })
    table.add(
      "deviceInfo", "enableFullScreenHeight",
      .deferred { call, page in
        let height = page.configuration.environment["deviceHeight"]
        if let callback = call.callback(at: 0) { try await page.callback(callback, ["fullScreenHeight": height]) }
      })
    table.add("meta", "setViewport", .deferred { call, page in page.viewport = call[0] })
    table.add(
      "meta", "getPageInfo",
      .deferred { call, page in
        if let callback = call.callback(at: 0) { try await page.callback(callback, page.viewport) }
      })
    table.add("meta", "openLog", .idle)
    table.add(
      "sdk-console-log", "switchLogLevel",
      .answering(at: 1) { call in
        let isKnown = ["off", "error", "warning", "info", "debug"].contains(call[0])
        return ["status": isKnown ? "success" : "failure"]
      })
    table.add("sdk-console-log", "setPerfMode", .idle)
    table.add("dark-scheme", "getCurrentScheme", .immediate { _, _ in "light" })
    for name in ["registerSchemeChangeListener", "unregisterSchemeChangeListener"] {
      table.add("dark-scheme", name, .idle)
    }
    table.add("voice-over", "isVoiceOverOn", .immediate { _, _ in false })
    table.add(
      "voice-over", "read",
      .answering(at: 1) { call in
        let isEmpty = call[0]["value"].isNothing
        return [
          "success": false,
          "errorDesc": isEmpty ? "you didn't specify any value to read" : "please check the voice status",
        ]
      })
    table.add("voice-over", "focusToElement", .idle)
    table.add(
      "clipboard", "setString",
      .deferred { call, page in page.environment.clipboard.withLock { $0 = call[0].plainText ?? "" } })
    table.add(
      "clipboard", "getString",
      .deferred { call, page in
        let text = page.environment.clipboard.withLock(\.self)
        guard let callback = call.callback(at: 0) else { return }
        try await page.callback(callback, ["result": "success", "data": .string(text)])
      })
    table.add(
      "instanceWrap", "error",
      .deferred { call, page in
        let texts = [call[0], call[1], call[2]].compactMap(\.plainText).filter { !$0.isEmpty }
        _ = page.fail(.refused(texts.joined(separator: ", ")))
      })
    table.add(
      "instanceWrap", "refresh", .deferred { _, page in try await page.reload() })
  }
}

/// `dom`, `animation`, `webview`, `canvas` and `picker`, as a host without a screen has them.
extension ModuleTable {
  static func addDisplay(to table: inout ModuleTable) {
    table.add(
      "dom", "addRule",
      .deferred { call, page in
        guard let kind = call[0].string else { return }
        await page.addRule(kind, call[1])
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
    // Frameworks call it for a component in a cell whose data has changed.
    table.add(
      "dom", "updateComponentData",
      .deferred { call, page in
        if let id = call[0].reference, let data = call[1].object { await page.update(data, ofComponent: id) }
        if let callback = call.callback(at: 2) { try await page.callback(callback, ["result": "success"]) }
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
