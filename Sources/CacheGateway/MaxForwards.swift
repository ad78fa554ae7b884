import HTTPTypes

/// How far a request that asks about the way to its server may go. RFC 9110 §7.6.2.
enum MaxForwards: Equatable {
  /// It goes on as it is.
  case unbounded
  /// It goes on, and may be passed on so many times more.
  case forward(Int64)
  /// It ends here.
  case answer

  private static let field = HTTPField.Name("Max-Forwards")

  init(of head: HTTPRequest) {
    guard [.trace, .options].contains(head.method), let name = Self.field, let text = head.headerFields[name],
      !text.isEmpty, text.allSatisfy({ ("0"..."9").contains($0) })
    else {
      self = .unbounded
      return
    }
    // What is too large to count goes on with the largest number there is.
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
