import CurlTransport
import Foundation
import HTTPCache
import HTTPTransport
import Synchronization

/// The cookie jars of a host's users: one for each partition that was used.
final class PartitionCookies: Sendable {
  private let folder: String
  private let jars = Mutex<[CachePartition: any CookieStoring]>([:])

  /// - Parameter folder: the folder of the jars' files.
  init(folder: String) { self.folder = folder }

  /// Returns the cookies of the first user.
  ///
  /// - Parameter given: the app's own; `nil` for a jar in a file.
  /// - Throws: `TransportError` if libcurl cannot be set up.
  func begin(with given: (any CookieStoring)?, for partition: CachePartition) throws -> any CookieStoring {
    guard let given else { return try cookies(of: partition) }
    jars.withLock { $0[partition] = given }
    return given
  }

  func cookies(of partition: CachePartition) throws -> any CookieStoring {
    try jars.withLock { jars in
      if let known = jars[partition] { return known }
      let jar = try CookieJar(file: path(of: partition))
      jars[partition] = jar
      return jar
    }
  }

  /// Removes a partition's cookies.
  ///
  /// - Throws: `CookieFileError`, `TransportError`.
  func forget(_ partition: CachePartition) throws {
    let cookies = try cookies(of: partition)
    cookies.removeAll()
    if let jar = cookies as? CookieJar { try jar.flush() }
  }

  private func path(of partition: CachePartition) -> String {
    guard partition != .private else { return folder + "/cookies.txt" }
    let name = partition.text.map { $0.isLetter || $0.isNumber ? $0 : "-" }
    return folder + "/cookies-\(String(name)).txt"
  }
}
