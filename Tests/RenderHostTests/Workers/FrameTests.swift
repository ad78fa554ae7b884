import Foundation
import Logging
import NIOCore
import NIOEmbedded
import PageKit
import PageTesting
import Testing

@testable import RenderHost

@Suite struct FrameTests {
  private func read(_ bytes: [UInt8]) throws -> [ByteBuffer] {
    let channel = EmbeddedChannel(handler: ByteToMessageHandler(FrameDecoder()))
    defer { _ = try? channel.finish() }
    try channel.writeInbound(ByteBuffer(bytes: bytes))
    var frames: [ByteBuffer] = []
    while let frame = try channel.readInbound(as: ByteBuffer.self) { frames.append(frame) }
    return frames
  }

  @Test func aMessageComesOutAsItWentIn() throws {
    let message = HostMessage.close(page: 7)
    var bytes = Array(try Frame.encode(message, [1, 2, 3]).readableBytesView)
    bytes += bytes
    // In two pieces and a bit.
    let frames = try read(bytes)
    #expect(frames.count == 2)
    let (decoded, payload) = try Frame.decode(HostMessage.self, frames[1])
    guard case .close(page: 7) = decoded else {
      Issue.record("\(decoded)")
      return
    }
    #expect(payload == [1, 2, 3])
    #expect(try read(Array(bytes.dropLast())).count == 1)
  }

  @Test func aMessageThatIsNestedTooDeeplyIsRefused() async throws {
    let head = Array((String(repeating: #"{"a":"#, count: 200_000)).utf8)
    let length = withUnsafeBytes(of: UInt32(head.count).bigEndian) { Array($0) }
    let frame = ByteBuffer(bytes: length + head)
    #expect(throws: JSONError.self) { _ = try Frame.decode(WorkerMessage.self, frame) }
    await #expect(throws: JSONError.self) {
      _ = try await Frame.decodeInBackground(WorkerMessage.self, frame)
    }
  }

  @Test func lengthsThatCannotBeAreRefused() {
    #expect(throws: FrameError.tooLong(0xffff_ffff)) { try read([255, 255, 255, 255, 0]) }
    #expect(throws: FrameError.cut) { try read([0, 0, 0, 1, 0]) }
    #expect(throws: FrameError.cut) {
      try Frame.decode(HostMessage.self, ByteBuffer(bytes: [0, 0, 1, 0, 65]))
    }
    #expect(throws: FrameError.self) {
      try Frame.encode(HostMessage.close(page: 1), .init(repeating: 0, count: Frame.limit))
    }
  }

  @Test(arguments: [
    "printf '\\377\\377\\377\\377xxxx' >&3; sleep 60", "printf '\\0\\0\\0\\6\\0\\0\\0\\2{}' >&3; sleep 60",
  ])
  func aWorkerThatSendsNoMessagesIsKilledAlone(_ script: String) async throws {
    let folder = try TemporaryDirectory()
    let program = folder.file("worker")
    try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(fileURLWithPath: program))
    chmod(program, 0o700)
    try await PageFarm.running(["counter": Script.counter]) { farm in
      var configuration = WorkerPool.Configuration()
      (configuration.workers, configuration.executable) = (1, program)
      let record = HostRecord()
      let pool = WorkerPool(
        configuration, record: record, logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() })
      let running = Task { try await pool.run() }
      try await farm.until { await pool.status().workers.contains { $0.kills >= 2 } }
      #expect(record.failures.latest.first?.message.contains("is no message") == true)
      #expect(await pool.status().ready == 0)
      running.cancel()
      try? await running.value
      let answer = try await farm.ask(.get, "/render?name=counter")
      #expect(answer.status == 200)
    }
  }
}
