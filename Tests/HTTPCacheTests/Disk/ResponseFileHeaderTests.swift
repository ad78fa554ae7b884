import Foundation
import HTTPCaching
import HTTPTransport
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache

/// The header of a response's file: what is written reads the same, and what is not a header is refused.
struct ResponseFileHeaderTests {
  private static func header(
    extent: Extent = .whole(50), vary: [String: String?] = [:], isInline: Bool = true, storedAt: Double = 1.5,
    _ change: (inout ResponseMetadata) -> Void = { _ in }
  ) throws -> ResponseFileHeader {
    var head = ResponseFixture.head(50, vary: VaryKey(values: vary), extent: extent, fields: fields)
    change(&head)
    return ResponseFileHeader(
      ResponseEntry(
        id: 0x0102_0304_0506_0708, key: CacheKey(named: "a ü\0b", in: .user("anna")), head: head,
        digest: try ContentDigests(of: [1]).sha256, isKept: false, storedAt: storedAt), isInline: isInline)
  }

  private static let fields = ResponseFixture.fields("one, two")

  private static func front(_ header: ResponseFileHeader) throws -> ArraySlice<UInt8> {
    try #require(try header.sealed()).dropFirst(ResponseFileHeader.sealSize)
  }

  private static func read(_ front: ArraySlice<UInt8>) -> ResponseFileHeader? {
    ResponseFileHeader(front: front, .binary, isKept: false)
  }

  @Test("a header that was written reads the same")
  func roundTrip() throws {
    let headers = try [
      Self.header(), Self.header(extent: .part(5..<55, of: 100), isInline: false),
      Self.header(extent: .part(0..<50, of: nil), vary: ["accept": "a", "x": nil, "y": ""]),
      Self.header {
        $0.isInvalidated = true
        $0.staleSince = HTTPDate(secondsSinceEpoch: -1)
        $0.staleAt = .min
        $0.fields = [:]
        $0.userInfo = ["": "", "ä": "\0"]
      },
    ]
    for header in headers {
      let sealed = try #require(try header.sealed())
      let opened = try #require(ResponseFileHeader.open(sealed + [1, 2, 3]))
      #expect(opened.bytes == sealed)
      #expect(opened.header(isKept: false) == header)
      #expect(opened.header(isKept: true)?.entry == header.entry.with(isKept: true))
    }
  }

  @Test("a front that is cut, is too long or contradicts itself is refused")
  func refusal() throws {
    let front = Array(try Self.front(Self.header(extent: .part(5..<55, of: 100), vary: ["accept": "a"])))
    for count in 0..<front.count { #expect(Self.read(front[..<count]) == nil) }
    #expect(Self.read(front + [0]) == nil)
    // Of the status, of the bytes stored, of the first position, of the time of storage, of the length of the key.
    for (position, bytes) in [
      (8, [99, 0]), (8, [0xE8, 3]), (75, [0x80]), (52, [0xFF, 0xFF, 0xFF, 0x7F] as [UInt8]), (50, [0xF0, 0x7F]),
      (108, [0xFF, 0xFF, 0xFF, 0xFF]),
    ] as [(Int, [UInt8])] {
      var changed = front
      changed.replaceSubrange(position..<(position + bytes.count), with: bytes)
      if position == 52 { changed.replaceSubrange(52..<60, with: [UInt8](repeating: 0xFF, count: 7) + [0x7F]) }
      #expect(Self.read(changed[...]) == nil, "at \(position)")
    }
    #expect(try Self.header { $0.userInfo = ["a": String(repeating: "b", count: 4 << 20)] }.sealed() == nil)
  }

  @Test("no bytes in the place of a front end the process")
  func noise() throws {
    let front = Array(try Self.front(Self.header(vary: ["accept": "a"])))
    var generator = SeededGenerator(seed: 7)
    for position in front.indices {
      for byte in [0, 0xFF, UInt8.random(in: 0...0xFF, using: &generator)] {
        var changed = front
        changed[position] = byte
        guard let header = Self.read(changed[...]) else { continue }
        #expect(Self.read(try Self.front(header)) == header)
      }
    }
  }

  // MARK: The former format

  /// The header as JSON, as PageKit wrote it once.
  private static func former(_ entry: ResponseEntry, isInline: Bool) throws -> [UInt8] {
    let head = entry.head
    let object: [String: Any] = [
      "id": entry.id, "key": entry.key.description, "status": head.status,
      "fields": head.fields.map { [$0.name.rawName, $0.value] },
      "requestedAt": head.times.request.secondsSinceEpoch, "receivedAt": head.times.response.secondsSinceEpoch,
      "vary": head.vary.values.mapValues { $0.map { $0 as Any } ?? NSNull() }, "size": head.extent.count,
      "isInvalidated": head.isInvalidated, "staleAt": head.staleAt, "userInfo": head.userInfo,
      "digest": entry.digest.hex, "count": head.extent.count, "isInline": isInline, "storedAt": entry.storedAt,
    ]
    let front = Array(try JSONSerialization.data(withJSONObject: object))
    let length = (0..<4).map { UInt8(truncatingIfNeeded: front.count >> ($0 * 8)) }
    return Array("PKR1".utf8) + length + (try ContentDigests(of: front).sha256.bytes) + front
  }

  @Test(
    "what is kept with headers of the former format is taken over, with its index and without",
    arguments: [true, false])
  func formerFolder(hasIndex: Bool) async throws {
    let fixture = try ResponseFixture()
    for name in ["a", "b", "long"] { _ = try await fixture.store.setKept(true, for: CacheKey(named: name)) }
    for name in ["a", "b"] {
      try await fixture.store(Array(name.utf8), for: CacheKey(named: name), vary: VaryKey(values: ["x": nil]))
    }
    let long = [UInt8](repeating: 1, count: 9_000)
    try await fixture.store(long, for: CacheKey(named: "long"), tags: "all")
    let entries = try await fixture.store.list()
    for entry in entries {
      let isInline = entry.head.extent.count < 100
      let sealed = try Self.former(entry, isInline: isInline)
      let body = isInline ? Array(entry.key.name.utf8.dropFirst("key:".utf8.count)) : []
      let path = try fixture.disk.directory.files(isKept: true).entry(entry.id).string
      try Data(sealed + body).write(to: URL(fileURLWithPath: path))
      try fixture.disk.index.write { db in
        try ResponseRow.update(db, entry, sealed: sealed, isInline: isInline)
        try db.execute(sql: "PRAGMA user_version = 2")
      }
    }
    let copy = try fixture.closedCopy()
    if !hasIndex { try Damage.remove(copy.folder.file("cache/responses.sqlite")) }
    let store = try copy.reopened()
    #expect(Set(try await store.list()) == Set(entries))
    #expect(try await copy.text("a", of: store) == "a")
    #expect(try await copy.bytes(CacheKey(named: "long"), of: store) == long)
    #expect(copy.log.lines.contains { $0.contains("built anew from 3 files") })
    #expect(!copy.log.lines.contains { $0.contains("damaged") })
    try await store.invalidate([CacheKey(named: "b")])
    #expect(try await store.entries(for: CacheKey(named: "b")).map(\.head.isInvalidated) == [true])
    #expect(try await copy.text("b", of: store) == "b")
  }
}
