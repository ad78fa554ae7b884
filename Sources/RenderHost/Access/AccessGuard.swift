import PageKit
import ServerKit
import Synchronization

/// Holds the policy of the moment, and keeps to it whatever is fetched.
final class AccessGuard: Sendable {
  private let base: AccessPolicy
  let record: HostRecord
  private let state: Mutex<AccessPolicy>

  /// - Parameter policy: what holds whatever the release is.
  init(_ policy: AccessPolicy, record: HostRecord = HostRecord()) {
    self.record = record
    base = policy
    state = Mutex(policy)
  }

  /// A release has become current: its origins are those that count, and no longer those of the one before it.
  func follow(_ release: [PageBundle]) {
    var policy = base
    policy.add(release.flatMap { bundle in [bundle.url] + bundle.prefetch.compactMap { bundle.url.resolving($0) } })
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

  /// libcurl, with the addresses it connects to held against the policy, and no proxy from the environment.
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

/// Sends what the policy allows. Redirects come here again, each as a request of its own.
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
