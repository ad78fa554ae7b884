import Foundation

/// A headless Chromium with one page, which is told what to do in Chrome's DevTools protocol over two pipes.
final class Browser {
  /// `nil` if it is not installed.
  static let program = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  private let child: Child
  private let requests: Int32
  private let answers: Int32
  private var bytes: [UInt8] = []
  private var lastID = 0
  private var session: String?

  /// Starts it with an empty profile, and opens a document.
  ///
  /// - Parameters:
  ///   - folder: for its profile; removed first.
  ///   - width, height: the screen in points.
  ///   - scale: the pixels of a point.
  init(_ program: String, folder: String, url: String, width: Int, height: Int, scale: Int) throws {
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let pipes = [folder + "/requests", folder + "/answers"]
    for path in pipes { mkfifo(path, 0o600) }
    // Both ends, so that the opening waits for nobody.
    (requests, answers) = (open(pipes[0], O_RDWR | O_CLOEXEC), open(pipes[1], O_RDWR | O_CLOEXEC))
    guard requests >= 0, answers >= 0 else { throw Measurement.Failed(description: "no pipes in \(folder)") }
    // Without its sandbox, whose processes do not tell their memory.
    child = try Child(
      ["sh", "-c", #"in=$1 out=$2; shift 2; exec "$@" 3<"$in" 4>"$out""#, "sh"] + pipes + [
        program, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--no-first-run", "--user-data-dir=\(folder)/profile", "about:blank",
      ], output: .file(folder + "/log"))
    let target = try call("Target.createTarget", ["url": "about:blank"])["targetId"] as? String ?? ""
    session = try call("Target.attachToTarget", ["targetId": target, "flatten": true])["sessionId"] as? String
    try call(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": scale, "mobile": false])
    try call("Page.enable")
    try call("Page.navigate", ["url": url])
    while try message()["method"] as? String != "Page.loadEventFired" {}
  }

  deinit {
    child.stop()
    close(requests)
    close(answers)
  }

  /// The window as a PNG file, and the seconds until it was here.
  func picture() throws -> (seconds: Double, bytes: Int) {
    let start = ContinuousClock.now
    let answer = try call("Page.captureScreenshot", ["format": "png", "optimizeForSpeed": true])
    let seconds = Measurement.seconds(since: start)
    guard let data = (answer["data"] as? String).flatMap({ Data(base64Encoded: $0) }), !data.isEmpty else {
      throw Measurement.Failed(description: "Chromium makes no picture")
    }
    return (seconds, data.count)
  }

  /// Bytes of all its processes, each shared page counted in part by everyone who has it.
  var proportionalBytes: Int64 { LocalServer.proportionalBytes(of: child.pid) }

  /// Begins to evaluate an expression whose value is a promise of numbers.
  func begin(_ expression: String) throws -> Int {
    try send("Runtime.evaluate", ["expression": expression, "awaitPromise": true, "returnByValue": true])
  }

  /// Waits for the value of an expression.
  func value(of id: Int) throws -> [Double] {
    let result = try answer(to: id, "Runtime.evaluate")["result"] as? [String: Any]
    guard let numbers = result?["value"] as? [Double] else {
      throw Measurement.Failed(description: "Chromium has no numbers: \(result ?? [:])")
    }
    return numbers
  }

  @discardableResult
  private func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    try answer(to: send(method, parameters), method)
  }

  private func send(_ method: String, _ parameters: [String: Any]) throws -> Int {
    lastID += 1
    var request: [String: Any] = ["id": lastID, "method": method, "params": parameters]
    request["sessionId"] = session
    let text = try JSONSerialization.data(withJSONObject: request) + [0]
    guard text.withUnsafeBytes({ write(requests, $0.baseAddress, $0.count) }) == text.count else {
      throw Measurement.Failed(description: "Chromium cannot be told \(method)")
    }
    return lastID
  }

  private func answer(to id: Int, _ method: String) throws -> [String: Any] {
    while true {
      let answer = try message()
      guard answer["id"] as? Int == id else { continue }
      guard let result = answer["result"] as? [String: Any] else {
        throw Measurement.Failed(description: "Chromium refuses \(method): \(answer["error"] ?? "")")
      }
      return result
    }
  }

  /// The next message: an answer, or an event. Each ends with a zero byte.
  private func message() throws -> [String: Any] {
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    var searched = 0
    while true {
      if let end = bytes[searched...].firstIndex(of: 0) {
        let text = Data(bytes[..<end])
        bytes.removeSubrange(...end)
        return try JSONSerialization.jsonObject(with: text) as? [String: Any] ?? [:]
      }
      searched = bytes.count
      var waiting = pollfd(fd: answers, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 30_000) > 0, case let count = read(answers, &chunk, chunk.count), count > 0 else {
        throw Measurement.Failed(description: "Chromium does not answer")
      }
      bytes += chunk[..<count]
    }
  }
}
