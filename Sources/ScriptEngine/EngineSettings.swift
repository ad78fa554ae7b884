import CJavaScriptCore

/// What has to be set before the first context of the process.
enum EngineSettings {
  /// The signal with which the engine stops its threads; its own choice, SIGUSR1, belongs to the app.
  private static let collectorSignal: Int32 = 36

  private static let applied: Bool = {
    // Without WebAssembly the engine installs no handler for SIGSEGV: a crash stays the process's own.
    for option in ["useWasm", "useWasmFaultSignalHandler"] { _ = jsc_options_set_boolean(option, 0) }
    return JSConfigureSignalForGC(collectorSignal)
  }()

  static func apply() { _ = applied }
}
