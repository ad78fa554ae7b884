import HTTPCache
import HTTPTransport
import ScriptEngine

/// Hears of scripts' errors.
public protocol ScriptExceptionHandling: Sendable {
  func handle(_ exception: ScriptException, page: String, url: PageURL?)
}

/// Hears how pages' openings went.
public protocol Monitoring: Sendable {
  func record(_ timings: PageTimings, page: String, url: PageURL?)
}

/// Goes from page to page.
public protocol Navigating: Sendable {
  /// - Throws: what the script is told.
  @PageActor func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws
  @PageActor func pop(options: ScriptValue, from page: PageInstance) async throws
}

/// Keeps what scripts store by name.
public protocol StorageProviding: Sendable {
  func value(for key: String) async throws -> String?
  func setValue(_ value: String, for key: String) async throws
  /// - Returns: whether there was one.
  func removeValue(for key: String) async throws -> Bool
  func keys() async throws -> [String]
  /// What it keeps for one user's pages. A storage that knows one user only is the same for all.
  func values(of partition: CachePartition) -> any StorageProviding
}

extension StorageProviding {
  public func values(of partition: CachePartition) -> any StorageProviding { self }
}

/// Shows short messages and questions.
public protocol ModalPresenting: Sendable {
  @PageActor func toast(_ message: String, seconds: Double, from page: PageInstance) async
  @PageActor func alert(_ message: String, button: String, from page: PageInstance) async
  /// - Returns: the title of the button that was chosen.
  @PageActor func confirm(_ message: String, buttons: [String], from page: PageInstance) async -> String
  /// - Returns: the button's title, and what was typed.
  @PageActor func prompt(_ message: String, preset: String, buttons: [String], from page: PageInstance) async
    -> (button: String, text: String)
}

/// What scripts learn of the device and the app: `WXEnvironment`.
public protocol ConfigurationProviding: Sendable {
  var environment: ScriptValue { get }
  /// As `locale.getLanguage` gives it: `en-GB`.
  var language: String { get }
}
