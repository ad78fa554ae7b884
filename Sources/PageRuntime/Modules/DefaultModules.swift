/// The built-in modules.
enum DefaultModules {
  static func register(_ table: inout ModuleTable) {
    TimerModule.register(&table)
    StreamModule.register(&table)
    StorageModule.register(&table)
    ModalModule.register(&table)
    NavigationModules.register(&table)
    GlobalEventModule.register(&table)
    DeviceModules.register(&table)
    DisplayModules.register(&table)
    ChannelModule.register(&table)
    WebSocketModule.register(&table)
    // Every module of the SDK may have events of its own. Here none fires one.
    for module in table.modules.keys {
      for name in common where table[module, name] == nil { table.add(module, name, .idle) }
    }
  }

  /// The methods that every module has.
  static let common = ["addEventListener", "removeAllEventListeners"]
}
