import HTTPTypes

/// The number of further hops of a TRACE or OPTIONS request. RFC 9110 §7.6.2.
enum MaxForwards: Equatable {
  /// The request is forwarded unchanged.
  case unbounded
  /// The request is forwarded with this number of further hops.
  case forward(Int64)
  /// The gateway answers the request.
  case answer

  private static let field = HTTPField.Name("Max-Forwards")

  init(of head: HTTPRequest) {
    guard [.trace, .options].contains(head.method), let name = Self.field, let text = head.headerFields[name],
      !text.isEmpty, text.allSatisfy({ ("0"..."9").contains($0) })
    else {
      self = .unbounded
      return
    }
    // A number that overflows becomes the largest one.
    guard let count = Int64(text) else {
      self = .forward(.max)
      return
    }
    self = count == 0 ? .answer : .forward(count - 1)
  }

  func apply(to fields: inout HTTPFields) {
    guard case .forward(let count) = self, let name = Self.field else { return }
    fields[name] = String(count)
  }
}
