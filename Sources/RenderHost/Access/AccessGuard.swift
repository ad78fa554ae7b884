import PageKit
import ServerKit
import Synchronization

/// Holds the current access policy and applies it to every fetch.
final class AccessGuard: Sendable {
  private let base: AccessPolicy
  let record: HostRecord
  private let state: Mutex<AccessPolicy>

  /// - Parameter policy: the part of the policy that holds for every release.
  init(_ policy: AccessPolicy, record: HostRecord = HostRecord()) {
    self.record = record
    base = policy
    state = Mutex(policy)
  }

  /// Replaces the origins of the previous release with those of a new one.
  func follow(_ release: [PageBundle]) {
    var policy = base
    policy.add(
      release.flatMap { bundle in
        [bundle.url, bundle.contentURL] + bundle.prefetch.compactMap { bundle.url.resolving($0) }
      })
    self.policy = policy
  }

  var policy: AccessPolicy {
    get { state.withLock(\.self) }
    set { state.withLock { $0 = newValue } }
  }

  /// - Throws: ``AccessRefusal``.
  func check(_ url: PageURL) throws {
    guard let refusal = policy.refusal(of: url) else { return }
    record.refused(refusal)
    throw refusal
  }

  /// A libcurl transport that checks each address it connects to against the policy, and uses no proxy of the
  /// environment.
  ///
  /// - Throws: ``TransportError``.
  func transport(_ configuration: CurlTransport.Configuration = .init()) throws -> any HTTPTransporting {
    var configuration = configuration
    configuration.usesEnvironmentProxies = false
    configuration.refusal = { [weak self] host, address, port in
      guard let self else { return "the daemon is ending" }
      guard let refusal = policy.refusal(host: host, address: address, port: port) else { return nil }
      record.refused(refusal)
      return refusal.description
    }
    return GuardedTransport(base: try CurlTransport(configuration), access: self)
  }
}

/// Sends the requests that the policy allows. Each redirect comes here again as a request of its own.
struct GuardedTransport: HTTPTransporting {
  let base: any HTTPTransporting
  let access: AccessGuard

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    guard let url = PageURL(request.url, ignoring: []) else {
      throw AccessRefusal(url: request.url, rule: .notAURL)
    }
    try access.check(url)
    return try await base.send(request)
  }

  func shutDown() async { await base.shutDown() }
}
