import Foundation
import ScriptEngine

/// How the scripts of a host's pages run.
public struct ScriptConfiguration: Sendable {
  /// Texts of framework files, by the type of the bundles that they run. The built-in framework runs `vanilla` bundles.
  public var frameworks: [BundleType: String] = [:]
  /// Tells how to give the framework for a type, in terms of the program that shows the message.
  package var frameworkAdvice: @Sendable (BundleType) -> String = {
    "give the framework's text as scripts.frameworks[.\($0.rawValue.lowercased())]"
  }
  /// Texts of scripts that run in a page's context before its bundle, by the bundle's type. Rax 1 needs one: on a device
  /// it is `weex-rax-api.js`.
  public var preludes: [BundleType: String] = [:]
  /// Tells how to give the prelude for a type, in terms of the program that shows the message.
  package var preludeAdvice: @Sendable (BundleType) -> String = {
    "give the script's text as scripts.preludes[.\($0.rawValue.lowercased())]"
  }
  /// The number of engines that are kept booted for the next page, for each type of bundle that was opened. They are booted
  /// in the background, once no page has opened for 50 ms.
  public var ready = 1
  /// Runs a page that is not shown in each of these engines, so that the first page of an engine opens faster.
  public var primes = true
  /// The number of engines that are kept of pages that have ended, for the same bundle's next opening. The least recently
  /// used goes first.
  public var kept = 4
  /// The limits of one entry into a script: processor time and memory.
  public var limits = ScriptLimits()
  /// The number of entries into scripts that run at once, of all pages, and of pages that open at once; others wait for
  /// their turn. What takes longer than 0.1 s makes room for the next, and goes on. The default is the number of processors.
  public var entriesAtOnce = ProcessInfo.processInfo.activeProcessorCount
  /// The `WXEnvironment` that frameworks see. `__enable_native_promise__` is added if it is missing. A host sets it from
  /// its device.
  package var environment: ScriptValue = [:]
  /// Hears on the script's thread when the script of a page, given by its id, is entered (`true`) and left (`false`):
  /// before and after everything that the script does.
  package var observer: (@Sendable (_ page: String, _ isEntered: Bool) -> Void)?

  /// The defaults.
  public init() {}
}
