import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization
import Testing

@testable import HTTPCache

/// The app's hook and the storage policy.
struct ResponseCacheHookTests {
  typealias Kind = ResponseCacheFixture.Kind

  @Test(arguments: Kind.allCases)
  func theHookSeesTheResponseAndItsBytes(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let seen = Mutex<[String]>([])
    fixture.cache.willCache = { proposal in
      let bytes = (try? proposal.stored.read(at: 0, upTo: .max)) ?? []
      seen.withLock {
        $0.append("\(proposal.request.path ?? "") \(proposal.response.status.code) \(bytes) \(proposal.storagePolicy)")
      }
      return proposal
    }
    try await fixture.store([1, 2], for: try ResponseCacheFixture.key("a"))
    #expect(seen.withLock(\.self) == ["/ 200 [1, 2] allowed"])
  }

  @Test(arguments: Kind.allCases)
  func whatTheHookChangesIsWhatIsStored(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    fixture.cache.willCache = { proposal in
      var proposal = proposal
      proposal.replacement = [9, 9, 9]
      proposal.response.headerFields[.contentType] = "text/plain"
      proposal.userInfo["who"] = "the hook"
      return proposal
    }
    let key = try ResponseCacheFixture.key("a")
    try await fixture.store([1], for: key)
    try fixture.cache.setMemoryCapacity(0, allowingNone: true)
    let found = try #require(await fixture.cache.responses(for: key).last)
    #expect(try await fixture.bytes(key) == [9, 9, 9])
    #expect(found.stored.fields[.contentType] == "text/plain")
    #expect(found.stored.fields[.contentLength] == "3")
    #expect(found.userInfo == ["who": "the hook"])
  }

  @Test(arguments: Kind.allCases)
  func whatTheHookRefusesIsNotStored(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let key = try ResponseCacheFixture.key("a")
    fixture.cache.willCache = { _ in nil }
    #expect(try await fixture.store([1], for: key) == nil)
    fixture.cache.willCache = { proposal in
      var proposal = proposal
      proposal.storagePolicy = .notAllowed
      return proposal
    }
    #expect(try await fixture.store([1], for: key) == nil)
    #expect(try await fixture.bytes(key) == nil)
    fixture.cache.willCache = nil
    #expect(try await fixture.store([1], for: key) != nil)
  }

  @Test(arguments: Kind.allCases)
  func whatTheHookRestrictsToMemoryIsNeverOnDisk(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let key = try ResponseCacheFixture.key("a")
    try await fixture.store([1], for: key)
    fixture.cache.willCache = { proposal in
      var proposal = proposal
      proposal.storagePolicy = .memoryOnly
      return proposal
    }
    #expect(try await fixture.store([2], for: key) != nil)
    #expect(try await fixture.bytes(key) == [2])
    #expect(try await fixture.cache.store.list().isEmpty, "what it replaces is on disk no more")
    let large = [UInt8](repeating: 1, count: 1 << 20)
    #expect(try await fixture.store(large, for: try ResponseCacheFixture.key("large")) == nil)
    #expect(try await fixture.cache.store.list().isEmpty)
  }

  @Test(arguments: Kind.allCases)
  func anUpdatedResponseHasItsNewFieldsInBothTiers(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let key = try ResponseCacheFixture.key("a")
    let first = try #require(try await fixture.store([1], for: key))
    // As it was found on disk: without its bytes.
    let found = CachedResponse(first.entry, bytes: nil, policy: fixture.cache.policy)
    let times = ExchangeTimes(request: ResponseCacheFixture.now, response: ResponseCacheFixture.now)
    for response in [found, first] {
      let fields: HTTPFields = [.cacheControl: "max-age=5", .eTag: response.bytes == nil ? "\"1\"" : "\"2\""]
      let fresh = await fixture.cache.update(response, fields: fields, times: times)
      #expect(fresh.stored.fields == fields)
      #expect(fixture.cache.responseInMemory(for: key)?.stored.fields == fields)
      #expect(try await fixture.cache.store.entries(for: key).map(\.head.fields) == [fields])
      #expect(try await fixture.cache.store.entries(for: key).map(\.head.staleAt) == [1_700_000_005])
    }
    await fixture.cache.invalidate([key])
    #expect(await fixture.cache.responses(for: key).map(\.stored.isInvalidated) == [true])
    try await fixture.cache.remove(for: key)
    _ = await fixture.cache.update(first, fields: [:], times: times)
    #expect(try await fixture.bytes(key) == nil, "it was removed meanwhile")
  }

  @Test(arguments: Kind.allCases)
  func partsThatTouchBecomeOne(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let key = try ResponseCacheFixture.key("a")
    for (bytes, range) in [([3, 4], 2..<4), ([0, 1, 2], 0..<3), ([4, 5], 4..<6)] as [([UInt8], Range<Int64>)] {
      let writer = try #require(fixture.cache.writer())
      try writer.append(range.map { UInt8($0) })
      let arrival = ResponseCacheFixture.arrival(
        key, count: bytes.count, fields: [.eTag: "\"1\""], extent: Extent(range, of: 6))
      #expect(await fixture.cache.commitPart(writer, arrival) != nil)
    }
    #expect(try await fixture.bytes(key) == [0, 1, 2, 3, 4, 5])
    #expect(await fixture.cache.responses(for: key).map(\.stored.extent) == [.whole(6)])
    let writer = try #require(fixture.cache.writer())
    try writer.append([7])
    let late = ResponseCacheFixture.arrival(key, count: 1, fields: [.eTag: "\"2\""], extent: .part(0..<1, of: 6))
    #expect(await fixture.cache.commitPart(writer, late) == nil)
  }
}
