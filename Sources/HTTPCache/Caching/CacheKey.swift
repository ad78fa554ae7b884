import HTTPTransport

/// Whose responses: those of one partition never answer a request of another.
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
