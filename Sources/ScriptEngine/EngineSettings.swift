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

  /// Loads the library, and nothing else: the engine starts threads as soon as it is asked for anything.
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
