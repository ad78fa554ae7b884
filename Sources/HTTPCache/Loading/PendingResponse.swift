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
  let times: ExchangeTimes
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

  /// The number of bytes, with those that were stored before; `nil` if the head does not tell.
  var size: Int64? {
    switch shape {
    // RFC 9110 §6.4.1.
    case .whole where status == 204 || status == 304: 0
    case .whole(let size), .completed(let size): size
    case .part(let range, _): Int64(range.count)
    }
  }

  /// Returns `true` if the response may answer a request once it is stored, without asking for it again. RFC 9111 §4.
  func mayAnswer(_ other: OutgoingRequest, at now: HTTPDate) -> Bool {
    let extent: Extent =
      if case .part(let range, let size) = shape { Extent(range, of: size) } else { .whole(size ?? .max) }
    let stored = StoredResponse(
      id: 0, status: status, fields: fields, times: times,
      vary: VaryKey(vary: fields, request: hop.request.headerFields) ?? VaryKey(), extent: extent,
      isInvalidated: false, staleSince: nil, policy: hop.policy)
    let decision = other.behavior.decision(
      for: other.request, among: [stored], at: now, policy: other.policy, lifetime: other.lifetime, isOnline: true)
    return if case .serve = decision { true } else { false }
  }

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
