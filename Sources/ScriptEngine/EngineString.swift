import CJavaScriptCore
import Foundation

extension String {
  /// Lends the engine a copy of the text. It lives until `body` returns.
  func withEngineString<Result>(_ body: (JSStringRef) throws -> Result) rethrows -> Result {
    let string = makeEngineString()
    defer { JSStringRelease(string) }
    return try body(string)
  }

  /// Makes a copy of the text for the engine. The caller releases it.
  func makeEngineString() -> JSStringRef {
    // The engine reads up to a zero byte.
    let plain = withCString { strlen($0) == utf8.count ? JSStringCreateWithUTF8CString($0) : nil }
    return plain ?? Self.engineString(utf16: Array(utf16))
  }

  private static func engineString(utf16 units: [UInt16]) -> JSStringRef {
    units.withUnsafeBufferPointer { JSStringCreateWithCharacters($0.baseAddress, $0.count) }
  }

  /// Takes over a string that a copying function of the engine returned.
  init(consuming string: JSStringRef) {
    defer { JSStringRelease(string) }
    let characters = UnsafeBufferPointer(
      start: JSStringGetCharactersPtr(string), count: JSStringGetLength(string))
    self = String(decoding: characters, as: UTF16.self)
  }
}
