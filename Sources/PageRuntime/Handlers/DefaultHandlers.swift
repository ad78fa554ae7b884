import Foundation
import HTTPTransport
import Logging
import ScriptEngine

/// Writes scripts' errors to a log.
public struct LoggedExceptions: ScriptExceptionHandling {
  private let logger: Logger

  public init(_ logger: Logger = Logger(label: "pagekit.script")) { self.logger = logger }

  public func handle(_ exception: ScriptException, page: String, url: PageURL?) {
    logger.error("\(exception)", metadata: ["page": "\(page)", "url": "\(url?.text ?? "")"])
  }
}

/// Goes nowhere, and says so to the script.
public struct NoNavigation: Navigating {
  public init() {}

  public func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws {
    throw ScriptError.engine("this host shows one page at a time: \(url) was not opened")
  }

  public func pop(options: ScriptValue, from page: PageInstance) async throws {
    throw ScriptError.engine("this host shows one page at a time")
  }
}

/// Agrees to everything at once: the first button is chosen.
public struct SilentModals: ModalPresenting {
  public init() {}

  public func toast(_ message: String, seconds: Double, from page: PageInstance) async {}
  public func alert(_ message: String, button: String, from page: PageInstance) async {}

  public func confirm(_ message: String, buttons: [String], from page: PageInstance) async -> String {
    buttons.first ?? ""
  }

  public func prompt(
    _ message: String, preset: String, buttons: [String], from page: PageInstance
  ) async -> (button: String, text: String) {
    (buttons.first ?? "", preset)
  }
}

/// Keeps values for as long as the process lives.
public actor MemoryStorage: StorageProviding {
  private var values: [String: String] = [:]

  public init() {}

  public func value(for key: String) -> String? { values[key] }
  public func setValue(_ value: String, for key: String) { values[key] = value }
  public func removeValue(for key: String) -> Bool { values.removeValue(forKey: key) != nil }
  public func keys() -> [String] { values.keys.sorted() }
}

/// What a host without a screen says of itself.
public struct DefaultConfiguration: ConfigurationProviding {
  private let values: [String: ScriptValue]
  public let language: String

  /// - Parameter values: more members of `WXEnvironment`, or others.
  public init(_ values: [String: ScriptValue] = [:], language: String = "en") {
    self.language = language
    self.values = Self.defaults.merging(values) { $1 }
  }

  /// - Parameter texts: members as people write them. Each is JSON where it can be read as that, else text; what is
  ///   text by default, as `appVersion`, stays text.
  public init(texts: [String: String], language: String = "en") {
    let values = texts.map { name, text in
      let value = ScriptValue(json: text)
      let isText = Self.defaults[name]?.string != nil && value?.string == nil
      return (name, isText ? .string(text) : value ?? .string(text))
    }
    self.init(Dictionary(values) { $1 }, language: language)
  }

  private static let defaults: [String: ScriptValue] = [
    "platform": "iOS", "osName": "Linux", "osVersion": "1", "weexVersion": "0.28.0", "deviceModel": "PageKit",
    "appName": "PageKit", "appVersion": "1", "deviceWidth": 750, "deviceHeight": 1334, "scale": 2,
  ]

  public var environment: ScriptValue { .object(values) }
}
