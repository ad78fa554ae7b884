extension String {
  /// Returns the text with its bytes percent-encoded, in upper case, except those that are allowed. RFC 3986 §2.1.
  ///
  /// - Parameter keepsEscapes: `true` if `%` and two hexadecimal digits stay as they are.
  package func percentEncoded(keepingEscapes keepsEscapes: Bool = false, where isAllowed: (UInt8) -> Bool) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(utf8.count)
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      if isAllowed(byte) || keepsEscapes && byte == UInt8(ascii: "%") && rest.beginsWithHexByte != nil {
        result.append(byte)
      } else {
        result.append(percentEncoded: byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns the text with all bytes except unreserved ones percent-encoded.
  package var percentEncoded: String { percentEncoded { $0.isUnreserved } }

  /// Returns the text with its escapes as RFC 3986 §6.2.2.1 and §6.2.2.2 normalise them: in upper case, and none for
  /// unreserved characters.
  var normalisingEscapes: String {
    guard utf8.contains(UInt8(ascii: "%")) else { return self }
    var result: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%"), let value = rest.beginsWithHexByte else {
        result.append(byte)
        continue
      }
      rest = rest.dropFirst(2)
      if value.isUnreserved { result.append(value) } else { result.append(percentEncoded: value) }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

extension Substring {
  /// The bytes that the text stands for; they need not be text. A `%` without two hexadecimal digits stands for itself.
  package var percentDecodedBytes: [UInt8] {
    var result: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = rest.beginsWithHexByte {
        result.append(value)
        rest = rest.dropFirst(2)
      } else {
        result.append(byte)
      }
    }
    return result
  }
}

extension Substring.UTF8View {
  /// The byte that the first two hexadecimal digits stand for; `nil` if the text does not begin with two of them.
  fileprivate var beginsWithHexByte: UInt8? {
    String(prefix(2)).flatMap { Hex.decode($0, count: 1)?.first }
  }
}

extension [UInt8] {
  fileprivate mutating func append(percentEncoded byte: UInt8) {
    self += Array("%\(Hex.encode([byte]).uppercased())".utf8)
  }
}

extension UInt8 {
  /// RFC 3986 §2.3: letters, digits, `-`, `.`, `_` and `~`.
  @inlinable
  package var isUnreserved: Bool {
    switch self {
    case 48...57, 65...90, 97...122, 0x2D, 0x2E, 0x5F, 0x7E: true
    default: false
    }
  }

  /// RFC 3986 §3.3: the characters of a path's segments, and the separator.
  @inlinable
  package var isPathCharacter: Bool {
    switch self {
    case 0x21, 0x24, 0x26...0x2F, 0x3A, 0x3B, 0x3D, 0x40: true  // ! $ &'()*+,-./ : ; = @
    default: isUnreserved
    }
  }
}
