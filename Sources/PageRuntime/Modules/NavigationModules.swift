import HTTPTransport
import ScriptEngine

extension ModuleTable {
  /// `navigator`: going from page to page. Callbacks are called at once with a text, as in the SDK: the outcome of the
  /// navigation is not awaited.
  static let navigator: [String: ModuleMethod] = {
    var methods: [String: ModuleMethod] = [
      "push": .deferred { call, page in try await push(call, call[0]["url"], page, answering: call.callback(at: 1)) },
      "pop": .deferred { call, page in try await pop(call, page, answering: call.callback(at: 1)) },
      "open": .deferred { call, page in try await open(call, page) },
      "close": .deferred { call, page in try await pop(call, page, answering: call.callback(at: 1), with: [:]) },
    ]
    for name in barMethods { methods[name] = .answering(at: 1) { call, _ in barAnswer(call) } }
    return methods
  }()

  private static let success: ScriptValue = "WX_SUCCESS"
  private static let failure: ScriptValue = "WX_FAILED"
  private static let wrongArgument: ScriptValue = "WX_PARAM_ERR"

  // MARK: Going

  /// Goes to another page, after the callback has got its answer.
  @PageActor static func push(
    _ call: ModuleCall, _ target: ScriptValue, _ page: PageInstance, answering callback: String?
  ) async throws {
    guard let text = target.string, !text.isEmpty, let url = page.resolve(text) else {
      if let callback { try await page.callback(callback, wrongArgument) }
      return page.log(PageError.invalidURL(target.plainText ?? ""), of: call)
    }
    if let callback { try await page.callback(callback, success) }
    await page.going(call) {
      try await page.registry.handlers.navigator.push(url, options: call[0], from: page)
    }
  }

  @PageActor private static func pop(
    _ call: ModuleCall, _ page: PageInstance, answering callback: String?, with answer: ScriptValue = success
  ) async throws {
    if let callback { try await page.callback(callback, answer) }
    await page.going(call) {
      try await page.registry.handlers.navigator.pop(options: call[0], from: page)
    }
  }

  /// `open(options, success, failure)`.
  @PageActor private static func open(_ call: ModuleCall, _ page: PageInstance) async throws {
    guard let url = call[0]["url"].string, !url.isEmpty else {
      let answer: ScriptValue = ["result": wrongArgument, "message": "The URL parameter is empty."]
      if let callback = call.callback(at: 2) { try await page.callback(callback, answer) }
      return
    }
    try await push(call, call[0]["url"], page, answering: call.callback(at: 1))
  }

  // MARK: The bar

  private static let barMethods = ["Title", "LeftItem", "RightItem", "MoreItem", "BackgroundColor", "Hidden"].flatMap {
    $0 == "Hidden" || $0 == "BackgroundColor" ? ["setNavBar\($0)"] : ["setNavBar\($0)", "clearNavBar\($0)"]
  }

  /// The answer of a device that has a navigation bar. This host draws none.
  private static func barAnswer(_ call: ModuleCall) -> ScriptValue {
    switch call.method {
    case "setNavBarHidden": ["0", "1", 0, 1].contains(call[0]["hidden"]) ? success : failure
    case "setNavBarBackgroundColor": call[0]["backgroundColor"].isNothing ? wrongArgument : success
    case "setNavBarTitle", "setNavBarLeftItem", "setNavBarRightItem", "setNavBarMoreItem":
      call[0].object?.isEmpty ?? true ? wrongArgument : success
    default: success
    }
  }
}

extension PageInstance {
  /// Goes to another page. A failure is a line of the page's log, since the script has had its answer.
  fileprivate func going(_ call: ModuleCall, _ body: @PageActor () async throws -> Void) async {
    do {
      try await body()
    } catch is CancellationError {
      return
    } catch {
      log(error, of: call)
    }
  }

  fileprivate func log(_ error: any Error, of call: ModuleCall) {
    feed.send(.log(level: "error", text: "\(call.module).\(call.method): \(error)"))
  }
}

extension ModuleTable {
  /// `modal`: messages and questions.
  static let modal: [String: ModuleMethod] = [
    "toast": .deferred { call, page in
      let message = page.show(.toast, call[0])
      await page.registry.handlers.modals.toast(message.text, seconds: call[0]["duration"].number ?? 3, from: page)
    },
    "alert": .answering(at: 1) { call, page in
      let message = page.show(.alert, call[0])
      let title = message.buttons.first ?? ""
      await page.registry.handlers.modals.alert(message.text, button: title, from: page)
      return .string(title)
    },
    "confirm": .answering(at: 1) { call, page in
      let message = page.show(.confirm, call[0])
      return .string(await page.registry.handlers.modals.confirm(message.text, buttons: message.buttons, from: page))
    },
    "prompt": .answering(at: 1) { call, page in
      let message = page.show(.prompt, call[0])
      let answer = await page.registry.handlers.modals.prompt(
        message.text, preset: message.preset ?? "", buttons: message.buttons, from: page)
      return ["result": .string(answer.button), "data": .string(answer.text)]
    },
  ]
}

extension PageInstance {
  /// Shows a message that a script has given.
  fileprivate func show(_ kind: PageMessage.Kind, _ options: ScriptValue) -> PageMessage {
    let message = PageMessage(kind, options)
    show(message)
    return message
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
