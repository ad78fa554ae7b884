import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

/// Identifies requests that can share one exchange with the origin.
struct FlightKey: Hashable, Sendable {
  let key: CacheKey
  private let request: ComparedRequest
  private let epoch: UInt64
  /// The handler that answers; `nil` for the server.
  private let origin: String?
  private let isStored: Bool

  /// Requests of one resource at the same time are few.
  func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension FlightKey {
  /// - Parameter names: further fields that the answer is chosen by, in small letters.
  init(_ hop: OutgoingRequest, _ request: HTTPRequest, epoch: UInt64 = 0, chosenBy names: Set<String> = []) {
    var request = request
    // A response in the shared partition answers all clients, unless its `Vary` says otherwise.
    if hop.key.partition.isShared {
      request.headerFields = HTTPFields(
        request.headerFields.filter {
          Self.decisive.contains($0.name.canonicalName) || !names.isEmpty && names.contains($0.name.canonicalName)
        })
    }
    self.init(
      key: hop.key, request: ComparedRequest(request), epoch: epoch, origin: hop.origin?.name, isStored: hop.isStored)
  }

  /// Fields that make another answer, or another decision, whatever the answer says.
  private static let decisive: FieldNames = [
    "authorization", "cache-control", "pragma", "range", "if-range", "if-match", "if-none-match", "if-modified-since",
    "if-unmodified-since",
  ]
}

/// A request whose comparison with itself costs nothing: a key is looked up several times for one request.
private final class ComparedRequest: Equatable, Sendable {
  private let request: HTTPRequest

  init(_ request: HTTPRequest) { self.request = request }

  static func == (left: ComparedRequest, right: ComparedRequest) -> Bool {
    left === right || left.request == right.request
  }
}

/// Decides how a request shares exchanges with the origin: if it joins an equal request's, by which fields requests are
/// compared, and if the response that another exchange brought may answer it. ``OriginExchange`` acts on it.
struct ExchangeSharing {
  /// `false` once the request has to be sent by itself.
  private(set) var isShared: Bool
  /// Requests that differ in these fields do not share an exchange: names in small letters, from `Vary`.
  private(set) var names: Set<String>
  /// How often the request may still look for a response that came meanwhile before it goes out.
  private var looksLeft = 3

  /// - Parameters:
  ///   - isShared: `false` if no response for the key can answer two requests.
  ///   - names: the fields that the known responses vary by.
  init(isShared: Bool, by names: Set<String>) { (self.isShared, self.names) = (isShared, names) }

  var mayLookAgain: Bool { looksLeft > 0 }

  /// Further fields are known by which responses vary.
  mutating func add(_ more: Set<String>) { names.formUnion(more) }

  /// Decides if a response may answer the request; if not, how the request goes on.
  ///
  /// - Parameters:
  ///   - isChosen: the request's fields select the response.
  ///   - vary: the fields that it varies by; `nil` if no other request can have it.
  ///   - isCollapsed: another request asked for it.
  ///   - isReusable: it may answer a request without a question to the origin.
  mutating func mayUse(
    isChosen: Bool, varyingBy vary: VaryKey?, isCollapsed: Bool, isReusable: @autoclosure () -> Bool
  ) -> Bool {
    guard isChosen else {
      // By fields that were not compared yet, equal requests can share the next exchange.
      let count = names.count
      if let vary { names.formUnion(vary.values.keys) }
      isShared = names.count > count
      return false
    }
    if isCollapsed, !isReusable() { isShared = false }
    return !isCollapsed || isShared
  }

  /// The exchange that the request would have joined ended before it began.
  mutating func lookAgain() { looksLeft -= 1 }

  /// The exchange of another request takes too long, or its response answers that request alone.
  mutating func goAlone() { isShared = false }
}

/// The result of an exchange with the origin, for all requests that share it.
enum FetchResult: Sendable {
  /// It may be stored, and is for everyone. The transfer goes on while this result waits for those who read it.
  case incoming(IncomingResponse.Place)
  /// A stored response was confirmed.
  case confirmed(CachedResponse, status: Int, generation: UInt64)
  /// A stored response answers better than the server's error.
  case stale(CachedResponse, ServeReason, status: Int)
  /// It may not be stored: it answers one request alone.
  case single(UnsharedResponse)
  /// Nothing was asked: another exchange's response has come since the cache was looked at.
  case superseded
}

/// A response that only one request may have.
final class UnsharedResponse: Sendable {
  private let answer: Mutex<TransportResponse?>
  private let request: HTTPRequest
  let generation: UInt64
  /// The detail for `Cache-Status`; `nil` for none.
  let detail: String?

  /// - Parameters:
  ///   - request: what was asked, with all its fields.
  ///   - detail: for `Cache-Status`.
  init(_ answer: TransportResponse, to request: HTTPRequest, generation: UInt64, detail: String? = nil) {
    self.answer = Mutex(answer)
    self.request = request
    self.generation = generation
    self.detail = detail
  }

  /// Returns `nil` if the request differs, or the response was already taken.
  ///
  /// - Parameter isOurs: `true` if the request is known to be the one that was asked.
  func take(for request: HTTPRequest, isOurs: Bool) -> TransportResponse? {
    guard isOurs || request == self.request else { return nil }
    return answer.withLock { answer in
      defer { answer = nil }
      return answer
    }
  }
}
