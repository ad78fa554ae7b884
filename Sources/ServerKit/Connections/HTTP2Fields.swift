import CNghttp2
import HTTPTransport
import HTTPTypes
import NIOCore

/// The fields of one head of HTTP/2 in their order, as bytes: before each are its flags and the lengths of its name and
/// its value.
///
/// Pseudo-fields are among them (RFC 9113 §8.3). Equal heads have equal bytes, which equal no head of HTTP/1.
struct HTTP2Fields: Sendable {
  /// A field that no table keeps: a value that does not come again would push others out of the client's.
  private static let isUnindexed: UInt8 = 1
  /// The bytes of a field beside its name and value: its flags and its lengths.
  static let overhead = 9

  private(set) var bytes = ByteBuffer()
  private(set) var count = 0

  init() {}

  /// The head of a response. Fields that belong to connections are left out: HTTP/2 has none. RFC 9113 §8.2.2.
  init(_ head: HTTPResponse) {
    bytes.reserveCapacity(1024)
    add(":status", String(head.status.code))
    add(head.headerFields)
  }

  /// Trailers.
  init(trailers: HTTPFields) { add(trailers) }

  private mutating func add(_ fields: HTTPFields) {
    for field in fields where Self.permits(field.name) {
      add(field.name.canonicalName, field.value, isIndexed: field.indexingStrategy == .automatic)
    }
  }

  /// Returns `false` for a field that belongs to a connection of HTTP/1.
  static func permits(_ name: HTTPField.Name) -> Bool {
    switch name {
    case .connection, .transferEncoding, .upgrade: false
    default: name.canonicalName != "keep-alive" && name.canonicalName != "proxy-connection"
    }
  }

  mutating func removeAll() {
    bytes.clear()
    count = 0
  }

  /// - Parameters:
  ///   - name: in lowercase.
  ///   - value: may contain bytes that are not UTF-8, as ``OpaqueText`` has them.
  mutating func add(_ name: String, _ value: String, isIndexed: Bool = true) {
    func add(_ value: [UInt8]) {
      Array(name.utf8).withUnsafeBytes { name in
        value.withUnsafeBytes { self.add(name: name, value: $0, isIndexed: isIndexed) }
      }
    }
    add(OpaqueText.hasEscapes(value) ? OpaqueText.bytes(of: value.utf8) : Array(value.utf8))
  }

  mutating func add(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isIndexed: Bool = true) {
    let size = Self.overhead + name.count + value.count
    bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { place in
      place[0] = isIndexed ? 0 : Self.isUnindexed
      place.storeBytes(of: UInt32(clamping: name.count), toByteOffset: 1, as: UInt32.self)
      place.storeBytes(of: UInt32(clamping: value.count), toByteOffset: 5, as: UInt32.self)
      place[Self.overhead...].copyBytes(from: name)
      place[(Self.overhead + name.count)...].copyBytes(from: value)
      return size
    }
    count += 1
  }

  /// Calls a function with the names and the values, one after the other.
  private static func forEach(
    in bytes: UnsafeRawBufferPointer,
    _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ flags: UInt8) -> Void
  ) {
    func length(at index: Int) -> Int {
      Int(bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
    }
    var index = 0
    while index + overhead <= bytes.count {
      let (name, value) = (length(at: index + 1), length(at: index + 5))
      let start = index + overhead
      body(
        UnsafeRawBufferPointer(rebasing: bytes[start..<start + name]),
        UnsafeRawBufferPointer(rebasing: bytes[start + name..<start + name + value]), bytes[index])
      index = start + name + value
    }
  }

  /// Calls a function with the fields as libnghttp2 takes them.
  ///
  /// - Parameter changed: further values, which take the places of those of the fields with these numbers.
  func withPairs<Result>(
    changed: [(index: Int, value: String)] = [], _ body: (UnsafeMutableBufferPointer<nghttp2_nv>) -> Result
  ) -> Result {
    let values = changed.flatMap { Array($0.value.utf8) }
    return values.withUnsafeBytes { values in
      bytes.withUnsafeReadableBytes { bytes in
        withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: count) { pairs in
          var next = 0
          Self.forEach(in: bytes) { name, value, flags in
            guard next < pairs.count else { return }
            let isIndexed = flags & Self.isUnindexed == 0
            pairs.initializeElement(
              at: next,
              to: nghttp2_nv(
                name: Self.pointer(name), value: Self.pointer(value), namelen: name.count, valuelen: value.count,
                flags: UInt8((isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX).rawValue)))
            next += 1
          }
          var start = 0
          for (index, value) in changed {
            let end = start + value.utf8.count
            pairs[index].value = Self.pointer(UnsafeRawBufferPointer(rebasing: values[start..<end]))
            pairs[index].valuelen = end - start
            start = end
          }
          return body(pairs)
        }
      }
    }
  }

  /// libnghttp2 only reads these bytes; its declaration does not say so.
  private static func pointer(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<UInt8>? {
    bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0.assumingMemoryBound(to: UInt8.self)) }
  }

  // MARK: Requests

  /// The request that these fields are the head of, which libnghttp2 has checked.
  ///
  /// - Returns: `nil` if it has no method.
  var request: HTTPRequest? {
    var pseudo: [String: String] = [:]
    var fields = HTTPFields()
    fields.reserveCapacity(count)
    bytes.withUnsafeReadableBytes { bytes in
      Self.forEach(in: bytes) { name, value, _ in
        let text = String(decoding: name, as: UTF8.self)
        let value = OpaqueText.string(of: value)
        if text.utf8.first == UInt8(ascii: ":") {
          pseudo[text] = value
        } else if let name = HTTPField.Name(text) {
          fields.append(HTTPField(name: name, value: value))
        }
      }
    }
    guard let method = pseudo[":method"].flatMap({ HTTPRequest.Method($0) }) else { return nil }
    return HTTPRequest(
      method: method, scheme: pseudo[":scheme"], authority: pseudo[":authority"], path: pseudo[":path"],
      headerFields: fields)
  }

  /// The trailers that these fields are.
  var trailers: HTTPFields {
    var fields = HTTPFields()
    bytes.withUnsafeReadableBytes { bytes in
      Self.forEach(in: bytes) { name, value, _ in
        guard let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) else { return }
        fields.append(HTTPField(name: name, value: OpaqueText.string(of: value)))
      }
    }
    return fields
  }
}
