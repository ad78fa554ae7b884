import ScriptEngine

/// `modal`: messages and questions.
enum ModalModule {
  static func register(_ table: inout ModuleTable) {
    add(&table, .toast) { message, call, page in
      await page.registry.handlers.modals.toast(message.text, seconds: call[0]["duration"].number ?? 3, from: page)
      return nil
    }
    add(&table, .alert) { message, _, page in
      let title = message.buttons.first ?? ""
      await page.registry.handlers.modals.alert(message.text, button: title, from: page)
      return .string(title)
    }
    add(&table, .confirm) { message, _, page in
      .string(await page.registry.handlers.modals.confirm(message.text, buttons: message.buttons, from: page))
    }
    add(&table, .prompt) { message, _, page in
      let answer = await page.registry.handlers.modals.prompt(
        message.text, preset: message.preset ?? "", buttons: message.buttons, from: page)
      return ["result": .string(answer.button), "data": .string(answer.text)]
    }
  }

  /// - Parameter body: shows the message; gives the argument of the script's callback, or `nil` if it is not called.
  private static func add(
    _ table: inout ModuleTable, _ kind: PageMessage.Kind,
    _ body: @escaping @PageActor @Sendable (PageMessage, ModuleCall, PageInstance) async -> ScriptValue?
  ) {
    table.add(
      "modal", kind.rawValue,
      .deferred { call, page in
        let message = PageMessage(kind, call[0])
        page.show(message)
        guard let answer = await body(message, call, page), let callback = call.callback(at: 1) else { return }
        try await page.callback(callback, answer)
      })
  }
}

extension PageMessage {
  /// - Parameter options: the argument of the script's call.
  fileprivate init(_ kind: Kind, _ options: ScriptValue) {
    self.init(kind: kind, text: options["message"].plainText ?? "")
    let ok = options["okTitle"].string ?? "OK"
    switch kind {
    case .toast: break
    case .alert: buttons = [ok]
    case .confirm, .prompt: buttons = [ok, options["cancelTitle"].string ?? "Cancel"]
    }
    if kind == .prompt { preset = options["default"].plainText ?? "" }
  }
}
