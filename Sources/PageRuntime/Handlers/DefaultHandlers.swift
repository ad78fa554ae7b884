import Foundation
import HTTPTransport
import Logging
import ScriptEngine

/// Writes scripts' errors to a log.
package struct LoggedExceptions: ScriptExceptionHandling {
  private let logger: Logger

  package init(_ logger: Logger = Logger(label: "pagekit.script")) { self.logger = logger }

  package func handle(_ exception: ScriptException, page: String, url: PageURL?) {
    logger.error("\(exception)", metadata: ["page": "\(page)", "url": "\(url?.text ?? "")"])
  }
}

/// Goes nowhere, and says so to the script.
package struct NoNavigation: Navigating {
  package init() {}

  package func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws {
    throw ScriptError.engine("this host shows one page at a time: \(url) was not opened")
  }

  package func pop(options: ScriptValue, from page: PageInstance) async throws {
    throw ScriptError.engine("this host shows one page at a time")
  }
}

/// Agrees to everything at once: the first button is chosen.
package struct SilentModals: ModalPresenting {
  package init() {}

  package func toast(_ message: String, seconds: Double, from page: PageInstance) async {}
  package func alert(_ message: String, button: String, from page: PageInstance) async {}

  package func confirm(_ message: String, buttons: [String], from page: PageInstance) async -> String {
    buttons.first ?? ""
  }

  package func prompt(
    _ message: String, preset: String, buttons: [String], from page: PageInstance
  ) async -> (button: String, text: String) {
    (buttons.first ?? "", preset)
  }
}

/// Keeps values for as long as the process lives.
package actor MemoryStorage: StorageProviding {
  private var values: [String: String] = [:]

  package init() {}

  package func value(for key: String) -> String? { values[key] }
  package func setValue(_ value: String, for key: String) { values[key] = value }
  package func removeValue(for key: String) -> Bool { values.removeValue(forKey: key) != nil }
  package func keys() -> [String] { values.keys.sorted() }
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
  package init(texts: [String: String], language: String = "en") {
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
