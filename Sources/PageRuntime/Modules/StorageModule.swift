import ScriptEngine

extension ModuleTable {
  /// `storage`: texts by key. The calls of all pages of a host run one after the other, as on devices.
  static let storage: [String: ModuleMethod] = [
    "getItem": storing(callbackAt: 1) { call, storage in
      guard let value = try await storage.value(for: try key(call)) else { return failed("undefined") }
      return success(.string(value))
    },
    "setItem": setting, "setItemPersistent": setting,
    "removeItem": storing(callbackAt: 1) { call, storage in
      try await storage.removeValue(for: try key(call)) ? success("undefined") : failed("undefined")
    },
    "length": storing(callbackAt: 0) { _, storage in success(.number(Double(try await storage.keys().count))) },
    "getAllKeys": storing(callbackAt: 0) { _, storage in success(try await storage.keys().scriptValue) },
  ]

  private static let setting = storing(callbackAt: 2) { call, storage in
    try await storage.setValue(call[1].plainText ?? call[1].jsonText, for: try key(call))
    return success("undefined")
  }

  private static func storing(
    callbackAt index: Int, _ body: @escaping @Sendable (ModuleCall, any StorageProviding) async throws -> ScriptValue
  ) -> ModuleMethod {
    .answering(at: index) { call, page in
      let storage = page.registry.handlers.storage.values(of: page.partition)
      return await page.environment.inTurn {
        do {
          return try await body(call, storage)
        } catch {
          return failed(.string("\(error)"))
        }
      }
    }
  }

  private static func key(_ call: ModuleCall) throws -> String {
    guard let key = call[0].plainText, !key.isEmpty else {
      throw ScriptError.wrongArgument(index: 0, expected: "a key that is not empty", found: call[0].kind)
    }
    return key
  }

  private static func success(_ data: ScriptValue) -> ScriptValue { ["result": "success", "data": data] }
  private static func failed(_ data: ScriptValue) -> ScriptValue { ["result": "failed", "data": data] }
}

extension PageEnvironment {
  /// Runs a call of the storage after the earlier ones, in the order in which they came. It goes on when the task that
  /// waits for it is cancelled: a page that was closed has stored what it set.
  @PageActor fileprivate func inTurn(_ call: @escaping @Sendable () async -> ScriptValue) async -> ScriptValue {
    let turn = Task { [last = lastStorageCall] in
      _ = await last?.value
      return await call()
    }
    lastStorageCall = turn
    return await turn.value
  }
}
