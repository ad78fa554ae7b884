import Foundation

/// `bundlectl dev`: from the saving of a file to the second frame in which headless Chromium shows it; and from a tap.
struct DevBenchmark {
  let bundlectl: String
  let folder: String
  /// The sample bundles.
  let samples: String
  let saves: Int

  private var root: String { folder + "/dev" }
  private var bundles: String { root + "/bundles" }

  /// A page of so many elements and taps that are counted.
  static func page(elements: Int, padding: Int = 0) -> String {
    """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
    var n = 0, tap = d.createElement('text', { attr: { value: 'taps: 0' } }); b.appendChild(tap)
    tap.addEvent('click', function () { n += 1; tap.setAttr('value', 'taps: ' + n) })
    for (var i = 1; i < \(elements); i++) b.appendChild(d.createElement('text', { attr: { value: 'line ' + i } }))
    var padding = '\(String(repeating: "x", count: padding))'

    """
  }

  func run(_ table: inout Table) throws {
    guard let program = Browser.program else { return table.add("Chromium is not installed", "", "", "", "") }
    try? FileManager.default.removeItem(atPath: root)
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: samples, toPath: bundles)
    for (name, text) in [
      ("plain-200", Self.page(elements: 200)), ("plain-1500", Self.page(elements: 1_500)),
      ("plain-1.8MB", Self.page(elements: 200, padding: 1_800_000)),
    ] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(bundles)/\(name).js"))
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: bundles).filter { $0.hasSuffix(".js") }.sorted()
    let log = root + "/log"
    let server = try LocalServer(bundlectl, log: log) { port in ["dev", bundles, "--listen", "127.0.0.1:\(port)"] }
    defer { server.stop() }
    for file in names {
      let name = String(file.dropLast(3))
      let browser = try Browser(
        program, folder: root + "/browser", url: "\(server.origin)/live/\(name)", width: 375, height: 812, scale: 2)
      try measureSaves(of: name, in: browser, log: log, &table)
      if name.hasPrefix("plain") { try measureTaps(on: name, in: browser, &table) }
    }
  }

  /// A script that shows a number below a page.
  private static func mark(_ number: Int) -> String {
    ";(function (d) { d.body.appendChild(d.createElement('text', { attr: { value: 'save \(number).' } })) })(weex.document)\n"
  }

  /// Waits until the page has changed and shows a text, and then for the second frame after it: Unix times in milliseconds.
  private static func nextFrames(showing text: String) -> String {
    """
    new Promise((resume) => {
      const seen = new MutationObserver(() => {
        if (!document.body.textContent.includes('\(text)')) return
        seen.disconnect()
        const changed = performance.timeOrigin + performance.now()
        requestAnimationFrame(() => requestAnimationFrame(() => resume([changed, performance.timeOrigin + performance.now()])))
      })
      seen.observe(document.body, { childList: true, characterData: true, attributes: true, subtree: true })
    })
    """
  }

  private func measureSaves(of name: String, in browser: Browser, log: String, _ table: inout Table) throws {
    let path = "\(bundles)/\(name).js"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    var (shown, changed) = (Samples(), Samples())
    for count in 0..<saves {
      let answer = try browser.begin(Self.nextFrames(showing: "save \(count)."))
      // People save less often; meanwhile another engine gets ready.
      usleep(300_000)
      // Every other save writes in place, and the others rename.
      let bytes = Data((text + Self.mark(count)).utf8)
      let start = try count % 2 == 0 ? writeInPlace(bytes, to: path) : replace(path, by: bytes)
      let times = try browser.value(of: answer)
      changed.append((times[0] - start) / 1_000)
      shown.append((times[1] - start) / 1_000)
    }
    // What `bundlectl dev` says of its own part.
    let took = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").suffix(saves)
      .compactMap { $0.firstMatch(of: /again after (\d+) ms/).flatMap { Double($0.1) } }
    var own = Samples()
    for time in took { own.append(time / 1_000) }
    table.add(
      "save of \(name).js", Figures.time(shown.quantile(0.5)), Figures.time(shown.quantile(0.95)),
      Figures.time(own.quantile(0.5)), Figures.time(changed.quantile(0.5)))
  }

  private func measureTaps(on name: String, in browser: Browser, _ table: inout Table) throws {
    var (shown, changed) = (Samples(), Samples())
    for _ in 0..<saves {
      let answer = try browser.begin(
        """
        (() => {
          const start = performance.timeOrigin + performance.now()
          const frames = \(Self.nextFrames(showing: "taps: "))
          document.querySelector('[data-events~=click]').click()
          return frames.then((times) => [start, ...times])
        })()
        """)
      let times = try browser.value(of: answer)
      changed.append((times[1] - times[0]) / 1_000)
      shown.append((times[2] - times[0]) / 1_000)
    }
    table.add(
      "tap on \(name).js", Figures.time(shown.quantile(0.5)), Figures.time(shown.quantile(0.95)), "",
      Figures.time(changed.quantile(0.5)))
  }

  /// - Returns: the Unix time of the closing in milliseconds.
  private func writeInPlace(_ bytes: Data, to path: String) throws -> Double {
    let file = open(path, O_WRONLY | O_TRUNC)
    guard file >= 0, bytes.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) == bytes.count else {
      throw Measurement.Failed(description: "\(path) cannot be written")
    }
    let now = Date().timeIntervalSince1970 * 1_000
    close(file)
    return now
  }

  private func replace(_ path: String, by bytes: Data) throws -> Double {
    let other = path + ".new"
    try bytes.write(to: URL(fileURLWithPath: other))
    let now = Date().timeIntervalSince1970 * 1_000
    guard rename(other, path) == 0 else { throw Measurement.Failed(description: "\(path) cannot be replaced") }
    return now
  }
}
