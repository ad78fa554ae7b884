import HTTPCaching
import HTTPTransport

/// Whose responses: those of one partition never answer a request of another.
///
///     try await host.use(partition: .user("ann"))  // who has signed in
///     try await host.forget(partition: .user("bob"))  // who has left
public struct CachePartition: Hashable, Sendable, CustomStringConvertible {
  /// The stored form.
  public let text: String

  /// Everybody's: responses that a shared cache may keep.
  public static let shared = CachePartition(text: "shared")
  /// The one user of this cache.
  public static let `private` = CachePartition(text: "private")

  /// One of several users, or one account.
  public static func user(_ name: String) -> CachePartition {
    CachePartition(text: "private:\(Hex.encode(Array(name.utf8)))")
  }

  package init(text: String) { self.text = text }

  /// Returns `true` for the partition that all users share.
  package var isShared: Bool { self == .shared }
  public var description: String { text }
}

/// Identifies responses: whose they are, and the URL or name they have.
///
///     if let article = PageURL("https://api.example.com/articles/7") {
///       try await host.responses.remove(for: CacheKey(article, in: .user("ann")))
///     }
public struct CacheKey: Hashable, Sendable, CustomStringConvertible {
  /// Whose responses these are.
  public let partition: CachePartition
  /// A normalised URL; or, for what has none, a name behind `key:`.
  public let name: String
  /// A key is looked up many times for one request.
  private let hash: Int

  private init(_ partition: CachePartition, name: String) {
    self.partition = partition
    self.name = name
    var hasher = Hasher()
    hasher.combine(partition)
    hasher.combine(name)
    hash = hasher.finalize()
  }

  /// The key of a URL's responses.
  public init(_ url: PageURL, in partition: CachePartition = .private) { self.init(partition, name: url.text) }

  /// The key of a URL whose server may answer in another way for each host that it is asked as.
  ///
  /// - Parameter host: stands behind the URL and a space, which no URL has; `nil` for none.
  package init(_ url: PageURL, host: String?, in partition: CachePartition) {
    var name = url.text
    if let host {
      name.reserveCapacity(name.utf8.count + 1 + host.utf8.count)
      name += " "
      name += host
    }
    self.init(partition, name: name)
  }

  /// The key of a request with a body, by the text that its rule made of that.
  public init(_ url: PageURL, body: String, in partition: CachePartition = .private) {
    self.init(partition, name: "key:\(url.text) \(body)")
  }

  /// The key of something that has no URL.
  public init(named name: String, in partition: CachePartition = .private) {
    self.init(partition, name: "key:\(name)")
  }

  /// As it was written down.
  package init?(text: String) {
    guard let space = text.firstIndex(of: " ") else { return nil }
    self.init(CachePartition(text: String(text[..<space])), name: String(text[text.index(after: space)...]))
  }

  public static func == (left: CacheKey, right: CacheKey) -> Bool {
    left.hash == right.hash && left.name == right.name && left.partition == right.partition
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  public var description: String { "\(partition.text) \(name)" }
}

/// Which entries to remove or to mark. Unless it says so, kept ones go too.
package enum ResponseSelection: Hashable, Sendable {
  case all
  /// Those of one partition.
  case partition(CachePartition)
  case key(CacheKey)
  /// Those whose key's name begins so.
  case prefix(String, in: CachePartition)
  /// Those that their origin gave one of these tags.
  case tags(Set<String>)
  case entries([Int64])
  /// Stored at this time or later; seconds since 1970.
  case since(Double)
  /// No longer fresh at this time, and not kept.
  case stale(at: HTTPDate)

  /// Returns `true` if an entry is selected.
  package func contains(_ entry: ResponseEntry) -> Bool {
    switch self {
    case .entries(let ids): ids.contains(entry.id)
    case .since(let time): entry.storedAt >= time
    case .stale(let now): !entry.isKept && entry.head.staleAt <= now.secondsSinceEpoch
    case .tags(let tags): !tags.isDisjoint(with: entry.head.tags)
    case .all, .partition, .key, .prefix: covers(entry.key) == true
    }
  }

  /// Returns `true` if everything under a key is selected, and `nil` if the key does not tell.
  package func covers(_ key: CacheKey) -> Bool? {
    switch self {
    case .all: true
    case .partition(let partition): key.partition == partition
    case .key(let other): key == other
    case .prefix(let prefix, let partition): key.partition == partition && key.name.utf8.starts(with: prefix.utf8)
    case .entries, .since, .stale, .tags: nil
    }
  }
}
