import HTTPCaching
import HTTPTransport
import HTTPTypes

/// A response that is to be stored once its bytes have come.
struct PendingResponse: Sendable {
  enum Shape: Sendable {
    /// All of it, with its size in bytes if the head tells.
    case whole(size: Int64?)
    case part(Range<Int64>, of: Int64?)
    /// A stored beginning and the rest of it, together so many bytes.
    case completed(size: Int64?)
  }

  let hop: OutgoingRequest
  private let status: Int
  private let fields: HTTPFields
  private let times: ExchangeTimes
  private let shape: Shape

  init(_ hop: OutgoingRequest, status: Int, fields: HTTPFields, times: ExchangeTimes, shape: Shape) {
    self.hop = hop
    self.status = status
    self.fields = fields
    self.times = times
    self.shape = shape
  }

  /// Returns `true` if it goes on with a part that was stored before.
  var isCompletion: Bool { if case .completed = shape { true } else { false } }

  /// - Parameters:
  ///   - count: bytes that have come.
  ///   - isWhole: the response has ended.
  /// - Returns: `nil` if these are not as many as the response's head says.
  func arrival(count: Int64, isWhole: Bool) -> ResponseCache.Arrival? {
    let extent: Extent
    switch shape {
    case .whole(let size):
      extent = isWhole ? .whole(count) : .part(0..<count, of: size)
    case .part(let range, let size):
      // Fewer than announced are those that the range begins with.
      guard count <= Int64(range.count) else { return nil }
      extent = Extent(range.lowerBound..<(range.lowerBound + count), of: size)
    case .completed(let size):
      guard size.map({ isWhole ? count == $0 : count < $0 }) ?? true else { return nil }
      extent = isWhole ? .whole(count) : .part(0..<count, of: size)
    }
    return ResponseCache.Arrival(
      key: hop.key, request: hop.request, status: status, fields: fields, times: times, extent: extent)
  }
}
