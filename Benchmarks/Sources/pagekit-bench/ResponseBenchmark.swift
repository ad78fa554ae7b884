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
    let loader = ResourceLoader(cache: cache, transport: Items())
    let samples = (0..<150).map { Sample(number: $0) }
    for sample in samples { _ = try await loader.response(for: Self.request(sample)).body.collect() }
    let resident = Self.residentBytes() - before
    let peer = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: path + "/peer")
    for sample in samples { peer.storeCachedResponse(Self.peerResponse(sample), for: sample.foundation) }
    let request = Self.request(samples[7])
    var ours: [Double] = []
    var theirs: [Double] = []
    for _ in 0..<5 {
      var position = 0
      ours.append(
        try await Measurement.time(20_000) {
          guard try await loader.response(for: request).source == .memory else {
            throw Measurement.Failed(description: "no hit")
          }
        })
      theirs.append(
        try await Measurement.time(20_000) {
          position = (position + 1) % samples.count
          guard peer.cachedResponse(for: samples[position].foundation) != nil else {
            throw Measurement.Failed(description: "no hit")
          }
        })
    }
    add("hit in memory, through the loader", ours, Measurement.median(theirs), "\(resident >> 20) MiB", &table)
  }

  private func diskHits(_ table: inout Table, _ path: String) async throws {
    let cache = try ResponseCache(
      memoryCapacity: 0, diskCapacity: 100 << 20, directory: ResponseDirectory(path), allowingNone: true)
    let peer = URLCache(memoryCapacity: 0, diskCapacity: 100 << 20, diskPath: path + "/peer")
    let samples = (0..<Self.entries).map { Sample(number: $0) }
    for sample in samples {
      try await Self.fill(cache, sample)
      peer.storeCachedResponse(Self.peerResponse(sample), for: sample.foundation)
    }
    var ours: [Double] = []
    var theirs: [Double] = []
    for _ in 0..<5 {
      var position = 0
      ours.append(
        try await Measurement.time(Self.entries) {
          position = (position + 1) % samples.count
          guard let hit = await cache.response(forKey: samples[position].text),
            let body = await cache.content(of: hit), try await body.collect().count == Self.entryBytes
          else { throw Measurement.Failed(description: "no hit") }
        })
      theirs.append(
        try await Measurement.time(Self.entries) {
          position = (position + 1) % samples.count
          guard peer.cachedResponse(for: samples[position].foundation)?.data.count == Self.entryBytes else {
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
      try await Self.fill(cache, Sample(number: position))
    }
    position = 0
    let theirs = await Measurement.time(count / 10) {
      position += 1
      let sample = Sample(number: position)
      peer.storeCachedResponse(Self.peerResponse(sample), for: sample.foundation)
      // It stores behind the call; asking for it waits for that.
      _ = peer.currentDiskUsage
    }
    let usage = try await cache.usage().disk
    guard usage.bytes <= 20 << 20 else { throw Measurement.Failed(description: "the capacity is exceeded") }
    add("10,000 entries stored while others are evicted, each", [ours], theirs, "", &table)
  }

  private func hitsAmongWriters(_ table: inout Table, _ path: String) async throws {
    let cache = try ResponseCache(memoryCapacity: 1 << 20, diskCapacity: 50 << 20, directory: ResponseDirectory(path))
    let read = (0..<200).map { Sample(number: $0) }
    for sample in read { try await Self.fill(cache, sample) }
    let writers = Task {
      await withTaskGroup(of: Void.self) { group in
        for writer in 0..<8 {
          group.addTask {
            var position = 1_000_000 * (writer + 1)
            while !Task.isCancelled {
              position += 1
              try? await Self.fill(cache, Sample(number: position))
            }
          }
        }
      }
    }
    var times: [Double] = []
    for position in 0..<4000 {
      let sample = read[position % read.count]
      let start = ContinuousClock.now
      if let hit = await cache.response(forKey: sample.text) { _ = await cache.content(of: hit) }
      times.append(Measurement.seconds(since: start))
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
    let text: String

    init(number: Int) { text = "http://127.0.0.1:1/api/items/\(number).json?lang=en" }

    var url: URL { URL(string: text) ?? URL(fileURLWithPath: "/") }
    var foundation: URLRequest { URLRequest(url: url) }
  }

  /// Answers every request with an item that is fresh for an hour.
  private struct Items: HTTPTransporting {
    func send(_ request: TransportRequest) async throws -> TransportResponse {
      let head = HTTPResponse(
        status: .ok,
        headerFields: [
          .date: HTTPDate.now.description, .cacheControl: "max-age=3600", .contentType: "application/json",
          .eTag: "\"v1\"", .contentLength: String(ResponseBenchmark.entryBytes),
        ])
      return TransportResponse(head: head, body: Body(ResponseBenchmark.body(request.url)))
    }
  }

  private static func request(_ sample: Sample) -> ResourceRequest {
    ResourceRequest(sample.text, behavior: .protocolCache)
  }

  private static func body(_ url: String) -> [UInt8] {
    var bytes = [UInt8](repeating: 120, count: entryBytes)
    // No two are equal: equal ones would be stored once.
    for (index, byte) in url.utf8.enumerated() { bytes[index] = byte }
    return bytes
  }

  private static func fill(_ cache: ResponseCache, _ sample: Sample) async throws {
    guard await cache.store(body(sample.text), forKey: sample.text, at: .now) != nil else {
      throw Measurement.Failed(description: "not stored")
    }
  }

  private static func peerResponse(_ sample: Sample) -> CachedURLResponse {
    let response = HTTPURLResponse(
      url: sample.url, statusCode: 200, httpVersion: "HTTP/1.1",
      headerFields: ["Cache-Control": "max-age=3600", "Content-Type": "application/json", "ETag": "\"v1\""])
    let plain = URLResponse(
      url: sample.url, mimeType: "application/json",
      expectedContentLength: entryBytes,
      textEncodingName: nil)
    return CachedURLResponse(response: response ?? plain, data: Data(body(sample.text)))
  }

  static func residentBytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4096 } ?? 0
  }
}
