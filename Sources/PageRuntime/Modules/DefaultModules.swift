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
  }
}
