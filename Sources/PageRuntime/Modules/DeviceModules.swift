import ScriptEngine
import Synchronization

/// The device, its user and the page itself.
extension ModuleTable {
  static let locale: [String: ModuleMethod] = [
    "getLanguage": .answering(at: 0) { _, page in .string(page.configuration.language) },
    "getLanguageSync": .immediate { _, configuration in .string(configuration.language) },
    // iOS returns the languages, and Android has both forms.
    "getLanguages": .deferred(returning: { _, configuration in [.string(configuration.language)] }) { call, page in
      if let callback = call.callback(at: 0) {
        try await page.callback(callback, [.string(page.configuration.language)])
      }
    },
  ]

  static let deviceInfo: [String: ModuleMethod] = [
    "enableFullScreenHeight": .answering(at: 0) { _, page in
      ["fullScreenHeight": page.configuration.environment["deviceHeight"]]
    }
  ]

  static let meta: [String: ModuleMethod] = [
    "setViewport": .deferred { call, page in
      page.viewport = call[0]
      page.followLayout()
    },
    "getPageInfo": .answering(at: 0) { _, page in page.viewport },
    "openLog": .idle,
  ]

  static let consoleLog: [String: ModuleMethod] = [
    "switchLogLevel": .answering(at: 1) { call, _ in
      let isKnown = ["off", "error", "warning", "info", "debug"].contains(call[0])
      return ["status": isKnown ? "success" : "failure"]
    },
    "setPerfMode": .idle,
  ]

  static let darkScheme: [String: ModuleMethod] = [
    "getCurrentScheme": .immediate { _, _ in "light" }, "registerSchemeChangeListener": .idle,
    "unregisterSchemeChangeListener": .idle,
  ]

  static let voiceOver: [String: ModuleMethod] = [
    "isVoiceOverOn": .immediate { _, _ in false },
    "read": .answering(at: 1) { call, _ in
      let isEmpty = call[0]["value"].isNothing
      return [
        "success": false,
        "errorDesc": isEmpty ? "you didn't specify any value to read" : "please check the voice status",
      ]
    },
    "focusToElement": .idle,
  ]

  static let clipboard: [String: ModuleMethod] = [
    "setString": .deferred { call, page in page.environment.clipboard.withLock { $0 = call[0].plainText ?? "" } },
    "getString": .answering(at: 0) { _, page in
      ["result": "success", "data": .string(page.environment.clipboard.withLock(\.self))]
    },
  ]

  static let instanceWrap: [String: ModuleMethod] = [
    "error": .deferred { call, page in
      let texts = [call[0], call[1], call[2]].compactMap(\.plainText).filter { !$0.isEmpty }
      _ = page.fail(.refused(texts.joined(separator: ", ")))
    },
    "refresh": .deferred { _, page in try await page.reload() },
  ]
}

/// The modules of elements, animations and dialogs, for a host without a screen.
extension ModuleTable {
  static let dom: [String: ModuleMethod] = [
    "addRule": .deferred { call, page in
      if let kind = call[0].string { try await page.addRule(kind, call[1]) }
    },
    "scrollToElement": .deferred { call, page in
      if let ref = call[0].reference { page.scroll(to: ref, call[1]) }
    },
    "getComponentRect": .answering(at: 1) { call, page in await page.rect(of: call[0].reference ?? "") },
    "getLayoutDirection": .answering(at: 1) { call, page in
      .string(page.tree.direction(of: call[0].reference ?? ""))
    },
    // Frameworks call it for a component in a cell whose data has changed.
    "updateComponentData": .answering(at: 2) { call, page in
      if let id = call[0].reference, let data = call[1].object { await page.update(data, ofComponent: id) }
      return ["result": "success"]
    },
    "beginBatchMark": .idle, "endBatchMark": .idle,
  ]

  static let animation: [String: ModuleMethod] = [
    "transition": .answering(at: 2) { call, page in
      // Pages animate elements that are gone, and $refs that are undefined: the SDK tells the callback alone.
      let ref = call[0].reference ?? ""
      guard page.tree[ref] != nil else {
        return ["result": "Fail", "message": .string("No component find for ref:\(ref)")]
      }
      // Without a screen the animation is at its end at once.
      if let styles = call[1]["styles"].object { page.endAnimation(of: ref, styles) }
      return ["result": "SUCCESS", "message": ""]
    }
  ]

  static let webview = idle("goBack", "goForward", "reload", "postMessage", "notifyWebview")

  static let canvas: [String: ModuleMethod] = [
    "addDrawActions": .idle, "initTexture": .answering(at: 1) { call, _ in ["url": call[0], "width": 0, "height": 0] },
  ]

  static let picker: [String: ModuleMethod] = ["pick": cancelling, "pickDate": cancelling, "pickTime": cancelling]

  private static let cancelling = ModuleMethod.answering(at: 1) { _, _ in ["result": "cancel"] }
}

extension ElementTree {
  /// The direction in which an element is laid out, `ltr` or `rtl`: its own style's, or that of the nearest element above
  /// that has one. `unknow`, as the SDK writes it, if there is no such element.
  func direction(of ref: String) -> String {
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
