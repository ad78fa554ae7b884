import Foundation
import HTTPCache
import HTTPCaching
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

/// Refuses every navigation, with a reason for the page's log.
package struct NoNavigation: Navigating {
  package init() {}

  package func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws {
    throw ScriptError.engine("this host shows one page at a time: \(url) was not opened")
  }

  package func pop(options: ScriptValue, from page: PageInstance) async throws {
    throw ScriptError.engine("this host shows one page at a time")
  }
}

/// Shows nothing, and chooses the first button of every question at once.
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

/// Stores scripts' values in memory, until the process ends.
package actor MemoryStorage: StorageProviding {
  private var values: [String: String] = [:]

  package init() {}

  package func value(for key: String) -> String? { values[key] }
  package func setValue(_ value: String, for key: String) { values[key] = value }
  package func removeValue(for key: String) -> Bool { values.removeValue(forKey: key) != nil }
  package func keys() -> [String] { values.keys.sorted() }
}

/// The description of the device and the app that scripts get.
///
/// `WXEnvironment` has `platform`, `osName`, `osVersion`, `weexVersion`, `deviceModel`, `appName`, `appVersion`,
/// `deviceWidth`, `deviceHeight` and `scale`, and the members that are given.
public struct DefaultConfiguration: Sendable {
  private let values: [String: ScriptValue]
  /// The language tag that `locale.getLanguage` gives.
  public let language: String

  /// Makes a configuration with the default environment, changed.
  ///
  /// - Parameters:
  ///   - values: members of `WXEnvironment`; they replace the default ones of the same name.
  ///   - language: a language tag (RFC 5646).
  public init(_ values: [String: ScriptValue] = [:], language: String = "en") {
    self.language = language
    self.values = Self.defaults.merging(values) { $1 }
  }

  /// - Parameter texts: members as a person writes them. A text that is JSON becomes that value. A member that is text by
  ///   default, such as `appVersion`, stays text.
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

  /// The object that scripts see as `WXEnvironment`.
  public var environment: ScriptValue { .object(values) }
}

/// Stores scripts' values in a region of the response cache, where they are never evicted.
package struct CacheStorage: StorageProviding {
  private let region: @Sendable () throws -> ResponseCache
  private let partition: CachePartition

  /// - Parameters:
  ///   - partition: the user whose values they are.
  ///   - region: returns the region, which is opened when a script first uses the storage.
  package init(partition: CachePartition = .private, in region: @escaping @Sendable () throws -> ResponseCache) {
    self.region = region
    self.partition = partition
  }

  package func values(of partition: CachePartition) -> any StorageProviding {
    CacheStorage(partition: partition, in: region)
  }

  package func value(for key: String) async throws -> String? {
    let region = try self.region()
    guard let found = await region.response(forKey: key, in: partition), let body = await region.body(of: found) else {
      return nil
    }
    return String(decoding: try body.read(at: 0, upTo: Int(body.count)), as: UTF8.self)
  }

  package func setValue(_ value: String, for key: String) async throws {
    let region = try self.region()
    // The key is kept before its value is stored, so that the value is durable at once.
    try await region.keep(CacheKey(named: key, in: partition))
    guard await region.store(Array(value.utf8), forKey: key, in: partition, at: .now) != nil else {
      throw DescribedError("\"\(key)\" could not be stored")
    }
  }

  package func removeValue(for key: String) async throws -> Bool {
    let region = try self.region()
    let wasThere = await region.response(forKey: key, in: partition) != nil
    try await region.remove(for: CacheKey(named: key, in: partition))
    return wasThere
  }

  package func keys() async throws -> [String] {
    try await region().store.list().map(\.key).filter { $0.partition == partition }.compactMap(\.storageName).sorted()
  }
}

extension CacheKey {
  /// The name that the key was made with; `nil` for the key of a URL.
  fileprivate var storageName: String? { name.hasPrefix("key:") ? String(name.dropFirst(4)) : nil }
}
