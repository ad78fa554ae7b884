import ScriptEngine

/// `locale`, `deviceInfo`, `meta`, `clipboard` and `instanceWrap`: the device, its user and the page itself.
enum DeviceModules {
  static func register(_ table: inout ModuleTable) {
    for name in ["getLanguage", "getLanguages"] {
      table.add(
        "locale", name,
        .deferred { call, page in
          let language = page.configuration.language
          let answer: ScriptValue = name == "getLanguage" ? .string(language) : [.string(language)]
          if let callback = call.callback(at: 0) { try await page.callback(callback, answer) }
        })
    }
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
