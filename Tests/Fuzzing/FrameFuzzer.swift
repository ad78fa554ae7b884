import Foundation
import HTTPTransport
import NIOCore
import NIOEmbedded

@testable import PageWorkers

/// Bytes of a worker's socket: frames are the same however they are cut, and a message that is read and written again
/// reads the same.
enum FrameFuzzer: Fuzzer {
  static let name = "frames"

  /// The first byte says whether the others are a socket's, in pieces of that length, or one message: those of
  /// `frames.jsonl`, which `FrameTests` reads too.
  static var seeds: [[UInt8]] {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("frames.jsonl")
    guard let data = try? Data(contentsOf: file) else { return [] }
    let messages = data.split(separator: UInt8(ascii: "\n")).map { Array($0) }
    let stream = messages.prefix(3).flatMap { message -> [UInt8] in
      big(message.count + 6) + big(message.count) + message + [1, 2]
    }
    return messages.map { [0xFF] + $0 } + [[5] + stream, [0] + stream, [1, 0xFF, 0xFF, 0xFF, 0xFF], [1, 0, 0, 0, 1]]
  }

  private static func big(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
  }

  static func read(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    if first >= 0x80 {
      message(ByteBuffer(bytes: big(rest.count) + rest))
      return
    }
    let whole = frames(in: rest, piece: max(rest.count, 1))
    let cut = frames(in: rest, piece: 1 + Int(first % 16))
    hold(whole.frames == cut.frames && whole.error == cut.error, "cuts mean nothing: \(whole) \(cut)")
    for frame in whole.frames { message(ByteBuffer(bytes: frame)) }
  }

  private static func frames(in bytes: [UInt8], piece: Int) -> (frames: [[UInt8]], error: String?) {
    let channel = EmbeddedChannel(handler: ByteToMessageHandler(FrameDecoder()))
    defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
    var frames: [[UInt8]] = []
    var failure: String?
    do {
      for start in stride(from: 0, to: bytes.count, by: piece) {
        try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + piece, bytes.count)]))
      }
    } catch {
      failure = "\(error)"
    }
    while let frame = try? channel.readInbound(as: ByteBuffer.self) { frames.append(Array(frame.readableBytesView)) }
    return (frames, failure)
  }

  private static func message(_ frame: ByteBuffer) {
    check(HostMessage.self, frame)
    check(WorkerMessage.self, frame)
  }

  private static func check<Message: Codable>(_ type: Message.Type, _ frame: ByteBuffer) {
    guard let (message, payload) = try? Frame.decode(type, frame) else { return }
    use(message)
    // A number that JSON has not is none that it was read from.
    guard var written = try? Frame.encode(message, payload) else { return hold(false, "it can be written: \(message)") }
    written.moveReaderIndex(forwardBy: 4)
    guard let (again, samePayload) = try? Frame.decode(type, written) else {
      return hold(false, "what was written reads: \(message)")
    }
    hold(payload == samePayload, "the bytes that go along stay")
    hold(text(message) == text(again), "what was written reads the same: \(message) \(again)")
  }

  /// Reads a worker's question as the daemon does, and the answer as a worker does.
  private static func use(_ message: some Codable) {
    if case .ask(_, _, .resource(let question)) = message as? WorkerMessage { _ = question.request(body: []) }
    if case .answer(_, .update(let update)) = message as? HostMessage { _ = update.update(bytes: []) }
  }

  private static func text(_ message: some Encodable) -> [UInt8]? {
    guard let text = try? JSONEncoder().encode(message) else { return nil }
    return (try? JSONValue(reading: Array(text), limits: JSONLimits(depth: 100)))?.text
  }
}
