import Dispatch

extension JSONValue {
  /// The size up to which texts and values are read and written in less than a millisecond, in bytes.
  package static let smallSize = 32 << 10

  private static let queue = DispatchQueue(label: "pagekit.json")

  /// Reads a JSON text and decodes a value of a type. A long text is read on a queue, so that other tasks go on.
  ///
  /// - Throws: ``JSONError``, `DecodingError`.
  package static func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, from bytes: [UInt8], limits: JSONLimits = .standard
  ) async throws -> Value {
    guard bytes.count > smallSize else { return try JSONValue(reading: bytes, limits: limits).decoded() }
    return try await queue.result { try JSONValue(reading: bytes, limits: limits).decoded() }
  }

  /// Runs work whose time depends on the value's size, such as writing it. For a large value it runs on a queue, so
  /// that other tasks go on.
  package func encoding<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    guard isLarge else { return try work() }
    return try await Self.queue.result(work)
  }

  /// `true` if the value's text is longer than about ``smallSize``; counting stops there.
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
