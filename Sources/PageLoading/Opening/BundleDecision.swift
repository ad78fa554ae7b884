import PageCore

/// What to do when a page is opened, from what is stored, what the server said this launch, and what was tried.
///
/// Pure; ``BundleLoader`` does what it says and asks again.
enum BundleDecision: Equatable, Sendable {
  /// Check the stored bytes against this, and run them.
  case runStored(Blob, as: Standing)
  /// The stored bytes are not what they should be: out of the way with them.
  case quarantine(Blob)
  /// Ask those that may know the MD5 of a bundle outside the manifest.
  case askOtherSources
  case fetch(ExpectedContent)
  /// Nothing that may be run.
  case fail

  /// How sure it is that the server would send the same.
  enum Standing: Equatable, Sendable {
    /// The server says so in this launch.
    case verified
    /// The server could not be asked, or does not tell.
    case unverified
    /// The server has other bytes, which cannot be had now.
    case stale
  }

  /// What the server said of the bundle in this launch.
  enum ServerWord: Equatable, Sendable {
    case expects(ExpectedContent)
    case hints(MD5Digest)
    /// The manifest does not list it, and other sources were not asked.
    case notListed
    /// Offline, an error, not known in time, or every source is silent.
    case unknown
  }

  struct Situation: Equatable, Sendable {
    enum Stored: Equatable, Sendable {
      case nothing
      case blob(Blob)
      case damaged(Blob)
    }

    var stored: Stored
    var server: ServerWord
    var fetchHasFailed = false
    /// Whether other bytes than the server's may be run when those cannot be had.
    var allowsStale = true
  }

  init(for situation: Situation) {
    switch (situation.stored, situation.server) {
    case (.damaged(let blob), _):
      self = .quarantine(blob)
    case (_, .notListed):
      self = .askOtherSources
    case (.nothing, let server):
      self = situation.fetchHasFailed ? .fail : .fetch(server.expected)
    case (.blob(let blob), .expects(let expected)) where expected.matches(blob):
      self = .runStored(blob, as: .verified)
    case (.blob(let blob), .hints(let md5)) where md5 == blob.md5:
      self = .runStored(blob, as: .verified)
    case (.blob(let blob), .unknown):
      self = .runStored(blob, as: .unverified)
    case (.blob(let blob), let server):
      if !situation.fetchHasFailed {
        self = .fetch(server.expected)
      } else {
        self = situation.allowsStale ? .runStored(blob, as: .stale) : .fail
      }
    }
  }
}

extension BundleDecision.ServerWord {
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
