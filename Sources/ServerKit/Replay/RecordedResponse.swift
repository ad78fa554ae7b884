import Containers
import Foundation
import HTTPTransport
import HTTPTypes
import NIOCore
import Synchronization

/// Recorded responses, by the bytes of the request heads that they answered: of HTTP/1 as they came, of HTTP/2
/// ``HTTP2Fields``.
///
/// The response of a served file depends only on the request's head and the release; that of a stored gateway response
/// only on the head and the time. An identical head gets the recorded bytes, without parsing, deciding and encoding
/// again.
package final class RecordedResponses: Sendable {
  /// The limit of a remembered head in bytes.
  static let headLimit = 2 << 10
  /// The limit of a remembered body in bytes.
  package static let bodyLimit = 256 << 10

  /// By the hashes of the heads. A head with the hash of another one takes its place.
  private let answers: LRUCache<Int, (head: [UInt8], answer: RecordedResponse)>

  /// - Parameter capacity: the limit of memory in bytes.
  package init(capacity: Int = 32 << 20) { answers = LRUCache(capacity: capacity) }

  /// Returns the response and the seconds by which it has aged; `nil` if there is no valid one.
  package func answer(to head: ByteBuffer) -> (answer: RecordedResponse, age: Int64)? {
    // An invalid response is replaced when its request is answered, since searching for it would be slow.
    guard let known = answers[head.hashValue], known.head.isEqual(to: head), let age = known.answer.age() else {
      return nil
    }
    return (known.answer, age)
  }

  package func remember(_ answer: RecordedResponse, for head: ByteBuffer) {
    // A copy of these bytes alone: the received bytes are part of a larger buffer.
    answers.insert(
      (Array(head.readableBytesView), answer), for: head.hashValue, cost: head.readableBytes + answer.size)
  }

  /// Returns `true` if these bytes are exactly one HTTP/1.1 request without a body, whose response is worth
  /// remembering.
  static func isWholeHead(_ bytes: ByteBuffer) -> Bool {
    bytes.withUnsafeReadableBytes { bytes in
      let count = bytes.count
      guard count <= headLimit, count >= 18, bytes.starts(with: "GET /".utf8) || bytes.starts(with: "HEAD /".utf8),
        bytes.suffix(4).elementsEqual("\r\n\r\n".utf8)
      else { return false }
      // The first empty line is the one at the end.
      for index in 0..<count - 4 where bytes[index] == 0x0A {
        if bytes[index + 1] == 0x0A || (bytes[index + 1] == 0x0D && bytes[index + 2] == 0x0A) { return false }
      }
      return true
    }
  }
}

extension [UInt8] {
  fileprivate func isEqual(to buffer: ByteBuffer) -> Bool {
    count == buffer.readableBytes
      && withUnsafeBytes { own in
        buffer.withUnsafeReadableBytes { other in
          guard let own = own.baseAddress, let other = other.baseAddress else { return true }
          return memcmp(own, other, count) == 0
        }
      }
  }
}

/// An offer to replay a response to identical request heads.
package struct ReplayOffer: Sendable {
  /// The part of the head that each replay renews.
  enum Renewal: Sendable {
    /// The `Date` field: the response is made when it is sent.
    case date
    /// The `Age` field and the remaining lifetime: the response was made by another server.
    case age
  }

  var renewal = Renewal.date
  /// Returns the bytes of a body that a cache has in memory, for as long as it has them; `nil` if it has none. A recorded
  /// response with the same bytes has no others.
  var body: (@Sendable () -> [UInt8]?)?
  /// The seconds by which the response has aged since it was made; `nil` if it must not be replayed.
  let age: @Sendable () -> Int64?
  /// The functions that are called at each replay.
  var observers: [@Sendable (RecordedResponse.ReplayEvent) -> Void] = []
}

/// Collects the statements of routes and middleware about replaying the current response.
///
/// There is one instance for each connection of HTTP/1, whose requests are sequential, and for each stream of HTTP/2.
package final class ReplayContext: Sendable {
  private typealias State = (
    offer: ReplayOffer?, observers: [@Sendable (RecordedResponse.ReplayEvent) -> Void], isForbidden: Bool
  )

  private let state = Mutex<State>((nil, [], false))

  /// - Parameter isCurrent: is called before each replay; returns `true` if the response would be the same.
  package func allow(while isCurrent: @escaping @Sendable () -> Bool) {
    state.withLock { $0.offer = ReplayOffer { isCurrent() ? 0 : nil } }
  }

  /// Allows replays of a response that has an `Age` field and the date of another server.
  ///
  /// - Parameters:
  ///   - body: returns the bytes of the stored body for as long as they are in memory; the response may have others.
  ///   - age: is called before each replay; returns the seconds by which the response has aged, or `nil` if it would
  ///     differ.
  package func allow(body: (@Sendable () -> [UInt8]?)? = nil, aging age: @escaping @Sendable () -> Int64?) {
    state.withLock { $0.offer = ReplayOffer(renewal: .age, body: body, age: age) }
  }

  /// `true` if the current response may be replayed.
  var hasOffer: Bool { state.withLock { !$0.isForbidden && $0.offer != nil } }

  /// Forbids replays: the response is for this request alone.
  func forbid() { state.withLock { $0.isForbidden = true } }

  /// Adds a function that is called at each replay.
  package func onReplay(_ observer: @escaping @Sendable (RecordedResponse.ReplayEvent) -> Void) {
    state.withLock { $0.observers.append(observer) }
  }

  /// Returns the offer for the response that was just sent, and resets the context for the next.
  func removeOffer() -> ReplayOffer? {
    state.withLock { state in
      defer { state = (nil, [], false) }
      guard !state.isForbidden, var offer = state.offer else { return nil }
      offer.observers = state.observers
      return offer
    }
  }
}

/// A response that is recorded while it is written.
struct ResponseRecording {
  /// The head of the request, for which the response is remembered.
  let request: ByteBuffer
  /// The head of a response of HTTP/2. That of HTTP/1 is the first of the pieces.
  var head: HTTPResponse?
  private var pieces: [ByteBuffer] = []
  private var size = 0

  init(of request: ByteBuffer) { self.request = request }

  /// Adds bytes of the response.
  ///
  /// - Returns: `false` if the response is too long to be remembered.
  mutating func add(_ bytes: ByteBuffer) -> Bool {
    pieces.append(bytes)
    size += bytes.readableBytes
    return size <= RecordedResponses.bodyLimit + (head == nil ? RecordedResponses.headLimit : 0)
  }

  /// Remembers the whole response, if it can be replayed.
  func remember(_ offer: ReplayOffer, in memory: RecordedResponses) {
    let answer = if let head { RecordedResponse(head, pieces, offer) } else { RecordedResponse(pieces, offer) }
    if let answer { memory.remember(answer, for: request) }
  }
}

/// A response as it was written, to be replayed.
package final class RecordedResponse: Sendable {
  /// One replay of a response, for logs and metrics.
  package struct ReplayEvent: Sendable {
    let requestID: String
    package let started: ContinuousClock.Instant
    package let bodyBytes: Int
    /// The address of the client.
    package let address: String
  }

  private enum Content: Sendable {
    /// Bytes that are copied after the head, which is cheaper than writing two buffers.
    case short([UInt8])
    /// The same, for as long as a cache has them in memory.
    case shared(@Sendable () -> [UInt8]?, count: Int)
    case long(ByteBuffer)

    var count: Int {
      switch self {
      case .short(let bytes): bytes.count
      case .shared(_, let count): count
      case .long(let buffer): buffer.readableBytes
      }
    }

    /// The bytes that are in memory for it alone.
    var size: Int { if case .shared = self { 0 } else { count } }

    /// The bytes that are copied after the head: none of a long body. `nil` if they have gone.
    var copied: [UInt8]? {
      switch self {
      case .short(let bytes): bytes
      case .shared(let bytes, _): bytes()
      case .long: []
      }
    }

    /// - Parameter shared: returns the same bytes, or others, or none.
    init(_ parts: [ByteBuffer], sharing shared: (@Sendable () -> [UInt8]?)?) {
      let parts = parts.filter { $0.readableBytes > 0 }
      let count = parts.reduce(0) { $0 + $1.readableBytes }
      if count > RecordedResponse.copied, parts.count == 1, let only = parts.first,
        only.storageCapacity <= 2 * count
      {
        self = .long(only)
        return
      }
      // A slice would keep the whole buffer that it belongs to.
      let whole = parts.count == 1 ? parts[0] : ByteBuffer(bytes: Array(parts.map(\.readableBytesView).joined()))
      if count > RecordedResponse.copied {
        self = .long(ByteBuffer(bytes: whole.readableBytesView))
      } else if count > 0, let shared, shared()?.isEqual(to: whole) == true {
        self = .shared(shared, count: count)
      } else {
        self = .short(Array(whole.readableBytesView))
      }
    }
  }

  private let head: RecordedHead
  private let body: Content
  /// The seconds by which the response has aged; `nil` if it must not be replayed.
  package let age: @Sendable () -> Int64?
  /// The functions that are called at each replay.
  private let observers: [@Sendable (ReplayEvent) -> Void]

  /// The largest body that is copied after the head.
  private static let copied = 4 << 10
  /// The memory of a response beside its bytes and its head, with its place among the others; and that of an observer.
  private static let (overhead, observerSize) = (448, 256)

  /// The memory of the response in bytes, with its observers. Those that are a cache's do not count.
  package let size: Int

  /// A response of HTTP/1.
  ///
  /// - Parameter answer: the bytes of a whole response, in the buffers that were written.
  /// - Returns: `nil` if the response cannot be replayed.
  package convenience init?(_ answer: [ByteBuffer], _ offer: ReplayOffer) {
    guard let head = answer.first.flatMap({ RecordedHead($0, offer.renewal) }) else { return nil }
    self.init(head, Array(answer.dropFirst()), offer)
  }

  /// A response of HTTP/2.
  ///
  /// - Returns: `nil` if the response cannot be replayed.
  convenience init?(_ head: HTTPResponse, _ body: [ByteBuffer], _ offer: ReplayOffer) {
    guard let head = RecordedHead(head, offer.renewal) else { return nil }
    self.init(head, body, offer)
  }

  private init(_ head: RecordedHead, _ parts: [ByteBuffer], _ offer: ReplayOffer) {
    self.head = head
    body = Content(parts, sharing: offer.body)
    size = head.size + body.size + Self.overhead + Self.observerSize * offer.observers.count
    age = offer.age
    observers = offer.observers
  }

  /// Returns the bytes to write: the head, and the body unless it was copied after the head; `nil` for a response of
  /// HTTP/2, and if the cache has no longer the body in memory.
  func buffers(_ renewed: RenewedValues, _ allocator: ByteBufferAllocator) -> (ByteBuffer, ByteBuffer?)? {
    guard let copied = body.copied else { return nil }
    var buffer = allocator.buffer(capacity: head.size + 64 + copied.count)
    guard head.write(renewed, to: &buffer) else { return nil }
    if case .long(let body) = body { return (buffer, body) }
    buffer.writeBytes(copied)
    return (buffer, nil)
  }

  /// Returns the fields, the values that change them, and the body to write; `nil` for a response of HTTP/1, and if the
  /// cache has no longer the body in memory.
  func fields(_ renewed: RenewedValues) -> (HTTP2Fields, changed: [(index: Int, value: String)], ByteBuffer)? {
    guard let (fields, changed) = head.fields(renewed), let copied = body.copied else { return nil }
    if case .long(let body) = body { return (fields, changed, body) }
    return (fields, changed, ByteBuffer(bytes: copied))
  }

  /// Tells the observers of a replay.
  package func reportReplay(_ requestID: String, to address: String, since started: ContinuousClock.Instant) {
    let event = ReplayEvent(requestID: requestID, started: started, bodyBytes: body.count, address: address)
    for observer in observers { observer(event) }
  }
}

/// The head of a recorded response, in pieces: each replay renews some of them.
struct RecordedHead: Sendable {
  private enum Piece: Sendable {
    /// Text that stays. The other pieces are renewed.
    case text(String)
    case date
    case requestID
    /// A number of seconds that grows by one each second.
    case age(Int64)
    /// A number of seconds that falls by one each second.
    case remaining(Int64)

    func text(_ renewed: RenewedValues) -> String {
      switch self {
      case .text(let text): text
      case .date: renewed.date
      case .requestID: renewed.requestID
      case .age(let first): String(first &+ renewed.age)
      case .remaining(let first): String(first &- renewed.age)
      }
    }
  }

  private enum Form: Sendable {
    /// The bytes that stay, and the pieces between them, each with the number of bytes before it.
    case http1([UInt8], [(piece: Piece, position: Int32)])
    /// The fields, in which the values that change are empty.
    indirect case http2(HTTP2Fields, changing: [(index: Int, value: [Piece])])
  }

  private var form = Form.http1([], [])
  private(set) var size = 0
  private var hasID = false
  private var isRenewed = false

  /// The head of a response of HTTP/1.
  ///
  /// - Returns: `nil` if the end of the connection ends the response, or if the head lacks a field that must be renewed.
  init?(_ head: ByteBuffer, _ renewal: ReplayOffer.Renewal) {
    let bytes = Array(head.readableBytesView)
    guard String(validating: bytes, as: UTF8.self) != nil, bytes.starts(with: "HTTP/1.1 ".utf8),
      bytes.suffix(4).elementsEqual("\r\n\r\n".utf8)
    else { return nil }
    var renewed: [(piece: Piece, position: Int32)] = []
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count)
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
    let nearest = lines.lastIndex { line in
      String(decoding: line.prefix { $0 != 0x3A }, as: UTF8.self).lowercased() == "cache-status"
    }
    for (index, line) in zip(lines.indices, lines) {
      guard let colon = line.firstIndex(of: 0x3A) else {
        text += line + [0x0A]
        continue
      }
      let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
      guard name != "transfer-encoding", name != "connection" else { return nil }
      let value = line[(colon + 1)...].drop { $0 == 0x20 }.prefix { $0 != 0x0D }
      let content = String(decoding: value, as: UTF8.self)
      guard let parts = self.pieces(of: name, content, renewal, isNearest: index == nearest) else { return nil }
      text += line[..<value.startIndex]
      for part in parts {
        if case .text(let part) = part {
          text += part.utf8
        } else {
          renewed.append((part, Int32(clamping: text.count)))
        }
      }
      text += line[value.endIndex...] + [0x0A]
    }
    guard hasID, isRenewed else { return nil }
    (form, size) = (.http1(text, renewed), bytes.count)
  }

  /// The head of a response of HTTP/2. RFC 9113 §8.3.
  ///
  /// - Returns: `nil` if the head lacks a field that must be renewed.
  init?(_ head: HTTPResponse, _ renewal: ReplayOffer.Renewal) {
    let nearest = head.headerFields.lastIndex { $0.name.canonicalName == "cache-status" }
    var fields = HTTP2Fields()
    var changing: [(index: Int, value: [Piece])] = []
    fields.add(":status", String(head.status.code))
    for (index, field) in zip(head.headerFields.indices, head.headerFields) where HTTP2Fields.permits(field.name) {
      let name = field.name.canonicalName
      guard let value = pieces(of: name, field.value, renewal, isNearest: index == nearest) else { return nil }
      if value.count == 1, case .text(let text)? = value.first {
        fields.add(name, text, isIndexed: field.indexingStrategy == .automatic)
      } else {
        changing.append((fields.count, value))
        // Values that do not come again would push others out of the client's table.
        if case .date? = value.first { fields.add(name, "") } else { fields.add(name, "", isIndexed: false) }
      }
    }
    guard hasID, isRenewed else { return nil }
    (form, size) = (.http2(fields, changing: changing), fields.bytes.readableBytes)
  }

  /// Returns the pieces of a field's value; `nil` if it cannot be renewed.
  ///
  /// - Parameters:
  ///   - name: in lowercase.
  ///   - isNearest: the field is the last one of its name: that of the cache nearest to the client.
  private mutating func pieces(
    of name: String, _ value: String, _ renewal: ReplayOffer.Renewal, isNearest: Bool
  ) -> [Piece]? {
    switch (name, renewal) {
    case ("x-request-id", _):
      hasID = true
      return [.requestID]
    case ("date", .date):
      isRenewed = true
      return [.date]
    case ("age", .age):
      guard let age = Int64(value), !isRenewed else { return nil }
      isRenewed = true
      return [.age(age)]
    case ("cache-status", .age) where isNearest:
      // RFC 9211 §2.4: the remaining lifetime. That of other caches is as it was when they answered.
      guard let start = value.ranges(of: "; ttl=").last?.upperBound else { return [.text(value)] }
      let digits = value[start...].prefix { ("0"..."9").contains($0) }
      guard let left = Int64(digits) else { return [.text(value)] }
      return [.text(String(value[..<start])), .remaining(left), .text(String(value[digits.endIndex...]))]
    default: return [.text(value)]
    }
  }

  /// - Returns: `false` for a head of HTTP/2.
  func write(_ renewed: RenewedValues, to buffer: inout ByteBuffer) -> Bool {
    guard case .http1(let bytes, let pieces) = form else { return false }
    var start = 0
    for (piece, position) in pieces {
      buffer.writeBytes(bytes[start..<Int(position)])
      buffer.writeString(piece.text(renewed))
      start = Int(position)
    }
    buffer.writeBytes(bytes[start...])
    return true
  }

  /// Returns the fields, and the values that change them; `nil` for a head of HTTP/1.
  func fields(_ renewed: RenewedValues) -> (HTTP2Fields, changed: [(index: Int, value: String)])? {
    guard case .http2(let fields, let changing) = form else { return nil }
    return (fields, changing.map { index, value in (index, value.reduce(into: "") { $0 += $1.text(renewed) }) })
  }
}

/// The values of header fields that each replay renews.
struct RenewedValues {
  let date: String
  let requestID: String
  /// The seconds since the first response.
  let age: Int64
}
