import Foundation
import PageTesting
import TestSupport
import Testing

@testable import bundlectl

struct EphemeralStoreTests {
  @Test("a folder is removed also while something makes files in it")
  func lateFiles() async throws {
    let parent = try TemporaryDirectory()
    for round in 0..<20 {
      let folder = parent.file("store\(round)")
      try FileManager.default.createDirectory(atPath: "\(folder)/late", withIntermediateDirectories: true)
      let started = AsyncStream<Void>.makeStream()
      Thread.detachNewThread {
        for number in 0..<20_000 {
          guard FileManager.default.createFile(atPath: "\(folder)/late/\(number)", contents: nil) else { break }
          if number == 100 { started.continuation.finish() }
        }
        started.continuation.finish()
      }
      for await _ in started.stream {}
      EphemeralStore.remove(URL(fileURLWithPath: folder))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: parent.path).isEmpty)
  }
}
