import ScriptEngine

/// `locale`, `deviceInfo`, `meta`, `sdk-console-log`, `dark-scheme`, `voice-over`, `clipboard` and `instanceWrap`: the
/// device, its user and the page itself.
enum DeviceModules {
  static func register(_ table: inout ModuleTable) {
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
      "clipboard", "setString", .deferred { call, page in page.environment.clipboard.text = call[0].plainText ?? "" })
    table.add(
      "clipboard", "getString",
      .deferred { call, page in
        let text = page.environment.clipboard.text
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
