extension Int64 {
  /// Reads a number of bytes, without or with a unit of powers of 1024: `65536`, `256MB`, `1.5GiB`. Returns `nil` if
  /// the text is not a size, or is one of a petabyte or more.
  package init?(size text: String) {
    let units: [(String, Double)] = [
      ("kib", 1024), ("mib", 1_048_576), ("gib", 1_073_741_824),
      ("kb", 1024), ("mb", 1_048_576), ("gb", 1_073_741_824),
      ("k", 1024), ("m", 1_048_576), ("g", 1_073_741_824), ("b", 1), ("", 1),
    ]
    let text = text.lowercased()
    guard let (unit, scale) = units.first(where: { text.hasSuffix($0.0) }),
      let number = Double(decimal: text.dropLast(unit.count)), number * scale < 1e15
    else { return nil }
    self = Int64((number * scale).rounded())
  }
}
