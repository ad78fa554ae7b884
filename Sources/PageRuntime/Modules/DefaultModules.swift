/// The modules that bundles find without anybody registering them.
enum DefaultModules {
  static func register(_ table: inout ModuleTable) {
    TimerModule.register(&table)
  }
}
