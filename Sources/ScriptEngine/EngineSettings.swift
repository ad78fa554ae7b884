import CJavaScriptCore

/// The engine's settings, which must be made before the first context of the process.
enum EngineSettings {
  /// The signal with which the engine stops its threads. Its default, SIGUSR1, belongs to the app.
  private static let collectorSignal: Int32 = 36

  private static let applied: Bool = {
    // Without WebAssembly the engine installs no handler for SIGSEGV, so that crashes are reported as usual.
    for option in ["useWasm", "useWasmFaultSignalHandler"] { _ = jsc_options_set_boolean(option, 0) }
    return JSConfigureSignalForGC(collectorSignal)
  }()

  /// Loads the library only: the engine starts threads at its first use.
  ///
  /// - Throws: ``ScriptError/engine(_:)`` if JavaScriptCore is not installed.
  static func load() throws {
    if let reason = pk_load_javascriptcore() { throw ScriptError.engine(String(cString: reason)) }
  }

  /// - Throws: ``ScriptError/engine(_:)`` if JavaScriptCore is not installed.
  static func apply() throws {
    try load()
    _ = applied
  }
}
