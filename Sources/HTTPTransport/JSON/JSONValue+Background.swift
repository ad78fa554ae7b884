import Dispatch

extension JSONValue {
  /// Texts and values up to this size are read and written in well under a millisecond.
  package static let smallSize = 32 << 10

  private static let queue = DispatchQueue(label: "pagekit.json")

  /// Reads a JSON text and makes a value of a type of it; a long text keeps no other task waiting.
  ///
  /// - Throws: ``JSONError``, `DecodingError`.
  package static func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, from bytes: [UInt8], limits: JSONLimits = .standard
  ) async throws -> Value {
    guard bytes.count > smallSize else { return try JSONValue(reading: bytes, limits: limits).decoded() }
    return try await queue.result { try JSONValue(reading: bytes, limits: limits).decoded() }
  }

  /// Does something with a value that takes time with its size, such as writing it; with a large value it keeps no
  /// other task waiting.
  package func encoding<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    guard isLarge else { return try work() }
    return try await Self.queue.result(work)
  }

  /// Returns `true` if the value's text is longer than about ``smallSize``, and stops counting there.
  private var isLarge: Bool {
    var size = 0
    var pending = [self]
    while let value = pending.popLast() {
      switch value {
      case .null, .bool, .integer, .number: size += 8
      case .string(let text): size += text.utf8.count
      case .array(let elements):
        guard elements.count < Self.smallSize else { return true }
        pending += elements
      case .object(let members):
        guard members.count < Self.smallSize else { return true }
        for (name, member) in members {
          size += name.utf8.count
          pending.append(member)
        }
      }
      if size + pending.count > Self.smallSize { return true }
    }
    return false
  }
}
