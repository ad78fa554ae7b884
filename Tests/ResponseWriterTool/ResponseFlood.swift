import Foundation
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting

/// Responses one after the other. The key of each tells the length and the digest of its body.
struct ResponseFlood {
  let store: ResponseStore
  let seed: UInt64

  init(cache: String, durable: String, seed: UInt64) throws {
    self.seed = seed
    store = try ResponseStore(
      at: ResponseDirectory(cache, durable: durable), options: .init(capacity: 512 << 10, lowSpace: 0))
  }

  func run(tasks: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          var hasStarted = false
          var generator = SeededGenerator(seed: seed &* 64 &+ UInt64(task))
          while true {
            try await storeOne(&generator)
            if !hasStarted { try FileHandle.standardOutput.write(contentsOf: Data(".".utf8)) }
            hasStarted = true
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private func storeOne(_ generator: inout SeededGenerator) async throws {
    let bytes = generator.bytes(size(&generator))
    let key = CacheKey(named: "\(bytes.count) \(try ContentDigests(of: bytes).sha256.hex)")
    if Int.random(in: 0..<64, using: &generator) == 0 { _ = try await store.setKept(true, for: key) }
    let writer = try store.writer()
    for start in stride(from: 0, to: bytes.count, by: 16 << 10) {
      try writer.append(Array(bytes[start..<min(bytes.count, start + 16 << 10)]))
    }
    let never = HTTPDate(secondsSinceEpoch: 0)
    var fields: HTTPFields = [.contentLength: "\(bytes.count)"]
    let tag = "t\(Int.random(in: 0..<16, using: &generator))"
    if let name = HTTPField.Name("Cache-Tag") { fields[name] = "\(tag), all" }
    let head = ResponseMetadata(
      status: 200, fields: fields, times: ExchangeTimes(request: never, response: never),
      vary: VaryKey(), extent: .whole(Int64(bytes.count)), staleAt: 1)
    _ = try await store.commit(writer, head: head, for: key, replacing: [])
    switch Int.random(in: 0..<32, using: &generator) {
    case 0: _ = try await store.remove(.tags([tag]))
    case 1: _ = try await store.markStale(.tags(["all"]), since: never)
    default: break
    }
  }

  /// Short ones in the entry's file, longer ones that wait in memory, long ones that wait in a file.
  private func size(_ generator: inout SeededGenerator) -> Int {
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: Int.random(in: 0..<4_000, using: &generator)
    case 1, 2: Int.random(in: 4_000..<60_000, using: &generator)
    default: Int.random(in: 60_000..<400_000, using: &generator)
    }
  }
}
