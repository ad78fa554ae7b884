import HTTPCaching
import HTTPTypes
import PageCore

/// A response that is to be stored once its bytes have come.
struct PendingResponse: Sendable {
  enum Shape: Sendable {
    /// Of so many bytes, where the head tells.
    case whole(size: Int64?)
    case part(first: Int64, of: Int64?)
  }

  private let hop: Hop
  private let status: Int
  private let fields: HTTPFields
  private let times: ExchangeTimes
  private let shape: Shape

  init(_ hop: Hop, status: Int, fields: HTTPFields, times: ExchangeTimes, shape: Shape) {
    self.hop = hop
    self.status = status
    self.fields = fields
    self.times = times
    self.shape = shape
  }

  /// - Parameters:
  ///   - count: bytes that have come.
  ///   - isWhole: whether that is all the answer had.
  func arrival(count: Int64, isWhole: Bool) -> ResponseCache.Arrival {
    let extent: Extent =
      switch shape {
      case .whole(let size): isWhole ? .whole(count) : .part(0..<count, of: size)
      case .part(let first, let size): Extent(first..<(first + count), of: size)
      }
    return ResponseCache.Arrival(
      key: hop.key, request: hop.request, status: status, fields: fields, times: times, extent: extent)
  }
}
