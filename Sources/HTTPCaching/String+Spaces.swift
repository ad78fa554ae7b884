extension StringProtocol {
  /// Without spaces and tabs at its ends. RFC 9110 §5.6.3.
  package var trimmingSpaces: String {
    let isSpace = { (byte: UInt8) in byte == 32 || byte == 9 }
    var bytes = Substring(self).utf8
    while let first = bytes.first, isSpace(first) { bytes.removeFirst() }
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return String(Substring(bytes))
  }
}
