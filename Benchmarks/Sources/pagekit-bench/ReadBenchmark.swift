import Foundation
import PageKit

/// Reading one verified bundle in this process.
struct ReadBenchmark {
  let folder: String

  func run(_ table: inout Table) async throws {
    let path = folder + "/read"
    try? FileManager.default.removeItem(atPath: path)
    let text = String(repeating: "var page = 'sixty-four kibibytes';\n", count: 1873)
    let bytes = Array(text.utf8.prefix(64 << 10))
    let plain = path + "/plain.js"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(fileURLWithPath: plain))
    let host = try PageHost(.init(store: StoreDirectory(path + "/store")))
    let store = host.store
    guard let url = PageURL(filePath: plain) else { throw Measurement.Failed(description: "\(plain) is not a path") }
    _ = try await host.bundles.load(url)
    guard let bundle = try await store.bundle(at: url), bundle.isStored else {
      throw Measurement.Failed(description: "\(plain) was not stored")
    }

    let count = 3000
    var peer: [Double] = []
    var disk: [Double] = []
    var memory: [Double] = []
    for _ in 0..<5 {
      peer.append(try await Measurement.time(count) { try Self.readAndDigest(plain) })
      disk.append(try await Measurement.time(count) { try await store.check(bundle) })
      memory.append(try await Measurement.time(count * 20) { _ = try await store.bytes(of: bundle) })
    }
    let base = Measurement.median(peer)
    await host.shutDown()
    for (what, times) in [("verified 64 KiB bundle, from disk", disk), ("verified 64 KiB bundle, from memory", memory)]
    {
      let time = Measurement.median(times)
      table.add(what, Figures.time(time), "read() and MD5: \(Figures.time(base))", Figures.ratio(time / base), "")
    }
  }

  /// The plain way: open, read, MD5.
  private static func readAndDigest(_ path: String) throws {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { throw Measurement.Failed(description: "cannot open \(path)") }
    defer { close(descriptor) }
    var status = stat()
    fstat(descriptor, &status)
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    _ = try MD5Digest(of: bytes)
  }
}
