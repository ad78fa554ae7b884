import Foundation

/// Recordings of pages: the processor time that recording adds, and the time until one of 10,000 steps is shown.
struct RecordingBenchmark {
  let bundlectl: String
  let folder: String
  let rounds: Int

  private static let (taps, steps, jumps) = (1_000, 10_000, 50)
  private static let elements = 200

  private var root: String { folder + "/recordings" }
  private var bundles: String { root + "/bundles" }

  /// A page that changes a text by as many timers, one after the other, and adds an element at every tenth of them.
  private static var ticking: String {
    DevBenchmark.page(elements: elements) + """
      function tick() {
        n += 1; tap.setAttr('value', 'ticks: ' + n)
        if (n % 10 === 0) b.appendChild(d.createElement('text', { attr: { value: 'row ' + n } }))
        if (n < \(steps)) setTimeout(tick, 0)
      }
      setTimeout(tick, 0)

      """
  }

  func run(_ table: inout Table) throws {
    try? FileManager.default.removeItem(atPath: root)
    try FileManager.default.createDirectory(atPath: bundles, withIntermediateDirectories: true)
    for (name, text) in [("taps", DevBenchmark.page(elements: Self.elements)), ("ticks", Self.ticking)] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(bundles)/\(name).js"))
    }
    try measureCost(&table)
    let recording = try measureJumps(&table)
    var shown = Samples()
    for _ in 0..<max(10, rounds) {
      let step = Int.random(in: 1...Self.steps)
      shown.append(try Measurement.run([bundlectl, "replay", recording, "--show", "\(step)"]).wall)
    }
    table.add(
      "`bundlectl replay --show` of one of them, p95", Figures.time(shown.quantile(0.95)), "at most 100 ms")
    let list = try Measurement.run([bundlectl, "replay", recording, "--list"])
    table.add(
      "`bundlectl replay --list` of all", "\(Figures.time(list.wall)), \(Figures.bytes(Double(list.residentBytes)))", ""
    )
  }

  /// Taps a page with and without a recording, in turn.
  private func measureCost(_ table: inout Table) throws {
    let render = [bundlectl, "render", "\(bundles)/taps.js", "--time", "2026-01-01T00:00:00Z", "--seed", "7"]
    let outline = try Measurement.output(render)
    guard let ref = outline.firstMatch(of: /#(\d+) value="taps: 0"/)?.1 else {
      throw Measurement.Failed(description: "bundlectl render wrote \(outline.prefix(500))")
    }
    let command = render + (0..<Self.taps).map { _ in "--fire=\(ref):click" }
    var (plain, recorded) = (Samples(), Samples())
    for round in 0..<rounds {
      // The first one of a pair is not always the same.
      for isRecorded in round % 2 == 0 ? [false, true] : [true, false] {
        let cpu = try Measurement.run(command + (isRecorded ? ["--record", root + "/taps.recording"] : [])).cpu
        if isRecorded { recorded.append(cpu) } else { plain.append(cpu) }
      }
    }
    table.add(
      "processor time of \(Self.taps) taps, recorded", "\(recorded.text()), without: \(plain.text())", "")
    table.add("recorded, to without", Figures.ratio(recorded.median / plain.median), "at most 1.05")
  }

  /// Looks at steps of a page that `bundlectl dev` has recorded.
  ///
  /// - Returns: the path of the recording.
  private func measureJumps(_ table: inout Table) throws -> String {
    let server = try LocalServer(bundlectl, log: root + "/log") { port in
      ["dev", bundles, "--listen", "127.0.0.1:\(port)", "--record", root + "/run.recording"]
    }
    defer { server.stop() }
    let answer = try Measurement.output([
      "curl", "-s", "-H", "Origin: \(server.origin)", "-H", "Content-Type: application/json", "-d",
      #"{"name":"ticks"}"#, server.origin + "/live",
    ])
    guard let page = answer.firstMatch(of: /"page":"([^"]+)"/)?.1 else {
      throw Measurement.Failed(description: "/live wrote \(answer.prefix(500))")
    }
    let steps = "\(server.origin)/steps/\(page)"
    let deadline = ContinuousClock.now + .seconds(300)
    while try !Measurement.output(["curl", "-s", "\(steps)/\(Self.steps)"]).contains("\"step\":\(Self.steps)") {
      guard ContinuousClock.now < deadline else {
        throw Measurement.Failed(description: "the page was not done after 300 s")
      }
      usleep(500_000)
    }
    var shown = Samples()
    for jump in [1, Self.steps / 2, Self.steps] + (0..<Self.jumps).map({ _ in Int.random(in: 1...Self.steps) }) {
      // As the document with the slider asks: for the elements, and for what the step has done.
      shown.append(try seconds(for: "\(steps)/\(jump)/preview") + seconds(for: "\(steps)/\(jump)"))
    }
    table.add("one of \(Self.steps) steps in `/steps`, p50", Figures.time(shown.quantile(0.5)), "")
    table.add("p95", Figures.time(shown.quantile(0.95)), "at most 100 ms")
    return root + "/run-1.recording"
  }

  /// The time of an answer.
  private func seconds(for url: String) throws -> Double {
    let text = try Measurement.output(["curl", "-s", "-o", root + "/answer", "-w", "%{http_code} %{time_total}", url])
    guard text.hasPrefix("200 "), let seconds = Double(text.dropFirst(4)) else {
      throw Measurement.Failed(description: "\(url): \(text)")
    }
    return seconds
  }
}
