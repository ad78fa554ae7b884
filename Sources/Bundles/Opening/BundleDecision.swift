import HTTPTransport

/// What to do when a page is opened, from its policy, what is stored, what the server said this launch, and what was
/// tried.
///
/// Pure; ``BundleLoader`` does what it says and asks again.
enum BundleDecision: Equatable, Sendable {
  /// Check the stored bytes against their digest, and run them.
  case runStored(Blob, as: Confirmation)
  /// The stored bytes are damaged: move them away.
  case quarantine(Blob)
  /// Ask for the server's manifest.
  case askServer
  /// Ask those that may know the MD5 of a bundle outside the manifest.
  case askOtherSources
  case fetch(ExpectedContent)
  /// Nothing may be run.
  case fail

  /// How sure it is that the server would send the same.
  enum Confirmation: Equatable, Sendable {
    /// The server says so in this launch.
    case verified
    /// The server was not asked, could not be asked, or does not tell.
    case unverified
    /// The server has other bytes, which are not here.
    case stale
    /// The server has the bundle no more.
    case gone
  }

  /// What the server said of the bundle in this launch.
  enum ServerState: Equatable, Sendable {
    case notAsked
    case expects(ExpectedContent)
    case hints(MD5Digest)
    /// The manifest does not list it, and other sources were not asked.
    case notListed
    /// Offline, an error, or not known in time.
    case unknown
    /// The server is there, and none of its sources tells an MD5: only its bytes do.
    case untold
    /// The server has no such bundle: 404 or 410.
    case gone
  }

  struct Input: Equatable, Sendable {
    enum Stored: Equatable, Sendable {
      case nothing
      case blob(Blob)
      case damaged(Blob)
    }

    var stored: Stored
    var server: ServerState
    var fetchHasFailed = false
    var policy = OpenPolicy.networkFirst()
  }

  init(for situation: Input) {
    let policy = situation.policy
    switch (situation.stored, situation.server) {
    case (.damaged(let blob), _):
      self = .quarantine(blob)
    case (.blob(let blob), .notAsked) where policy.startsWithStored:
      self = .runStored(blob, as: .unverified)
    case (_, .notAsked):
      self = policy.usesNetwork ? .askServer : .fail
    case (_, .notListed):
      self = .askOtherSources
    case (.nothing, let server):
      self = situation.fetchHasFailed ? .fail : .fetch(server.expected)
    case (.blob(let blob), .expects(let expected)) where expected.matches(blob):
      self = .runStored(blob, as: .verified)
    case (.blob(let blob), .hints(let md5)) where md5 == blob.md5:
      self = .runStored(blob, as: .verified)
    case (.blob(let blob), .unknown) where policy.allowsUnconfirmed:
      self = .runStored(blob, as: .unverified)
    case (.blob(let blob), .untold) where situation.fetchHasFailed && policy.allowsUnconfirmed:
      self = .runStored(blob, as: .unverified)
    case (.blob(let blob), .gone):
      self = policy.allowsUnconfirmed ? .runStored(blob, as: .gone) : .fail
    case (.blob(let blob), let server):
      if !situation.fetchHasFailed {
        self = .fetch(server.expected)
      } else {
        self = policy.allowsUnconfirmed ? .runStored(blob, as: .stale) : .fail
      }
    }
  }
}

extension BundleDecision.ServerState {
  /// What fetched bytes must be; a hint rejects nothing.
  fileprivate var expected: ExpectedContent {
    if case .expects(let expected) = self { expected } else { ExpectedContent(md5: nil) }
  }
}

extension ExpectedContent {
  /// Whether bytes with these digests are the expected ones; true where nothing is known.
  func matches(_ blob: Blob) -> Bool {
    mismatch(with: ContentDigests(md5: blob.md5, sha256: blob.sha256, size: blob.size)) == nil
  }
}
