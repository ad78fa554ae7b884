import Synchronization

/// Objects by key, for as long as others keep them alive: who needs an object that is in use shares it.
///
/// It is inlinable, so that other modules' keys and objects cost no look-ups of metadata.
public final class WeakTable<Key: Hashable & Sendable, Object: AnyObject & Sendable>: Sendable {
  @usableFromInline
  struct Reference: Sendable {
    @usableFromInline weak let object: Object?

    @inlinable
    init(_ object: Object) { self.object = object }
  }

  @usableFromInline let references = Mutex<[Key: Reference]>([:])

  @inlinable
  public init() {}

  /// The key's object; `nil` if there is none, or nothing uses it any more.
  @inlinable
  public subscript(key: Key) -> Object? { references.withLock { $0[key]?.object } }

  /// Puts an object in the place of the key's former one, and removes the keys whose objects are gone, in linear time.
  @inlinable
  public func insert(_ object: Object, for key: Key) {
    references.withLock { references in
      references = references.filter { $0.value.object != nil }
      references[key] = Reference(object)
    }
  }

  /// The number of keys, with those whose objects are gone since the last insertion.
  @inlinable
  public var count: Int { references.withLock(\.count) }
}
