import HTTPTypes

/// A stored response without its body: all that decisions need, worked out once.
public struct StoredResponse: Hashable, Sendable {
  /// The cache's own name for it.
  public let id: Int64
  /// As it came; 200 for what was stored from a 206.
  public let status: Int
  /// Those that may be used again; with the `Date` of its arrival where it came without.
  public let fields: HTTPFields
  public let times: ExchangeTimes
  /// The request fields it was chosen by.
  public let vary: VaryKey
  public let extent: Extent
  /// Something has happened to the resource since: it may not be used without asking. RFC 9111 §4.4.
  public let isInvalidated: Bool
  /// From when on it counts as stale, whatever its lifetime: somebody said so. Nil where nobody did.
  public let staleSince: HTTPDate?

  public let control: CacheControl
  public let lifetime: FreshnessLifetime
  public let age: Age
  public let validators: Validators
  /// When the origin made it.
  public let date: HTTPDate

  public init(
    id: Int64, status: Int, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey, extent: Extent,
    isInvalidated: Bool = false, staleSince: HTTPDate? = nil, policy: CachePolicy
  ) {
    self.id = id
    self.status = status
    self.fields = fields
    self.times = times
    self.vary = vary
    self.extent = extent
    self.isInvalidated = isInvalidated
    self.staleSince = staleSince
    let control = ResponseControl(of: fields, policy: policy)
    self.control = control.directives
    lifetime = FreshnessLifetime(
      of: HTTPResponse(status: .init(code: status), headerFields: fields), control: control,
      isShared: policy.mode == .shared, received: times.response)
    age = Age(of: fields, times: times)
    validators = Validators(of: fields)
    date = HTTPDate(singleIn: fields, .date, now: times.response) ?? times.response
  }

  /// What stands for the same response with other metadata.
  public static func == (left: StoredResponse, right: StoredResponse) -> Bool {
    left.id == right.id && left.status == right.status && left.times == right.times && left.fields == right.fields
      && left.extent == right.extent && left.isInvalidated == right.isInvalidated && left.vary == right.vary
      && left.staleSince == right.staleSince
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(times)
  }

  public var head: HTTPResponse { HTTPResponse(status: .init(code: status), headerFields: fields) }
}

extension StoredResponse {
  /// Returns `true` if a request would have been answered with this: it has what the response was chosen by, or accepts
  /// fewer encodings, the response's among them. RFC 9111 §4.1.
  public func answers(_ request: HTTPFields) -> Bool {
    vary.matches(request)
      || differsInCodings(from: request) { offered, accepted in
        accepted.getsTheSame(as: offered, in: fields[.contentEncoding])
      }
  }

  /// Returns `true` if a request that accepts more encodings may get this if the origin confirms it: then it is for all
  /// of them.
  func mayAnswer(_ request: HTTPFields) -> Bool {
    differsInCodings(from: request) { offered, accepted in
      offered.getsTheSame(as: accepted, in: fields[.contentEncoding])
    }
  }

  private func differsInCodings(
    from request: HTTPFields, _ compare: (_ offered: AcceptedCodings, _ accepted: AcceptedCodings) -> Bool
  ) -> Bool {
    guard let offered = vary.acceptedCodings, vary.matches(request, but: "accept-encoding") else { return false }
    return compare(offered, AcceptedCodings(request))
  }
}
