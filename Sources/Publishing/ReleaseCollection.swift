import Foundation
import FoundationXML
import HTTPTransport
import Releases

/// The objects that no release needs any more.
package struct ReleaseCollection: Hashable, Sendable {
  /// The former releases that are given up.
  package let releases: [ReleasePointer.Release]
  /// The objects to remove.
  package let objects: [ListedObject]
  /// The number of objects whose names publishers do not write. They stay.
  package let others: Int
  /// The pointer without the releases that are given up.
  let pointer: ReleasePointer

  /// The bytes of the objects, as the store's listing says; the largest number if they are more.
  package var bytes: Int64 {
    objects.reduce(0) { sum, object in
      let (sum, overflows) = sum.addingReportingOverflow(object.size)
      return overflows ? .max : sum
    }
  }

  /// - Parameters:
  ///   - pointer: the present pointer.
  ///   - count: the number of former releases that are kept.
  ///   - needed: the names of all objects of the releases that are kept.
  ///   - deadline: objects written later than this are kept: hosts may still be fetching them.
  init(
    of pointer: ReleasePointer, keeping count: Int, needed: Set<String>, among objects: [ListedObject],
    writtenBefore deadline: Date
  ) {
    var next = pointer
    next.former = Array(pointer.former.prefix(count))
    next.collections &+= 1
    releases = Array(pointer.former.dropFirst(count))
    self.objects = objects.filter {
      PublishedNames.isCollected($0.name, upTo: pointer.collections) && !needed.contains($0.name)
        && $0.modified < deadline
    }
    others = objects.count { $0.name != S3Store.conditionCheck && !PublishedNames.isRead($0.name) }
    self.pointer = next
  }
}

extension PublishedReleases {
  /// The time for which objects without a release are kept, in seconds: a host may be fetching a release that is no longer
  /// named, and a publisher may be about to name it.
  private static let grace: TimeInterval = 24 * 3600

  /// Gives up old releases, and removes the objects that no other one needs.
  ///
  /// The pointer is replaced before the first object is removed, so that a publisher who has read the former one begins
  /// anew, with other names: see ``PublishedNames``.
  ///
  /// - Parameters:
  ///   - count: the number of former releases that stay, besides those of which a kept one's rollout or channels need the
  ///     manifest.
  ///   - isTrial: `true` to change nothing.
  ///   - removed: is called after each object.
  /// - Throws: ``PublishError``, ``DescribedError``, ``ManifestError``, ``ObjectStoreError``, ``TransportError``,
  ///   `CancellationError`.
  package func collect(
    keeping count: Int, isTrial: Bool = false, isAlone: Bool = false,
    _ removed: @escaping @Sendable (ListedObject) -> Void = { _ in }
  ) async throws -> ReleaseCollection {
    if !isTrial { try await copyPointer() }
    guard let state = try await state() else { throw PublishError.nothingPublished(store.location) }
    let objects = try await store.objects()
    let kept = [state.pointer.current] + state.pointer.former.prefix(count)
    let collection = ReleaseCollection(
      of: state.pointer, keeping: count, needed: try await names(of: kept.map(\.manifest)), among: objects,
      writtenBefore: try await storeTime(objects).addingTimeInterval(-Self.grace))
    if isTrial || collection.releases.isEmpty && collection.objects.isEmpty { return collection }
    try await replace(state, with: collection.pointer, isAlone: isAlone)
    for object in collection.objects {
      try await store.remove(object.name)
      removed(object)
    }
    return collection
  }

  /// The names of the manifests, their signatures and contents, also of the manifests that they name.
  private func names(of references: [ManifestReference]) async throws -> Set<String> {
    var names: Set<String> = []
    var rest = references
    while let reference = rest.popLast() {
      guard names.insert(reference.url).inserted else { continue }
      names.insert(reference.url + ".sig")
      // One on another server has its contents there.
      guard !reference.url.contains("/") else { continue }
      let manifest = try await manifest(reference)
      rest += [manifest.otherwise].compactMap(\.self) + manifest.channels.values
      for entry in manifest.bundles + manifest.files {
        guard let sha256 = entry.sha256 else { continue }
        names.insert(PublishedNames.blobs + (entry.blob ?? sha256.hex))
        for base in entry.deltas.keys {
          names.insert(PublishedNames.blobs + Manifest.deltaPath(to: sha256, from: base))
        }
      }
    }
    return names
  }

  /// The time by the store's clock, from the pointer's age; by this machine's clock if the store does not tell.
  private func storeTime(_ objects: [ListedObject]) async throws -> Date {
    guard let written = objects.first(where: { $0.name == PublishedNames.pointer })?.modified,
      let age = try await store.properties(of: PublishedNames.pointer)?.age
    else { return now() }
    return written.addingTimeInterval(TimeInterval(age.components.seconds))
  }
}

/// An object of a list.
package struct ListedObject: Hashable, Sendable {
  /// Its key, below the location's prefix.
  package let name: String
  package let size: Int64
  /// The time at which it was written.
  package let modified: Date
}

extension S3Store {
  /// The largest number of objects that are looked at.
  private static let listLimit = 1_000_000
  /// The largest number of pages, and of those that bring nothing new. A page has a thousand objects in most stores.
  private static let (pageLimit, emptyPageLimit) = (10_000, 100)

  /// The objects of the location, by ListObjectsV2.
  ///
  /// - Throws: ``DescribedError``, ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func objects() async throws -> [ListedObject] {
    var objects: [ListedObject] = []
    var (names, tokens): (Set<String>, Set<String>) = ([], [])
    var emptyPages = 0
    var token: String?
    repeat {
      // A signature is of the parameters in their order.
      let parameters =
        (token.map { ["continuation-token=\($0.percentEncoded)"] } ?? [])
        + ["list-type=2", "prefix=\(location.prefix.percentEncoded)"]
      let page = try ListPage(reading: try await list(query: parameters.joined(separator: "&")), below: location.prefix)
      let new = page.objects.filter { names.insert($0.name).inserted }
      objects += new
      emptyPages += new.isEmpty ? 1 : 0
      token = page.next
      guard objects.count <= Self.listLimit else {
        throw DescribedError(
          "\(location) has more than \(Self.listLimit) objects: give the releases a prefix of their own")
      }
      guard let token else { break }
      guard tokens.insert(token).inserted else {
        throw endless("it names the same next page twice")
      }
      guard emptyPages <= Self.emptyPageLimit else {
        throw endless("\(emptyPages) of its pages bring nothing new")
      }
      guard tokens.count < Self.pageLimit else {
        throw endless("it has more than \(Self.pageLimit) pages")
      }
    } while true
    return objects
  }

  private func endless(_ reason: String) -> DescribedError {
    DescribedError("the object store's list of \(location) has no end: \(reason)")
  }
}

/// An answer to ListObjectsV2.
struct ListPage: Hashable, Sendable {
  private(set) var objects: [ListedObject] = []
  /// The token of the next page; `nil` for the last one.
  private(set) var next: String?

  /// The largest size of a token, and of an object's key as the stores limit it, in bytes.
  private static let (tokenLimit, keyLimit) = (4096, 1024)

  /// - Throws: ``DescribedError``.
  init(reading bytes: [UInt8], below prefix: String) throws {
    let reader = Reader(prefix)
    let parser = XMLParser(data: Data(bytes))
    parser.delegate = reader
    // The parser itself takes a document that is cut off.
    guard parser.parse(), reader.isList, reader.isWhole else {
      throw Self.unreadable(
        reader.fault ?? parser.parserError?.localizedDescription ?? "it is not a ListBucketResult")
    }
    (objects, next) = (reader.objects, reader.isCut ? reader.token : nil)
    if reader.isCut, next == nil { throw Self.unreadable("it is cut off, and has no token") }
    // The token goes into a URL.
    if let count = next?.utf8.count, count > Self.tokenLimit {
      throw Self.unreadable("its token has \(count) bytes, more than \(Self.tokenLimit)")
    }
  }

  private static func unreadable(_ reason: String) -> DescribedError {
    DescribedError("the object store's list of objects cannot be read: \(reason)")
  }

  private final class Reader: NSObject, XMLParserDelegate {
    private let prefix: String
    private(set) var objects: [ListedObject] = []
    private(set) var isList = false
    private(set) var isWhole = false
    private(set) var isCut = false
    private(set) var token: String?
    private(set) var fault: String?
    private var path: [String] = []
    private var text = ""
    private var fields: [String: String] = [:]

    init(_ prefix: String) { self.prefix = prefix }

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      if path.isEmpty { isList = name == "ListBucketResult" }
      path.append(name)
      text = ""
      if path.count == 2 { fields = [:] }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
      defer {
        path.removeLast()
        text = ""
        isWhole = path.isEmpty
      }
      guard isList else { return }
      switch (path.count, name) {
      case (3, _) where path[1] == "Contents": fields[name] = text
      case (2, "Contents"): addObject(parser)
      case (2, "IsTruncated"): isCut = text == "true"
      case (2, "NextContinuationToken"): token = text
      default: break
      }
    }

    private func addObject(_ parser: XMLParser) {
      guard let key = fields["Key"], key.hasPrefix(prefix), key.utf8.count <= ListPage.keyLimit,
        let size = fields["Size"].flatMap({ $0.utf8.allSatisfy { (48...57).contains($0) } ? Int64($0) : nil }),
        let modified = fields["LastModified"].flatMap({ Self.date($0) })
      else {
        fault = "an object has no usable Key, Size or LastModified"
        return parser.abortParsing()
      }
      objects.append(ListedObject(name: String(key.dropFirst(prefix.count)), size: size, modified: modified))
    }

    /// RFC 3339, with or without fractions of a second.
    private static func date(_ text: String) -> Date? {
      (try? Date(
        text,
        strategy: .iso8601.year().month().day().timeZone(separator: .omitted).time(includingFractionalSeconds: true)))
        ?? (try? Date(text, strategy: .iso8601))
    }
  }
}
