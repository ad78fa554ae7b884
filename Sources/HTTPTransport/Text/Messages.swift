import Foundation

/// An error that is a sentence, for people: no code matches it.
package struct DescribedError: Error, Hashable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

extension Error {
  /// The error in words, for logs, answers and messages.
  ///
  /// Errors of our modules and of libraries describe themselves. Foundation's describe themselves with their domain, code
  /// and dictionary: of these it is the file and the system's reason, such as `/srv/x: No space left on device`.
  package var sentence: String {
    guard let error = foundationError else { return plainReason }
    let path = error.userInfo[NSFilePathErrorKey] as? String ?? (error.userInfo[NSURLErrorKey] as? URL)?.path
    return path.map { "\($0): \(plainReason)" } ?? plainReason
  }

  /// The error in words without the file that it concerns, for messages that name the file.
  package var plainReason: String {
    if let error = foundationError { return error.systemReason }
    switch self {
    case is CancellationError: return "it was cancelled"
    case let error as DecodingError: return error.placeAndReason
    default: return "\(self)"
    }
  }

  /// The error if it is one of Foundation's.
  private var foundationError: NSError? {
    let error: any Error = self
    return error is any CustomNSError || Swift.type(of: error) is NSError.Type ? error as NSError : nil
  }
}

extension NSError {
  fileprivate var systemReason: String {
    if domain == NSPOSIXErrorDomain { return String(cString: strerror(Int32(clamping: code))) }
    if let underlying = userInfo[NSUnderlyingErrorKey] as? any Error { return (underlying as NSError).systemReason }
    let text = localizedDescription
    let general = "The operation could not be completed. "
    return text.hasPrefix(general) ? String(text.dropFirst(general.count)) : text
  }
}

extension String {
  /// The text for a message: quoted, without control characters, cut to 80.
  package var quotedForMessage: String { "\"\(withoutCredentials.quotableStart)\"" }

  /// The text without a URL's user and password, which must not appear in messages.
  private var withoutCredentials: String {
    guard let start = firstRange(of: "//")?.upperBound else { return self }
    let authority = self[start...].prefix { !"/?#".contains($0) }
    guard let end = authority.lastIndex(of: "@") else { return self }
    return self[..<start] + "…" + self[end...]
  }

  /// The first 80 characters, without control characters.
  package var quotableStart: String {
    let clean = unicodeScalars.prefix(81).text(replacingControls: { _ in "\u{FFFD}" })
    return clean.unicodeScalars.count > 80 ? String(clean.prefix(80)) + "…" : clean
  }
}

extension Sequence<Unicode.Scalar> {
  /// The text for a line of a log or terminal, which control characters would end or command.
  ///
  /// - Parameter replacement: returns what takes the place of a control character, or `nil` to leave it out.
  package func text(replacingControls replacement: (Unicode.Scalar) -> Unicode.Scalar?) -> String {
    String(String.UnicodeScalarView(compactMap { $0.properties.generalCategory == .control ? replacement($0) : $0 }))
  }
}
