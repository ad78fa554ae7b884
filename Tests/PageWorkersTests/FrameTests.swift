import Foundation
import NIOCore
import NIOEmbedded
import PageKit
import Testing

@testable import PageWorkers

@Suite struct FrameTests {
  private func read(_ bytes: [UInt8]) throws -> [ByteBuffer] {
    let channel = EmbeddedChannel(handler: ByteToMessageHandler(FrameDecoder()))
    defer { _ = try? channel.finish() }
    try channel.writeInbound(ByteBuffer(bytes: bytes))
    var frames: [ByteBuffer] = []
    while let frame = try channel.readInbound(as: ByteBuffer.self) { frames.append(frame) }
    return frames
  }

  @Test("a message is decoded as it was encoded")
  func roundTrip() throws {
    let message = HostMessage.close(page: 7)
    var bytes = Array(try Frame.encode(message, [1, 2, 3]).readableBytesView)
    bytes += bytes
    // The bytes arrive in two pieces, with a few bytes of the next frame.
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

  @Test("a request behaves in the daemon as in its worker", arguments: LoadBehavior.named.map(\.behavior))
  func behavior(_ behavior: LoadBehavior) throws {
    let question = ResourceQuestion(ResourceRequest("https://a/b", behavior: behavior))
    let message = PageQuestion.resource(question)
    let frames = try read(Array(try Frame.encode(message, []).readableBytesView))
    guard case .resource(let asked) = try Frame.decode(PageQuestion.self, frames[0]).0 else {
      Issue.record("another question")
      return
    }
    #expect(asked.request(body: [])?.behavior == behavior)
  }

  @Test("the messages that fuzzing begins with are read")
  func seeds() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../Fuzzing/frames.jsonl")
    let messages = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
    #expect(messages.count > 10)
    for message in messages {
      let length = withUnsafeBytes(of: UInt32(message.count).bigEndian) { Array($0) }
      let frame = ByteBuffer(bytes: length + message)
      let ofHost = try? Frame.decode(HostMessage.self, frame).message
      let ofWorker = try? Frame.decode(WorkerMessage.self, frame).message
      #expect(ofHost != nil || ofWorker != nil, "\(String(decoding: message, as: UTF8.self))")
      if case .ask(_, _, .resource(let question)) = ofWorker { #expect(question.request(body: []) != nil) }
    }
  }

  @Test("a message that is nested too deeply is refused")
  func nesting() async throws {
    let head = Array((String(repeating: #"{"a":"#, count: 200_000)).utf8)
    let length = withUnsafeBytes(of: UInt32(head.count).bigEndian) { Array($0) }
    let frame = ByteBuffer(bytes: length + head)
    #expect(throws: JSONError.self) { _ = try Frame.decode(WorkerMessage.self, frame) }
    await #expect(throws: JSONError.self) {
      _ = try await Frame.decodeInBackground(WorkerMessage.self, from: try Frame.split(frame).head)
    }
  }

  @Test("impossible lengths are refused")
  func invalidLengths() {
    #expect(throws: FrameError.tooLong(0xffff_ffff)) { try read([255, 255, 255, 255, 0]) }
    #expect(throws: FrameError.cut) { try read([0, 0, 0, 1, 0]) }
    #expect(throws: FrameError.cut) {
      try Frame.decode(HostMessage.self, ByteBuffer(bytes: [0, 0, 1, 0, 65]))
    }
    #expect(throws: FrameError.self) {
      try Frame.encode(HostMessage.close(page: 1), .init(repeating: 0, count: Frame.limit))
    }
  }
}
