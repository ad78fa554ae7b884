import ScriptEngine

/// `modal`: messages and questions.
enum ModalModule {
  static func register(_ table: inout ModuleTable) {
    table.add(
      "modal", "toast",
      .deferred { call, page in
        await page.registry.handlers.modals.toast(
          call[0]["message"].plainText ?? "", seconds: call[0]["duration"].number ?? 3, from: page)
      })
    table.add(
      "modal", "alert",
      .deferred { call, page in
        let title = call[0]["okTitle"].string ?? "OK"
        await page.registry.handlers.modals.alert(call[0]["message"].plainText ?? "", button: title, from: page)
        if let callback = call.callback(at: 1) { try await page.callback(callback, .string(title)) }
      })
    table.add(
      "modal", "confirm",
      .deferred { call, page in
        let chosen = await page.registry.handlers.modals.confirm(
          call[0]["message"].plainText ?? "", buttons: buttons(call[0]), from: page)
        if let callback = call.callback(at: 1) { try await page.callback(callback, .string(chosen)) }
      })
    table.add(
      "modal", "prompt",
      .deferred { call, page in
        let answer = await page.registry.handlers.modals.prompt(
          call[0]["message"].plainText ?? "", preset: call[0]["default"].plainText ?? "", buttons: buttons(call[0]),
          from: page)
        guard let callback = call.callback(at: 1) else { return }
        try await page.callback(callback, ["result": .string(answer.button), "data": .string(answer.text)])
      })
  }

  private static func buttons(_ options: ScriptValue) -> [String] {
    [options["okTitle"].string ?? "OK", options["cancelTitle"].string ?? "Cancel"]
  }
}
