import CCurl
import HTTPTransport
import Testing

@testable import CurlTransport

/// Turns of the curl thread's loop, without the thread.
struct CurlLoopTests {
  @Test("a transfer that has ended gets no command that came before its end was seen")
  func lateCommand() throws {
    let server = try RawServer(answering: Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd".utf8))
    let mailbox = try CurlMailbox()
    let loop = try CurlLoop(
      multi: try CurlMailbox.handle { curl_multi_init() }, mailbox: mailbox,
      configuration: CurlTransport.Configuration())
    let request = TransportRequest.local(port: server.port, "/a")
    let transfer = Transfer(request: request, target: try #require(RequestTarget(of: request)), mailbox: mailbox)
    mailbox.post(.start(transfer))
    #expect(loop.takeCommands())
    let deadline = ContinuousClock.now + .seconds(60)
    // The answer comes as a whole.
    while transfer.version == nil, ContinuousClock.now < deadline {
      loop.actOnTimer(at: .now)
      loop.actOnSockets()
    }
    #expect(transfer.version == "1.1" && !transfer.isFinished)
    // As of a reader that has made room.
    mailbox.post(.resume(transfer))
    #expect(loop.takeCommands())
    #expect(transfer.isFinished && transfer.removeWholeBody() == Array("abcd".utf8))
    mailbox.post(.stop)
    loop.run()
  }
}
