import HTTPTransport

/// The experience of this device with a release.
public enum ReleaseStanding: String, Hashable, Sendable, Codable, CaseIterable {
  /// Its pages have not run for long enough.
  case trial
  /// Its pages have run without failing, or the app said so. It is never undone by itself.
  case good
  /// Its pages have failed. It is not fetched, opened or switched to.
  case bad
}

/// The options of the trial of new releases.
///
///     configuration.releases.trial?.failures = 3
///     configuration.releases.trial?.duration = .seconds(5)
public struct ReleaseTrial: Hashable, Sendable {
  /// The number of failed openings of a release, of all its pages together, after which it is bad; 2 by default.
  public var failures = 2
  /// The time for which a page must run after its first tree, without being stopped, before its release is good; 10
  /// seconds by default.
  public var duration: Duration = .seconds(10)

  /// The default options.
  public init() {}
}

/// The failure of a page in the trial of its release.
public struct TrialFailure: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The kind of a failure.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// The script threw an exception before the page had a tree.
    case exception
    /// The script ended, with all that it had begun, and there is no tree.
    case emptyPage
    /// The script took more time than it may.
    case timeLimit
    /// The script took more memory than it may.
    case memoryLimit
    /// The process ended before the page had a tree: it crashed, or a user ended a process that hung.
    case processEnded
  }

  /// The kind of the failure.
  public let kind: Kind
  /// The page's URL.
  public let page: String
  /// The error in words, such as the exception; at most ``messageLimit`` characters.
  public let message: String

  /// The number of characters of a message that are kept.
  static let messageLimit = 1_000

  package init(_ kind: Kind, page: String, message: String) {
    self.kind = kind
    self.page = String(page.prefix(Self.messageLimit))
    self.message = String(message.prefix(Self.messageLimit))
  }

  /// Decodes a failure of another install; long texts are cut.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .kind)
    guard let kind = Kind(rawValue: name) else {
      throw DecodingError.dataCorruptedError(
        forKey: .kind, in: container, debugDescription: "\(name.quotedForMessage) is no kind of failure")
    }
    self.init(
      kind, page: try container.decode(String.self, forKey: .page),
      message: try container.decode(String.self, forKey: .message))
  }

  public var description: String {
    switch kind {
    case .exception: "\(page) threw an exception: \(message)"
    case .emptyPage: "\(page) stayed empty"
    case .timeLimit, .memoryLimit: "\(page) was stopped: \(message)"
    case .processEnded: "the process ended while \(page) opened"
    }
  }
}

/// A release that is bad on this device.
public struct BadRelease: Hashable, Sendable, CustomStringConvertible {
  /// The URL of its manifest.
  public let source: PageURL
  /// The name in its manifest.
  public let name: String
  /// The sequence in its manifest.
  public let sequence: Int64
  /// The SHA-256 of the list of its bundles and files with their MD5s. A release with the same list is bad too.
  public let contents: SHA256Digest
  /// The latest failure; `nil` if a person marked the release.
  public let failure: TrialFailure?
  /// The number of failed openings.
  public let failures: Int
  /// The time at which it became bad, in seconds since 1970.
  public let since: Double

  public var description: String {
    guard let failure else { return "release \(name) was marked as bad on this device" }
    return "release \(name) failed \(failures == 1 ? "once" : "\(failures) times") on this device: \(failure)"
  }
}

/// The decision about a release in its trial.
enum TrialVerdict: Hashable, Sendable {
  /// The trial goes on.
  case undecided
  case good
  case bad

  /// The pages of a release that were opened in its trial.
  struct Record: Hashable, Sendable {
    /// The failed openings of all pages.
    var failures = 0
    /// The pages that have run for the trial's time since their last failure.
    var passed = 0
    /// The pages that failed and have not passed since, and those that are being opened.
    var open = 0
  }

  /// - Parameters:
  ///   - isReady: `true` if the app said that the release is good.
  ///   - canGoBack: `true` if the store has a good release. Without one the failed release stays: a page with an error is
  ///     no worse than none.
  init(after record: Record, isReady: Bool = false, canGoBack: Bool, options: ReleaseTrial) {
    if record.failures >= max(1, options.failures), canGoBack {
      self = .bad
    } else if isReady || record.passed > 0 && record.open == 0 {
      self = .good
    } else {
      self = .undecided
    }
  }
}
