import Foundation
import HTTPTransport

/// Reads and writes the small JSON files that are signed, or are signatures.
enum SignedJSON {
  /// - Parameters:
  ///   - subject: the file in messages, such as `the root`.
  ///   - limit: the largest size in bytes.
  ///   - shape: a clause that says what the file must have.
  /// - Throws: ``TrustError/unreadable(_:reason:)``.
  static func decode<Value: Decodable>(
    _ bytes: [UInt8], as type: Value.Type, of subject: String, limit: Int64, shape: String
  ) throws -> Value {
    func refusal(_ reason: String) -> TrustError { .unreadable(subject, reason: reason) }
    guard Int64(bytes.count) <= limit else { throw refusal("it has more than \(limit) bytes") }
    do {
      return try JSONValue(reading: bytes, limits: .standard).decoded()
    } catch  where bytes.areMarkup {
      throw refusal("it is HTML: the server answers with a page of its own for a file that it does not have")
    } catch let error as JSONError {
      throw refusal("it is not JSON: \(error)")
    } catch DecodingError.dataCorrupted(let context) {
      throw refusal(context.debugDescription)
    } catch {
      throw refusal(shape)
    }
  }

  /// Text for people: sorted, one member on a line.
  static func encode(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]
  }
}

extension [UInt8] {
  /// `true` for HTML or XML, which some servers send in the place of a file that they do not have. JSON never begins
  /// like it.
  package var areMarkup: Bool {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = starts(with: byteOrderMark) ? self[byteOrderMark.count...] : self[...]
    return text.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "<")
  }
}

/// The numbers that order the versions of a file: sequences, and versions of roots.
package enum SequenceNumber {
  /// The largest one, 2⁶², which times in nanoseconds stay below until the year 2116. A file with a larger one is refused
  /// when it is read, so that a next number can always be counted.
  package static let limit: Int64 = 1 << 62
}

/// A time in a signed file: RFC 3339 in UTC and whole seconds, such as `2027-01-01T00:00:00Z`.
package struct SignedTime: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
  /// Seconds since 1970.
  package let seconds: Int64

  package init(seconds: Int64) { self.seconds = seconds }

  /// The present time.
  package static var now: SignedTime { SignedTime(seconds: Int64(Date().timeIntervalSince1970)) }

  /// Returns a later time; the last or first one that there is, if that would be beyond it.
  ///
  /// - Parameter duration: its whole seconds count; negative for an earlier time.
  package func advanced(by duration: Duration) -> SignedTime {
    let by = duration.components.seconds
    let (sum, overflows) = seconds.addingReportingOverflow(by)
    return SignedTime(seconds: overflows ? (by < 0 ? .min : .max) : sum)
  }

  /// Returns `nil` for any other text.
  package init?(_ text: String) {
    guard text.utf8.count == 20, let date = try? Date(text, strategy: .iso8601) else { return nil }
    seconds = Int64(date.timeIntervalSince1970.rounded())
    guard description == text else { return nil }
  }

  package init(from decoder: any Decoder) throws {
    let text = try String(from: decoder)
    guard let time = SignedTime(text) else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "\(text.quotedForMessage) is no time such as 2027-01-01T00:00:00Z"))
    }
    self = time
  }

  package func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }

  /// The time as it is written; one that four digits of a year cannot express as the nearest that they can.
  package var description: String {
    let written = min(max(seconds, Self.writable.lowerBound), Self.writable.upperBound)
    return String(rfc3339: Double(written))
  }

  /// The years 0001 to 9999.
  private static let writable: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  package static func < (left: SignedTime, right: SignedTime) -> Bool { left.seconds < right.seconds }
}
