import Foundation
import FoundationNetworking
import HTTPTypes
import PageKit

/// The response cache beside Foundation's `URLCache`, in one process and on one disk.
struct ResponseBenchmark {
  let folder: String

  private static let entryBytes = 16 << 10
  private static let entries = 500

  func run(_ table: inout Table) async throws {
    let path = folder + "/responses"
    try? FileManager.default.removeItem(atPath: path)
    try await memoryHits(&table, path + "/memory")
    try await diskHits(&table, path + "/disk")
    try await insertion(&table, path + "/insertion")
    try await hitsAmongWriters(&table, path + "/writers")
  }

  // MARK: Rows

  private func memoryHits(_ table: inout Table, _ path: String) async throws {
    let before = Self.residentBytes()
    let cache = try ResponseCache(memoryCapacity: 4 << 20, directory: ResponseDirectory(path))
    let requests = try (0..<150).map { try Self.request($0) }
    for request in requests { try await Self.fill(cache, request) }
    let resident = Self.residentBytes() - before
    let fields: HTTPFields = [:]
    let now = HTTPDate(secondsSinceEpoch: Int64(Date().timeIntervalSince1970))
    let peer = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: path + "/peer")
    for request in requests { peer.storeCachedResponse(Self.peerResponse(request), for: request.foundation) }
    let loader = try Self.loader(cache)
    let resource = ResourceRequest(requests[7].url.text, behavior: .protocolCache)
    var ours: [Double] = []
    var whole: [Double] = []
    var theirs: [Double] = []
    for _ in 0..<5 {
      var position = 0
      ours.append(
        try await Measurement.time(500_000) {
          position = (position + 1) % requests.count
          let request = requests[position]
          guard let hit = cache.responseInMemory(for: request.key, fields: fields),
            case .serve = cache.policy.decision(for: request.head, among: [hit.stored], at: now)
          else { throw Measurement.Failed(description: "no hit") }
        })
      whole.append(
        try await Measurement.time(20_000) {
          guard try await loader.response(for: resource).source == .memory else {
            throw Measurement.Failed(description: "no hit")
          }
        })
      theirs.append(
        try await Measurement.time(20_000) {
          position = (position + 1) % requests.count
          guard peer.cachedResponse(for: requests[position].foundation) != nil else {
            throw Measurement.Failed(description: "no hit")
          }
        })
    }
    let base = Measurement.median(theirs)
    let memory = "\(resident >> 20) MiB"
    add("hit in memory, found and judged", ours, base, memory, &table)
    add("hit in memory, through the loader", whole, base, "", &table)
  }

  private func diskHits(_ table: inout Table, _ path: String) async throws {
    let cache = try ResponseCache(
      memoryCapacity: 0, diskCapacity: 100 << 20, directory: ResponseDirectory(path), allowingNone: true)
    let peer = URLCache(memoryCapacity: 0, diskCapacity: 100 << 20, diskPath: path + "/peer")
    let requests = try (0..<Self.entries).map { try Self.request($0) }
    for request in requests {
      try await Self.fill(cache, request)
      peer.storeCachedResponse(Self.peerResponse(request), for: request.foundation)
    }
    var ours: [Double] = []
    var theirs: [Double] = []
    for _ in 0..<5 {
      var position = 0
      ours.append(
        try await Measurement.time(Self.entries) {
          position = (position + 1) % requests.count
          guard let hit = await cache.responses(for: requests[position].key).first,
            let body = await cache.body(of: hit), try body.read(at: 0, upTo: Self.entryBytes).count == Self.entryBytes
          else { throw Measurement.Failed(description: "no hit") }
        })
      theirs.append(
        try await Measurement.time(Self.entries) {
          position = (position + 1) % requests.count
          guard peer.cachedResponse(for: requests[position].foundation)?.data.count == Self.entryBytes else {
            throw Measurement.Failed(description: "no hit")
          }
        })
    }
    add("hit on disk, 16 KiB, digest checked", ours, Measurement.median(theirs), "", &table)
  }

  private func insertion(_ table: inout Table, _ path: String) async throws {
    let count = 10_000
    let cache = try ResponseCache(diskCapacity: 20 << 20, directory: ResponseDirectory(path))
    let peer = URLCache(memoryCapacity: 4 << 20, diskCapacity: 20 << 20, diskPath: path + "/peer")
    var position = 0
    let ours = try await Measurement.time(count) {
      position += 1
      try await Self.fill(cache, try Self.request(position))
    }
    position = 0
    let theirs = try await Measurement.time(count / 10) {
      position += 1
      let request = try Self.request(position)
      peer.storeCachedResponse(Self.peerResponse(request), for: request.foundation)
      // It stores behind the call; asking for it waits for that.
      _ = peer.currentDiskUsage
    }
    let usage = try await cache.usage().disk
    guard usage.bytes <= 20 << 20 else { throw Measurement.Failed(description: "the capacity is exceeded") }
    add("10,000 entries stored while others are evicted, each", [ours], theirs, "", &table)
  }

  private func hitsAmongWriters(_ table: inout Table, _ path: String) async throws {
    let cache = try ResponseCache(memoryCapacity: 1 << 20, diskCapacity: 50 << 20, directory: ResponseDirectory(path))
    let read = try (0..<200).map { try Self.request($0) }
    for request in read { try await Self.fill(cache, request) }
    let writers = Task {
      await withTaskGroup(of: Void.self) { group in
        for writer in 0..<8 {
          group.addTask {
            var position = 1_000_000 * (writer + 1)
            while !Task.isCancelled {
              position += 1
              if let request = try? Self.request(position) { try? await Self.fill(cache, request) }
            }
          }
        }
      }
    }
    var times: [Double] = []
    for position in 0..<4000 {
      let request = read[position % read.count]
      let start = ContinuousClock.now
      if let hit = await cache.responses(for: request.key).first { _ = await cache.body(of: hit) }
      let elapsed = ContinuousClock.now - start
      times.append(Double(elapsed.components.attoseconds) / 1e18 + Double(elapsed.components.seconds))
    }
    writers.cancel()
    await writers.value
    times.sort()
    table.add(
      "hit on disk while 8 writers store", "p50 \(Figures.time(times[times.count / 2]))",
      "p99 \(Figures.time(times[times.count * 99 / 100]))", "", "")
  }

  private func add(_ what: String, _ times: [Double], _ base: Double, _ resident: String, _ table: inout Table) {
    let time = Measurement.median(times)
    table.add(what, Figures.time(time), "URLCache: \(Figures.time(base))", Figures.ratio(time / base), resident)
  }

  // MARK: Samples

  private struct Sample: Sendable {
    let url: PageURL
    let key: CacheKey
    let head: HTTPRequest

    var foundation: URLRequest { URLRequest(url: url.url ?? URL(fileURLWithPath: "/")) }
  }

  private static func request(_ number: Int) throws -> Sample {
    let text = "http://127.0.0.1:1/api/items/\(number).json?lang=en"
    guard let url = PageURL(text), let head = HTTPRequest(url: url) else {
      throw Measurement.Failed(description: "no request")
    }
    return Sample(url: url, key: CacheKey(url), head: head)
  }

  private static func body(_ request: Sample) -> [UInt8] {
    var bytes = [UInt8](repeating: 120, count: entryBytes)
    // No two are equal: equal ones would be stored once.
    for (index, byte) in request.url.text.utf8.enumerated() { bytes[index] = byte }
    return bytes
  }

  private static func fill(_ cache: ResponseCache, _ request: Sample) async throws {
    let now = HTTPDate(secondsSinceEpoch: Int64(Date().timeIntervalSince1970))
    guard let writer = cache.writer() else { throw Measurement.Failed(description: "no writer") }
    try writer.append(body(request))
    let stored = await cache.commit(
      writer,
      ResponseCache.Arrival(
        key: request.key, request: request.head, status: 200,
        fields: [
          .date: now.description, .cacheControl: "max-age=3600", .contentType: "application/json", .eTag: "\"v1\"",
          .contentLength: String(entryBytes),
        ], times: ExchangeTimes(request: now, response: now), extent: .whole(Int64(entryBytes))))
    guard stored != nil else { throw Measurement.Failed(description: "not stored") }
  }

  private static func peerResponse(_ request: Sample) -> CachedURLResponse {
    let response = HTTPURLResponse(
      url: request.url.url ?? URL(fileURLWithPath: "/"), statusCode: 200, httpVersion: "HTTP/1.1",
      headerFields: ["Cache-Control": "max-age=3600", "Content-Type": "application/json", "ETag": "\"v1\""])
    let plain = URLResponse(
      url: request.url.url ?? URL(fileURLWithPath: "/"), mimeType: "application/json",
      expectedContentLength: entryBytes,
      textEncodingName: nil)
    return CachedURLResponse(response: response ?? plain, data: Data(body(request)))
  }

  private static func loader(_ cache: ResponseCache) throws -> ResourceLoader {
    ResourceLoader(cache: cache, transport: try CurlTransport(), coding: ContentDecoder())
  }

  static func residentBytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4096 } ?? 0
  }
}
