import HTTPTransport
import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import ServerKit

/// Bytes of a client's connection: requests mean the same however they are cut into pieces.
enum RequestHeadFuzzer: Fuzzer {
  static let name = "request-heads"
  static let seeds =
    [
      "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
      "POST /b?c=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET /d HTTP/1.1\r\nHost: h\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: \u{e9}\r\n\r\n",
      "GET http://other:80/a HTTP/1.1\r\nHost: h\r\nX-Name: é\u{fffd}\u{10fe90}\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS https://h HTTP/1.0\r\n\r\n",
      "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\nx",
      "GET /s HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: a\r\n\r\n\u{1}\u{2}",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "M-SEARCH * HTTP/1.1\r\nHost: h\r\n\r\n",
      "\r\n\r\nHEAD /a HTTP/1.0\nHost: h\n\n",
    ].map { [7] + Array($0.utf8) } + [
      [3] + Array("GET / HTTP/1.1\r\nHost: h\r\nX: ".utf8) + [0xE9, 0xFF, 13, 10, 13, 10]
    ]

  static func read(_ bytes: [UInt8]) {
    let (text, left) = OpaqueText.text(of: bytes)
    hold(left == 0 && OpaqueText.bytes(of: text) == bytes, "bytes come back from their text")
    hold(String(validating: text, as: UTF8.self) != nil, "a text is UTF-8")
    // The first byte says how long the pieces are.
    guard let first = bytes.first else { return }
    let request = Array(bytes.dropFirst())
    let whole = parts(of: request, piece: max(request.count, 1))
    let cut = parts(of: request, piece: 1 + Int(first % 16))
    hold(whole == cut, "cuts mean nothing:\n\(whole)\n\(cut)")
  }

  /// The parts of the bytes: heads, bodies put together, the error that ended it.
  private static func parts(of bytes: [UInt8], piece: Int) -> [String] {
    let channel = EmbeddedChannel()
    defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
    var found: [String] = []
    var body: [UInt8] = []
    func take() throws {
      while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
        switch part {
        case .head(let head):
          hold(form(head) != .refused, "a target that is refused goes no further: \(head.uri)")
          found.append("\(head.method.rawValue) \(head.uri) \(head.version) \(head.headers)")
        case .body(let bytes): body += bytes.readableBytesView
        case .end(let trailers):
          found.append("\(body) \(trailers.map { "\($0)" } ?? "")")
          body = []
        }
      }
    }
    do {
      let pipeline = channel.pipeline.syncOperations
      let decoder = ByteToMessageHandler(HTTPRequestDecoder())
      try pipeline.addHandlers([HTTPResponseEncoder(), decoder])
      try RequestBytesHandler.add(to: pipeline)
      for start in stride(from: 0, to: bytes.count, by: piece) {
        try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + piece, bytes.count)]))
        try take()
      }
    } catch {
      try? take()
      // Which of a body's bytes came before the fault depends on the cuts.
      body = []
      found.append("\(error)")
    }
    return found
  }

  private static func form(_ head: HTTPRequestHead) -> RequestTargetForm {
    let form = RequestTargetForm(head.uri, head.method)
    if case .absolute(let authority, let target) = form {
      hold(!authority.isEmpty && !authority.contains { "/?#@".contains($0) }, "an authority is a host: \(authority)")
      hold(target.hasPrefix("/") || target == "*", "a target is a path: \(target)")
    }
    return form
  }
}
