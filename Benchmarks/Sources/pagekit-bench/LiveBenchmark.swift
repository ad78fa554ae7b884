import Foundation

/// Open pages that browsers show: from a tap's request until the viewers of its page have the change.
struct LiveBenchmark {
  let renderhost: String
  let folder: String
  /// Taps on each page.
  let taps: Int

  private static let pages = 20
  /// Viewers of all pages.
  private static let counts = [20, 200]
  /// The longest pause before the next tap on a page, in seconds.
  private static let pause = 0.2
  /// The time after which a change counts as lost, in seconds.
  private static let patience = 5.0

  func run(_ table: inout Table) throws {
    let root = folder + "/live"
    try? FileManager.default.removeItem(atPath: root)
    try FileManager.default.createDirectory(atPath: root + "/bundles", withIntermediateDirectories: true)
    try Data(DevBenchmark.page(elements: 200).utf8).write(to: URL(fileURLWithPath: root + "/bundles/page.js"))
    for count in Self.counts {
      let host = try RunningHost(
        renderhost, bundles: root + "/bundles", store: root + "/store", workers: 2, log: root + "/host.log")
      defer { host.stop() }
      let pages = try (0..<Self.pages).map { _ in try LivePage(port: host.server.port, viewers: count / Self.pages) }
      defer { for page in pages { page.close() } }
      try measure(pages)
      let (first, last) = (Samples(pages.flatMap(\.first)), Samples(pages.flatMap(\.last)))
      let memory = host.server.proportionalBytesApart
      table.add(
        "\(count) viewers of \(Self.pages) pages", Figures.time(first.quantile(0.5)),
        Figures.time(first.quantile(0.95)), Figures.time(last.quantile(0.5)), Figures.time(last.quantile(0.95)),
        "\(pages.reduce(0) { $0 + $1.lost })", Figures.bytes(Double(memory.own)), Figures.bytes(Double(memory.children))
      )
    }
  }

  /// Taps each page again and again, each at times of its own, once all its viewers have what the tap before has changed.
  private func measure(_ pages: [LivePage]) throws {
    for page in pages { page.due = Self.now() + .random(in: 0..<Self.pause) }
    let readers = pages.flatMap { page in page.sockets.map { (page: page, socket: $0) } }
    while pages.contains(where: { $0.taps < taps || $0.isWaiting }) {
      let now = Self.now()
      for page in pages {
        if page.isWaiting, page.asked + Self.patience < now { page.lose() }
        if !page.isWaiting, page.taps < taps, page.due <= now { try page.tap(at: Self.now()) }
      }
      var polled = readers.map { pollfd(fd: $0.socket, events: Int16(POLLIN), revents: 0) }
      guard poll(&polled, nfds_t(polled.count), 2) > 0 else { continue }
      for (reader, ready) in zip(readers, polled) where ready.revents != 0 {
        try reader.page.read(reader.socket, at: Self.now())
        if !reader.page.isWaiting { reader.page.due = Self.now() + .random(in: 0..<Self.pause) }
      }
    }
  }

  private static func now() -> Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }
}

/// A live page, with a connection that taps and one for each viewer's server-sent events.
private final class LivePage {
  /// That of the taps, and then those of the viewers.
  let sockets: [Int32]
  /// The times from a tap to the change at the first and at the last viewer, in seconds.
  private(set) var first: [Double] = []
  private(set) var last: [Double] = []
  private(set) var lost = 0
  private(set) var taps = 0
  private(set) var isWaiting = false
  private(set) var asked = 0.0
  /// When it is tapped again.
  var due = 0.0
  private let request: [UInt8]
  /// The text that the present tap brings.
  private var wanted: [UInt8] { Array("taps: \(taps)".utf8) }
  /// The bytes that viewers have got of the present tap, by their sockets, until they have its text.
  private var arriving: [Int32: [UInt8]] = [:]

  /// Opens a page, and its viewers' streams.
  init(port: Int, viewers: Int) throws {
    struct Opened: Decodable {
      struct View: Decodable { let html: String }
      let page: String
      let position: Int
      let view: View
    }
    let origin = "http://127.0.0.1:\(port)"
    let text = try Measurement.output([
      "curl", "-s", "-H", "Origin: \(origin)", "-H", "Content-Type: application/json", "-d", #"{"name":"page"}"#,
      origin + "/live",
    ])
    guard let opened = try? JSONDecoder().decode(Opened.self, from: Data(text.utf8)),
      let ref = opened.view.html.firstMatch(of: /data-ref="([^"]+)"[^>]* data-events="[^"]*click/)?.1
    else { throw Measurement.Failed(description: "/live wrote \(text.prefix(500))") }
    let body = #"{"events":[{"ref":"\#(ref)","type":"click"}]}"#
    request = Array(
      """
      POST /pages/\(opened.page)/live/events HTTP/1.1\r
      Host: 127.0.0.1:\(port)\r
      Origin: \(origin)\r
      Content-Type: application/json\r
      Content-Length: \(body.utf8.count)\r
      \r
      \(body)
      """.utf8)
    let stream = Array(
      """
      GET /pages/\(opened.page)/live/patches?lastEventId=\(opened.position) HTTP/1.1\r
      Host: 127.0.0.1:\(port)\r
      \r

      """.utf8)
    sockets = try (0...viewers).map { _ in try LocalServer.connection(to: port) }
    for socket in sockets.dropFirst() {
      Self.send(stream, on: socket)
      // Its head says that the viewer is heard.
      var head: [UInt8] = []
      repeat {
        let bytes = Self.receive(from: socket)
        guard !bytes.isEmpty else { throw Measurement.Failed(description: "a viewer's stream ends at once") }
        head += bytes
      } while head.firstRange(of: Array("\r\n\r\n".utf8)) == nil
      guard head.starts(with: "HTTP/1.1 200".utf8) else {
        throw Measurement.Failed(description: "a viewer got \(String(decoding: head.prefix(500), as: UTF8.self))")
      }
    }
  }

  func close() { for socket in sockets { Foundation.close(socket) } }

  func tap(at now: Double) throws {
    taps += 1
    (isWaiting, asked) = (true, now)
    arriving = Dictionary(uniqueKeysWithValues: sockets.dropFirst().map { ($0, []) })
    Self.send(request, on: sockets[0])
  }

  /// Counts the present tap as lost.
  func lose() {
    lost += 1
    (isWaiting, arriving) = (false, [:])
  }

  /// Reads what a socket has, and counts a viewer that has got the change.
  func read(_ socket: Int32, at now: Double) throws {
    let bytes = Self.receive(from: socket)
    guard !bytes.isEmpty else { throw Measurement.Failed(description: "the daemon ends the connection of a page") }
    guard socket != sockets[0] else {
      guard bytes.starts(with: "HTTP/1.1 204".utf8) else {
        throw Measurement.Failed(description: "a tap got \(String(decoding: bytes.prefix(500), as: UTF8.self))")
      }
      return
    }
    guard isWaiting, let former = arriving[socket] else { return }
    guard (former + bytes).firstRange(of: wanted) != nil else { return arriving[socket] = former + bytes }
    if arriving.count == sockets.count - 1 { first.append(now - asked) }
    arriving[socket] = nil
    guard arriving.isEmpty else { return }
    last.append(now - asked)
    isWaiting = false
  }

  private static func send(_ bytes: [UInt8], on socket: Int32) {
    _ = bytes.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  /// - Returns: nothing at the end.
  private static func receive(from socket: Int32) -> ArraySlice<UInt8> {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(socket, &bytes, bytes.count, 0)
    return bytes.prefix(max(0, count))
  }
}
