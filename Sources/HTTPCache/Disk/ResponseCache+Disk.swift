import Blobs
import HTTPCaching
import HTTPTransport
import Logging
import Synchronization

extension ResponseCache {
  /// A cache in memory and in a folder.
  ///
  /// - Parameters:
  ///   - memoryCapacity: in bytes; 0 is refused unless `allowingNone`.
  ///   - diskCapacity: in bytes; responses that are kept do not count.
  ///   - directory: `nil` for the folders of the app: ``StoreDirectory/app(_:environment:)``.
  ///   - allowingNone: pass `true` for a cache without memory.
  ///   - policy: the rules of a private cache, or of a shared one. RFC 9111 §1. A shared cache needs a `directory` of its
  ///     own: the app's folders have what a private cache stored.
  ///   - logger: gets warnings of the store.
  /// - Throws: ``ResponseCacheError/noMemory`` if `memoryCapacity` is 0 and `allowingNone` is `false`; `StoreError`.
  public convenience init(
    memoryCapacity: Int = 4 << 20, diskCapacity: Int64 = 20 << 20, directory: ResponseDirectory? = nil,
    allowingNone: Bool = false, policy: CachePolicy = CachePolicy(mode: .private),
    logger: Logger = Logger(label: "pagekit.cache")
  ) throws {
    let directory = directory ?? ResponseDirectory(beside: .app())
    let store = try ResponseStore(at: directory, options: .init(capacity: diskCapacity), logger: logger)
    try self.init(
      store: store, memoryCapacity: memoryCapacity, allowingNone: allowingNone, policy: policy,
      regionStores: { name, capacity in
        try ResponseStore(at: directory.region(name), options: .init(capacity: capacity), logger: logger)
      }, regionNames: { directory.regionNames }, logger: logger)
  }

  /// A cache that stores no responses, so that every request is sent. Bytes that are stored by name in a region stay in
  /// memory, and nothing is written to the disk.
  public static func storingNothing() -> ResponseCache {
    ResponseCache(
      of: NoResponseStore(), memoryCapacity: 0, regionStores: { _, _ in NoResponseStore() },
      logger: Logger(label: "pagekit.cache", factory: { _ in SwiftLogNoOpLogHandler() }))
  }

  /// The one that is used unless another is given; made when it is first asked for, in the app's folders. It can be
  /// replaced at any time, for those who ask for it from then on.
  public static var shared: ResponseCache {
    get throws {
      try sharedCache.withLock { shared in
        if let shared { return shared }
        let made = try ResponseCache()
        shared = made
        return made
      }
    }
  }

  /// Makes a cache the one that ``shared`` gives.
  public static func setShared(_ cache: ResponseCache) { sharedCache.withLock { $0 = cache } }

  private static let sharedCache = Mutex<ResponseCache?>(nil)
}
