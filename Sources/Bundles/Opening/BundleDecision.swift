import HTTPTransport

/// The next step when a page is opened, decided from its policy, the stored bytes, the server's answers in this launch,
/// and the attempts so far.
///
/// A value without I/O; ``BundleOpening`` carries out each step and then decides again.
enum BundleDecision: Equatable, Sendable {
  /// Checks the stored bytes against their digest, and runs them.
  case runStored(Blob, as: Confirmation)
  /// Moves damaged stored bytes away.
  case quarantine(Blob)
  /// Asks for the server's manifest.
  case askServer
  /// Asks the checksum sources for the MD5 of a bundle outside the manifest.
  case askOtherSources
  /// Fetches the bundle from the server.
  case fetch(ExpectedContent)
  /// Fails: there are no bytes that may be run.
  case fail
  /// Fails: the publisher has disabled the bundle, with a message for the user.
  case refuse(message: String)

  /// The certainty that the server has the same bytes.
  enum Confirmation: Equatable, Sendable {
    /// The server confirmed the bytes in this launch.
    case verified
    /// The server was not asked, could not be reached, or gives no digest.
    case unverified
    /// The server has other bytes, which could not be fetched.
    case stale
    /// The server no longer has the bundle.
    case gone
    /// The server's release is bad on this device, and these are bytes of another one.
    case instead
  }

  /// The server's answer about the bundle in this launch.
  enum ServerState: Equatable, Sendable {
    case notAsked
    case expects(ExpectedContent)
    case hints(MD5Digest)
    /// The manifest does not list the bundle, and the other checksum sources were not asked.
    case notListed
    /// There is no answer: offline, an error, or too late.
    case unknown
    /// The server answers, but none of the checksum sources gives an MD5; only a download tells its bytes.
    case withoutChecksum
    /// The server no longer has the bundle: 404 or 410.
    case gone
    /// The server's release is bad on this device; `good` is what the current release has of the bundle, `nil` if that
    /// is nothing.
    case offersBad(good: ExpectedContent?)
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
    /// The publisher's message, if it has disabled the bundle.
    var disabled: String?
  }

  init(for situation: Input) {
    let policy = situation.policy
    if let message = situation.disabled {
      // The publisher may have enabled it again.
      self = situation.server == .notAsked && policy.usesNetwork ? .askServer : .refuse(message: message)
      return
    }
    switch (situation.stored, situation.server) {
    case (.damaged(let blob), _):
      self = .quarantine(blob)
    case (.blob(let blob), .notAsked) where policy.startsWithStored:
      self = .runStored(blob, as: .unverified)
    case (_, .notAsked):
      self = policy.usesNetwork ? .askServer : .fail
    case (_, .notListed):
      self = .askOtherSources
    case (.blob(let blob), .offersBad(let good)) where good?.matches(blob) ?? true:
      self = .runStored(blob, as: .instead)
    case (.nothing, .offersBad(good: nil)):
      self = .fail
    case (.nothing, let server):
      self = situation.fetchHasFailed ? .fail : .fetch(server.expected)
    case (.blob(let blob), .expects(let expected)) where expected.matches(blob):
      self = .runStored(blob, as: .verified)
    case (.blob(let blob), .hints(let md5)) where md5 == blob.md5:
      self = .runStored(blob, as: .verified)
    case (.blob(let blob), .unknown) where policy.allowsUnconfirmed:
      self = .runStored(blob, as: .unverified)
    case (.blob(let blob), .withoutChecksum) where situation.fetchHasFailed && policy.allowsUnconfirmed:
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
  /// The digests that fetched bytes must have; a hint rejects no bytes.
  fileprivate var expected: ExpectedContent {
    switch self {
    case .expects(let expected), .offersBad(let expected?): expected
    default: ExpectedContent(md5: nil)
    }
  }
}

extension ExpectedContent {
  /// Returns `true` if the blob has the expected digests, or if no digest is expected.
  func matches(_ blob: Blob) -> Bool { mismatch(with: blob) == nil }
}

/// The entries of releases that a page may be opened with, newest first, then the bundle that no manifest lists.
extension [StoredCandidate] {
  /// Returns the stored bytes that a page shows when the server has not said which ones it has.
  ///
  /// - Parameter consistency: decides whether a release shows before it is complete.
  /// - Returns: `nil` if no candidate has its bytes.
  func best(_ consistency: Consistency) -> StoredCandidate? {
    let stored = filter { $0.blob != nil }
    return stored.min { Self.rank($0, consistency) < Self.rank($1, consistency) }
  }

  /// Without the server an incomplete release stays incomplete: an incoming release comes before the current one only
  /// if all its files are stored.
  private static func rank(_ candidate: StoredCandidate, _ consistency: Consistency) -> Int {
    switch candidate.place {
    case .incoming: consistency == .bundle && candidate.hasAllFiles ? 0 : 2
    case .current: 1
    case .previous: 3
    case .unlisted: 4
    }
  }
}
