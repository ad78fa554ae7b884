import NIOCore
import NIOHPACK

/// The head of a recorded response of HTTP/2. RFC 9113 §8.3.
struct RecordedStreamHead: Sendable {
  private enum Value: Sendable {
    case text(String)
    case date
    case requestID
    case seconds(RenewedValues.Seconds, before: String, after: String)
  }

  private let fields: [(name: String, value: Value)]
  let size: Int

  /// Returns `nil` if the head lacks a field that must be renewed.
  init?(_ head: HPACKHeaders, _ renewal: ReplayOffer.Renewal) {
    var hasID = false
    var isRenewed = false
    var fields: [(name: String, value: Value)] = []
    for (name, text, _) in head {
      var value = Value.text(text)
      switch (name, renewal) {
      case ("x-request-id", _): (value, hasID) = (.requestID, true)
      case ("date", .date): (value, isRenewed) = (.date, true)
      case ("age", .age):
        guard let age = Int64(text), !isRenewed else { return nil }
        (value, isRenewed) = (.seconds(.init(first: age, step: 1), before: "", after: ""), true)
      case ("cache-status", .age):
        let bytes = Array(text.utf8)
        if let left = RenewedValues.timeToLive(bytes[...]) {
          value = .seconds(
            .init(first: left.value, step: -1),
            before: String(decoding: bytes[..<left.range.lowerBound], as: UTF8.self),
            after: String(decoding: bytes[left.range.upperBound...], as: UTF8.self))
        }
      default: break
      }
      fields.append((name, value))
    }
    guard hasID, isRenewed else { return nil }
    self.fields = fields
    size = head.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
  }

  func headers(_ renewed: RenewedValues) -> HPACKHeaders {
    var headers = HPACKHeaders()
    headers.reserveCapacity(fields.count)
    for (name, value) in fields {
      switch value {
      case .text(let text): headers.add(name: name, value: text)
      case .date: headers.add(name: name, value: renewed.date)
      // Values that do not come again would push others out of the client's table.
      case .requestID: headers.add(name: name, value: renewed.requestID, indexing: .nonIndexable)
      case .seconds(let seconds, let before, let after):
        headers.add(name: name, value: before + seconds.text(renewed) + after, indexing: .nonIndexable)
      }
    }
    return headers
  }
}
