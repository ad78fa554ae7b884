/// RFC 9113 §3 to §6: the connection, its streams, and the frames of each type.
extension FrameAttack {
  private static let long = String(repeating: "a", count: 16_385)
  private static let next: Outcome = .answered(101, 200...200)
  /// A request behind what is ignored.
  private static let after = Wire.request(101)

  static let connections: [FrameAttack] = [
    whole(
      "9113 §3.4", "text in the place of the preface", [Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)], .ends),
    whole(
      "9113 §3.4", "a preface whose last byte is wrong", [Array(Wire.preface.dropLast()) + [0], Wire.emptySettings],
      .ends),
    whole("9113 §3.4", "the preface twice", [Wire.preface, Wire.preface, Wire.emptySettings], .ends),
    whole("9113 §3.4", "a PING before the settings", [Wire.preface, Wire.ping()], .connection(.protocolError)),
    whole("9113 §3.4", "a request before the settings", [Wire.preface, Wire.request(1)], .connection(.protocolError)),
    whole("9113 §3.4", "frames without a preface", [Wire.emptySettings, Wire.request(1)], .ends),
    row("9113 §3.4", "a request at once with the preface", [Wire.request(1)], .answered(1, 200...200)),
    row("9113 §4.1", "a type of frame that there is not", [Wire.frame(0xFF, 0xFF, [1, 2, 3]), after], next),
    row("9113 §4.1", "the same on a stream", [Wire.frame(0x16, 1, on: 5, [0]), after], next),
    row("9113 §4.1", "the same, empty", [Wire.frame(0x77), after], next),
    row("9113 §4.1", "flags of a PING that there are not", [Wire.frame(6, 0xFE, Array("12345678".utf8)), after], next),
    row("9113 §4.1", "flags of SETTINGS that there are not", [Wire.frame(4, 0xFE), after], next),
    row(
      "9113 §4.1", "flags of HEADERS that there are not", [Wire.headers(Wire.request, 0x45)], .answered(1, 200...200)),
    row(
      "9113 §4.1", "flags of DATA that there are not",
      [Wire.headers(Wire.sending, 4), Wire.frame(0, 0xF7 & ~8, on: 1, [0])], .answered(1, 200...499)),
    row("9113 §4.1", "flags of WINDOW_UPDATE", [Wire.frame(8, 0xFF, [0, 0, 0, 1]), after], next),
    row("9113 §4.1", "flags of PRIORITY", [Wire.frame(2, 0xFF, on: 1, [0, 0, 0, 0, 1]), after], next),
    row(
      "9113 §4.1", "the reserved bit of a request", [Wire.headers(Wire.request, on: 0x8000_0001)],
      .answered(1, 200...200)),
    row(
      "9113 §4.1", "the reserved bit of a PING", [Wire.frame(6, on: 0x8000_0000, Array("12345678".utf8))],
      .pong(Array("12345678".utf8))),
    row(
      "9113 §4.2", "DATA beyond the largest frame", [Wire.headers(Wire.sending, 4), Wire.data(long)],
      any: .error(1, .frameSize)),
    row(
      "9113 §4.2", "HEADERS beyond the largest frame", [Wire.headers(Wire.request + [Wire.field("x", long)])],
      .connection(.frameSize)),
    row(
      "9113 §4.2", "CONTINUATION beyond the largest frame",
      [Wire.headers(Wire.request, 1), Wire.continuation([Wire.field("x", long)])],
      any: [.connection(.frameSize), .connection(.protocolError)]),
    row(
      "9113 §4.2", "SETTINGS beyond the largest frame", [Wire.frame(4, 0, Array(repeating: 0, count: 16_386))],
      .connection(.frameSize)),
    row("9113 §4.2", "a PING beyond the largest frame", [Wire.frame(6, 0, Array(long.utf8))], .connection(.frameSize)),
    row(
      "9113 §4.2", "GOAWAY beyond the largest frame", [Wire.frame(7, 0, Array(repeating: 0, count: 16_400))],
      .connection(.frameSize)),
    row(
      "9113 §4.2", "an unknown frame beyond the largest", [Wire.frame(0x42, 0, Array(long.utf8))],
      .connection(.frameSize)),
    row(
      "9113 §4.2", "a frame of 16 MiB that does not come", [Wire.frame(0, on: 1, [], length: 0xFF_FFFF)],
      .connection(.frameSize)),
    row(
      "9113 §4.3", "a request in pieces",
      [
        Wire.headers([Wire.get], 1), Wire.continuation([Wire.https, Wire.authority], ends: false),
        Wire.continuation([Wire.path]),
      ], .answered(1, 200...200)),
    row(
      "9113 §4.3", "a field cut between two frames",
      [
        Wire.frame(1, 1, on: 1, Array(Wire.request.joined().prefix(12))),
        Wire.frame(9, 4, on: 1, Array(Wire.request.joined().dropFirst(12))),
      ], .answered(1, 200...200)),
    row(
      "9113 §4.3", "a PING within a block of fields",
      [Wire.headers([Wire.get], 1), Wire.ping(), Wire.continuation([Wire.https, Wire.path])],
      .connection(.protocolError)),
    row(
      "9113 §4.3", "another stream within a block of fields", [Wire.headers([Wire.get], 1), Wire.request(3)],
      .connection(.protocolError)),
    row(
      "9113 §4.3", "an unknown frame within a block of fields",
      [Wire.headers([Wire.get], 1), Wire.frame(0x42), Wire.continuation([Wire.https, Wire.path])],
      .connection(.protocolError)),
    row(
      "9113 §4.3", "SETTINGS within a block of fields", [Wire.headers([Wire.get], 1), Wire.emptySettings],
      .connection(.protocolError)),
    row(
      "9113 §4.3", "DATA within a block of fields", [Wire.headers([Wire.post], 0), Wire.data("x")],
      .connection(.protocolError)),
  ]

  static let streams: [FrameAttack] = [
    row("9113 §5.1", "DATA on an idle stream", [Wire.data("x", on: 5)], .connection(.protocolError)),
    row("9113 §5.1", "RST_STREAM on an idle stream", [Wire.reset(5)], .connection(.protocolError)),
    row("9113 §5.1", "WINDOW_UPDATE on an idle stream", [Wire.window(5, 1)], .connection(.protocolError)),
    row(
      "9113 §5.1", "CONTINUATION on an idle stream", [Wire.continuation(Wire.request, on: 5)],
      .connection(.protocolError)),
    row("9113 §5.1", "PRIORITY on an idle stream", [Wire.frame(2, on: 5, [0, 0, 0, 0, 1]), after], next),
    row(
      "9113 §5.1", "DATA behind the end of a request", [Wire.request(1), Wire.data("x")], any: .error(1, .streamClosed)),
    row(
      "9113 §5.1", "HEADERS behind the end of a request", [Wire.request(1), Wire.request(1)],
      any: .error(1, .streamClosed) + .error(1, .protocolError)),
    row(
      "9113 §5.1", "CONTINUATION behind the end of a request",
      [Wire.request(1), Wire.continuation([Wire.field("a", "b")])], .connection(.protocolError)),
    row("9113 §5.1", "WINDOW_UPDATE behind the end of a request", [Wire.request(1), Wire.window(1, 9), after], next),
    row(
      "9113 §5.1", "PRIORITY behind the end of a request",
      [Wire.request(1), Wire.frame(2, on: 1, [0, 0, 0, 0, 1]), after], next),
    row("9113 §5.1", "RST_STREAM behind the end of a request", [Wire.request(1), Wire.reset(1), after], next),
    row(
      "9113 §5.1", "DATA behind RST_STREAM", [Wire.headers(Wire.sending, 4), Wire.reset(1), Wire.data("x"), after],
      any: .error(1, .streamClosed) + [next]),
    row(
      "9113 §5.1", "HEADERS behind RST_STREAM", [Wire.headers(Wire.sending, 4), Wire.reset(1), Wire.request(1), after],
      any: .error(1, .streamClosed) + [.connection(.protocolError)]),
    row(
      "9113 §5.1", "RST_STREAM twice", [Wire.headers(Wire.sending, 4), Wire.reset(1), Wire.reset(1), after],
      any: [next, .connection(.streamClosed)]),
    row(
      "9113 §5.1", "WINDOW_UPDATE behind RST_STREAM",
      [Wire.headers(Wire.sending, 4), Wire.reset(1), Wire.window(1, 1), after], any: [next, .connection(.streamClosed)]),
    row("9113 §5.1.1", "a stream with an even number", [Wire.request(2)], .connection(.protocolError)),
    row("9113 §5.1.1", "HEADERS on the connection", [Wire.request(0)], .connection(.protocolError)),
    row(
      "9113 §5.1.1", "a stream below the last one", [Wire.request(5), Wire.request(3)],
      any: [.connection(.protocolError), .connection(.streamClosed)]),
    row("9113 §5.1.1", "streams that are left out", [Wire.request(3), Wire.request(99)], .answered(99, 200...200)),
    row("9113 §5.1.1", "the last stream of all", [Wire.request(0x7FFF_FFFF)], .answered(0x7FFF_FFFF, 200...200)),
    row(
      "9113 §5.1.1", "a stream behind the last of all", [Wire.request(0x7FFF_FFFF), Wire.request(1)],
      any: [.connection(.protocolError), .connection(.streamClosed)]),
    row(
      "9113 §5.1.2", "more streams than are permitted",
      (0..<101).map { Wire.headers(Wire.sending, on: UInt32($0) * 2 + 1, 4) },
      any: .error(201, .refusedStream) + .error(201, .protocolError)),
    row(
      "9113 §5.1.2", "as many streams as are permitted", (0..<100).map { Wire.request(UInt32($0) * 2 + 1) },
      .answered(199, 200...200)),
    row(
      "9113 §6.9.1", "a stream's window above its limit", [Wire.headers(Wire.sending, 4), Wire.window(1, 0x7FFF_FFFF)],
      any: .error(1, .flowControl)),
    row(
      "9113 §6.9.1", "the connection's window above its limit", [Wire.window(0, 0x7FFF_FFFF)], .connection(.flowControl)
    ),
    row("9113 §6.9.1", "the connection's window at its limit", [Wire.window(0, 0x7FFF_0000), after], next),
    row(
      "9113 §6.9.2", "settings that take a stream's window above its limit",
      [Wire.headers(Wire.sending, 4), Wire.window(1, 0x7FFE_0000), Wire.settings(Wire.setting(4, 0x7FFF_FFFF))],
      // libnghttp2 resets the stream alone.
      any: .error(1, .flowControl)),
    row(
      "9113 §6.9.2", "settings that take windows below nothing",
      [
        Wire.settings(Wire.setting(4, 100)), Wire.request(1), Wire.settings(Wire.setting(4, 0)),
        Wire.settings(Wire.setting(4, 65_535)), after,
      ], next),
    row(
      "9113 §5.3", "a stream that depends on itself, in HEADERS",
      [Wire.frame(1, 0x25, on: 1, [0, 0, 0, 1, 15] + Array(Wire.request.joined()))],
      any: .error(1, .protocolError) + [.answered(1, 200...200)]),
    row(
      "9113 §5.3", "a stream that depends on itself, in PRIORITY", [Wire.frame(2, on: 5, [0, 0, 0, 5, 15]), after],
      any: .error(5, .protocolError) + [next]),
    row(
      "9113 §5.3", "an exclusive dependency on a stream to come",
      [Wire.frame(2, on: 5, [0x80, 0, 0, 99, 255]), after], next),
  ]

  static let frameTypes: [FrameAttack] = [
    row("9113 §6.1", "DATA on the connection", [Wire.data("x", on: 0)], .connection(.protocolError)),
    row(
      "9113 §6.1", "DATA with more padding than payload",
      [Wire.headers(Wire.sending, 4), Wire.frame(0, 9, on: 1, [9, 1, 2])], .connection(.protocolError)),
    row(
      "9113 §6.1", "DATA with padding as long as its payload",
      [Wire.headers(Wire.sending, 4), Wire.frame(0, 9, on: 1, [3, 1, 2])], .connection(.protocolError)),
    row(
      "9113 §6.1", "DATA that is all padding", [Wire.headers(Wire.sending, 4), Wire.frame(0, 9, on: 1, [2, 0, 0])],
      .answered(1, 200...499)),
    row(
      "9113 §6.1", "padded DATA without a length of padding",
      [Wire.headers(Wire.sending, 4), Wire.frame(0, 9, on: 1, [])],
      any: [.connection(.protocolError), .connection(.frameSize)]),
    row(
      "9113 §6.1", "padding that is not zero", [Wire.headers(Wire.sending, 4), Wire.frame(0, 9, on: 1, [2, 7, 7])],
      any: [.answered(1, 200...499), .connection(.protocolError)]),
    row(
      "9113 §6.2", "HEADERS with more padding than payload",
      [Wire.frame(1, 0x0D, on: 1, [200] + Array(Wire.request.joined()))], .connection(.protocolError)),
    row(
      "9113 §6.2", "HEADERS with padding", [Wire.frame(1, 0x0D, on: 1, [2] + Array(Wire.request.joined()) + [0, 0])],
      .answered(1, 200...200)),
    row(
      "9113 §6.2", "padded HEADERS without a length of padding", [Wire.frame(1, 0x0D, on: 1, [])],
      any: [.connection(.protocolError), .connection(.frameSize)]),
    row(
      "9113 §6.2", "HEADERS with a priority",
      [Wire.frame(1, 0x25, on: 1, [0, 0, 0, 0, 15] + Array(Wire.request.joined()))], .answered(1, 200...200)),
    row(
      "9113 §6.2", "HEADERS with half a priority", [Wire.frame(1, 0x25, on: 1, [0, 0])],
      any: [.connection(.protocolError), .connection(.frameSize)]),
    row(
      "9113 §6.2", "HEADERS with padding and a priority",
      [Wire.frame(1, 0x2D, on: 1, [1, 0, 0, 0, 0, 15] + Array(Wire.request.joined()) + [0])], .answered(1, 200...200)),
    row(
      "9113 §6.2", "padding that reaches into the priority", [Wire.frame(1, 0x2D, on: 1, [4, 0, 0, 0, 0, 15])],
      any: [.connection(.protocolError), .connection(.frameSize)]),
    row("9113 §6.3", "PRIORITY on the connection", [Wire.frame(2, [0, 0, 0, 3, 1])], .connection(.protocolError)),
    row(
      "9113 §6.3", "a PRIORITY that is too short",
      [Wire.headers(Wire.sending, 4), Wire.frame(2, on: 1, [0, 0, 0, 0])], any: .error(1, .frameSize)),
    row(
      "9113 §6.3", "a PRIORITY that is too long",
      [Wire.headers(Wire.sending, 4), Wire.frame(2, on: 1, [0, 0, 0, 0, 1, 1])], any: .error(1, .frameSize)),
    row(
      "9113 §6.3", "PRIORITY on a stream of the server's", [Wire.frame(2, on: 2, [0, 0, 0, 0, 1]), after],
      any: [next, .connection(.protocolError)]),
    row("9113 §6.4", "RST_STREAM on the connection", [Wire.frame(3, number8)], .connection(.protocolError)),
    row(
      "9113 §6.4", "an RST_STREAM that is too short",
      [Wire.headers(Wire.sending, 4), Wire.frame(3, on: 1, [0, 0, 8])], .connection(.frameSize)),
    row(
      "9113 §6.4", "an RST_STREAM that is too long",
      [Wire.headers(Wire.sending, 4), Wire.frame(3, on: 1, [0, 0, 0, 0, 8])], .connection(.frameSize)),
    row(
      "9113 §6.4", "RST_STREAM with a code that there is not",
      [Wire.headers(Wire.sending, 4), Wire.reset(1, 0xDEAD_BEEF), after], next),
    row(
      "9113 §6.6", "a promise of a client",
      [Wire.headers(Wire.sending, 4), Wire.frame(5, 4, on: 1, [0, 0, 0, 2] + Array(Wire.request.joined()))],
      .connection(.protocolError)),
    row(
      "9113 §6.6", "a promise on the connection", [Wire.frame(5, 4, [0, 0, 0, 2] + Array(Wire.request.joined()))],
      .connection(.protocolError)),
    row(
      "9113 §6.6", "a promise without a stream", [Wire.headers(Wire.sending, 4), Wire.frame(5, 4, on: 1, [0])],
      any: [.connection(.protocolError), .connection(.frameSize)]),
    row("9113 §6.7", "a PING", [Wire.ping("\0\u{1}AZ\u{7F}9~ ")], .pong(Array("\0\u{1}AZ\u{7F}9~ ".utf8))),
    row("9113 §6.7", "an acknowledgement of no PING", [Wire.frame(6, 1, Array("12345678".utf8)), after], next),
    row("9113 §6.7", "a PING on a stream", [Wire.frame(6, on: 1, Array("12345678".utf8))], .connection(.protocolError)),
    row("9113 §6.7", "a PING of seven bytes", [Wire.ping("1234567")], .connection(.frameSize)),
    row("9113 §6.7", "a PING of nine bytes", [Wire.ping("123456789")], .connection(.frameSize)),
    row("9113 §6.7", "a PING of none", [Wire.ping("")], .connection(.frameSize)),
    row(
      "9113 §6.8", "GOAWAY on a stream", [Wire.frame(7, on: 1, [0, 0, 0, 0, 0, 0, 0, 0])], .connection(.protocolError)),
    row("9113 §6.8", "a GOAWAY that is too short", [Wire.frame(7, [0, 0, 0, 0, 0, 0, 0])], .connection(.frameSize)),
    row(
      "9113 §6.8", "GOAWAY behind a request", [Wire.request(1), Wire.frame(7, [0, 0, 0, 0, 0, 0, 0, 0])],
      .answered(1, 200...200)),
    row(
      "9113 §6.8", "GOAWAY with words and a code that there is not",
      [Wire.request(1), Wire.frame(7, [0, 0, 0, 0, 0xDE, 0xAD, 0xBE, 0xEF] + Array("words".utf8))],
      .answered(1, 200...200)),
    row(
      "9113 §6.9", "a WINDOW_UPDATE of nothing on a stream", [Wire.headers(Wire.sending, 4), Wire.window(1, 0)],
      any: .error(1, .protocolError)),
    row("9113 §6.9", "a WINDOW_UPDATE of nothing on the connection", [Wire.window(0, 0)], .connection(.protocolError)),
    row("9113 §6.9", "a WINDOW_UPDATE that is too short", [Wire.frame(8, [0, 0, 1])], .connection(.frameSize)),
    row("9113 §6.9", "a WINDOW_UPDATE that is too long", [Wire.frame(8, [0, 0, 0, 0, 1])], .connection(.frameSize)),
    row("9113 §6.9", "the reserved bit of a WINDOW_UPDATE", [Wire.window(0, 0x8000_0001), after], next),
    row(
      "9113 §6.10", "CONTINUATION behind a block that has ended",
      [Wire.headers(Wire.sending, 4), Wire.continuation([Wire.field("a", "b")])], .connection(.protocolError)),
    row(
      "9113 §6.10", "CONTINUATION behind DATA",
      [Wire.headers(Wire.sending, 4), Wire.data("x", ends: false), Wire.continuation([Wire.field("a", "b")])],
      .connection(.protocolError)),
    row(
      "9113 §6.10", "CONTINUATION on another stream",
      [Wire.headers([Wire.get], 1), Wire.continuation([Wire.https, Wire.path], on: 3)], .connection(.protocolError)),
    row(
      "9113 §6.10", "CONTINUATION on the connection",
      [Wire.headers([Wire.get], 1), Wire.continuation([Wire.https, Wire.path], on: 0)], .connection(.protocolError)),
    row(
      "9113 §6.10", "two empty CONTINUATION",
      [Wire.headers(Wire.request, 1), Wire.continuation([], ends: false), Wire.continuation([])],
      .answered(1, 200...200)),
  ]

  private static let number8: [UInt8] = [0, 0, 0, 8]

  static let settings: [FrameAttack] = [
    row("9113 §6.5", "SETTINGS on a stream", [Wire.frame(4, on: 1)], .connection(.protocolError)),
    row(
      "9113 §6.5", "an acknowledgement with settings", [Wire.frame(4, 1, Wire.setting(1, 1))], .connection(.frameSize)),
    row("9113 §6.5", "five bytes of settings", [Wire.frame(4, 0, [0, 1, 0, 0, 0])], .connection(.frameSize)),
    row("9113 §6.5", "seven bytes of settings", [Wire.frame(4, 0, Wire.setting(1, 1) + [0])], .connection(.frameSize)),
    row(
      "9113 §6.5.2", "ENABLE_PUSH that is neither 0 nor 1", [Wire.settings(Wire.setting(2, 2))],
      .connection(.protocolError)),
    row(
      "9113 §6.5.2", "a window above its limit", [Wire.settings(Wire.setting(4, 0x8000_0000))],
      .connection(.flowControl)),
    row(
      "9113 §6.5.2", "a frame size below its limit", [Wire.settings(Wire.setting(5, 16_383))],
      .connection(.protocolError)),
    row(
      "9113 §6.5.2", "a frame size above its limit", [Wire.settings(Wire.setting(5, 16_777_216))],
      .connection(.protocolError)),
    row("9113 §6.5.2", "the largest frame size", [Wire.settings(Wire.setting(5, 16_777_215)), after], next),
    row("9113 §6.5.2", "a frame size of nothing", [Wire.settings(Wire.setting(5, 0))], .connection(.protocolError)),
    row(
      "9113 §6.5.2", "a setting that there is not",
      [Wire.settings(Wire.setting(0xFFFF, 0xFFFF_FFFF), Wire.setting(0, 1)), after], next),
    row("9113 §6.5.2", "no streams for the server", [Wire.settings(Wire.setting(3, 0)), after], next),
    row("9113 §6.5.2", "a table of no bytes", [Wire.settings(Wire.setting(1, 0)), after], next),
    row("9113 §6.5.2", "a table of 4 GiB", [Wire.settings(Wire.setting(1, 0xFFFF_FFFF)), after], next),
    row(
      "9113 §6.5.2", "a header list of no bytes, which is advice", [Wire.settings(Wire.setting(6, 0)), after],
      any: [next, .stream(101, .internalError), .stream(101, .cancel)]),
    row(
      "9113 §6.5.3", "the same setting twice, the last of which counts",
      [Wire.settings(Wire.setting(4, 0), Wire.setting(4, 65_535)), after], next),
    row(
      "9113 §6.5.3", "settings of which one is wrong", [Wire.settings(Wire.setting(4, 70_000), Wire.setting(2, 9))],
      .connection(.protocolError)),
    row("9113 §6.5.3", "three SETTINGS", [Wire.emptySettings, Wire.emptySettings], .acknowledged(3)),
    row(
      "9113 §6.5.3", "acknowledgements of settings that were not sent",
      [Wire.frame(4, 1), Wire.frame(4, 1), Wire.frame(4, 1), after], any: [next, .connection(.protocolError)]),
    row(
      "8441 §3", "a setting for CONNECT that is neither 0 nor 1", [Wire.settings(Wire.setting(8, 2)), after],
      any: [next, .connection(.protocolError)]),
    row("9218 §2.1", "no priorities, told too late", [Wire.settings(Wire.setting(9, 1))], .connection(.protocolError)),
    whole("9218 §2.1", "no priorities", [Wire.preface, Wire.settings(Wire.setting(9, 1)), after], next),
  ]
}
