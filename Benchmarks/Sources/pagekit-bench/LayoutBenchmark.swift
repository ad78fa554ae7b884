import Foundation
import PageKit

/// Pictures of a page, beside those that a headless browser makes of its HTML.
struct LayoutBenchmark {
  /// The folder of our programs.
  let programs: String
  let folder: String
  /// The sample bundles, with their pictures.
  let samples: String
  let rounds: Int

  private static let (width, height, scale) = (375, 812, 2)
  /// The pictures of a page, of which the last ten are its hundredth.
  private static let count = 100

  /// The measurements of one of both, a value from each round.
  private struct Pictures {
    var (first, hundredth, memory, memoryAtEnd, bytes) = (Samples(), Samples(), Samples(), Samples(), Samples())
  }

  private var root: String { folder + "/layout" }
  private var bundle: String { root + "/bundles/page.js" }
  private var document: String { root + "/page.html" }
  private var size: String { "\(Self.width)x\(Self.height)@\(Self.scale)" }

  func run(_ table: inout Table) async throws {
    try prepare()
    var (ours, theirs) = (Pictures(), Pictures())
    for round in 0...rounds {
      try pageKit(&ours)
      if let program = Browser.program { try chromium(program, &theirs) }
      // The first brings programs and libraries into memory.
      if round == 0 { (ours, theirs) = (Pictures(), Pictures()) }
    }
    add("first picture, from a process's start", ours.first, theirs.first, Figures.time, &table)
    add("hundredth picture of an open page", ours.hundredth, theirs.hundredth, Figures.time, &table)
    add("memory (PSS) after the first", ours.memory, theirs.memory, Figures.bytes, &table)
    add("memory (PSS) after the hundredth", ours.memoryAtEnd, theirs.memoryAtEnd, Figures.bytes, &table)
    add("the file", ours.bytes, theirs.bytes, Figures.bytes, &table)
    try await parts(&table)
  }

  private func add(
    _ name: String, _ ours: Samples, _ theirs: Samples, _ format: (Double) -> String, _ table: inout Table
  ) {
    guard Browser.program != nil else { return table.add(name, ours.text(format), "not installed", "") }
    table.add(name, ours.text(format), theirs.text(format), Figures.ratio(ours.median / theirs.median))
  }

  /// Writes the page, which is the sample `catalogue` with half its goods, and its elements as HTML for the browser.
  private func prepare() throws {
    try? FileManager.default.removeItem(atPath: root)
    try FileManager.default.createDirectory(atPath: root + "/bundles", withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: samples + "/images", toPath: root + "/bundles/images")
    let sample = try String(contentsOfFile: samples + "/catalogue.js", encoding: .utf8)
    // With a listener that follows from places, it would be laid out before it is measured.
    let text = sample.replacing("\n  ]\n", with: "\n  ].slice(0, 100)\n", maxReplacements: 1)
      .replacing("addEvent('loadmore'", with: "addEvent('unused'")
    try Data(text.utf8).write(to: URL(fileURLWithPath: bundle))
    _ = try Measurement.run(render("json", to: root + "/page.json"))
    let elements = try String(contentsOfFile: root + "/page.json", encoding: .utf8)
    let cells = elements.matches(of: /"type" ?: ?"cell"/).count
    guard cells == 100 else { throw Measurement.Failed(description: "the catalogue has \(cells) cells") }
    _ = try Measurement.run(render("html", to: document))
  }

  private func render(_ format: String, to file: String) -> [String] {
    [programs + "/bundlectl", "render", bundle, "--store", root + "/tool", "--format", format, "-o", file]
  }

  // MARK: Both

  private func pageKit(_ pictures: inout Pictures) throws {
    let file = root + "/page.png"
    pictures.first.append(try Measurement.run(render("png", to: file) + ["--size", size]).wall)
    let device = ["deviceWidth=\(Self.width * Self.scale)", "deviceHeight=\(Self.height * Self.scale)"]
    let host = try RunningHost(
      programs + "/renderhost", bundles: root + "/bundles", store: root + "/store", workers: 1,
      options: ["--pictures"] + (device + ["scale=\(Self.scale)"]).flatMap { ["--env", $0] }, log: root + "/host.log")
    defer { host.stop() }
    let pages = host.server.origin + "/pages"
    let opened = try Measurement.output(
      ["curl", "-sf", "-H", "Content-Type: application/json", "-d", #"{"name": "page", "settle": 10}"#, pages])
    let loaded = opened.matches(of: /"state" ?: ?"loaded"/).count
    guard let page = try JSONSerialization.jsonObject(with: Data(opened.utf8)) as? [String: Any],
      let id = page["id"] as? String, loaded == 100
    else { throw Measurement.Failed(description: "renderhost has opened a page with \(loaded) pictures of 100") }
    func draw(_ count: Int) throws -> [Double] {
      let url = "\(pages)/\(id)/picture?format=png#[1-\(count)]"
      let lines = try Measurement.output(["curl", "-sf", "-o", file, "-w", "%{size_download} %{time_total}\n", url])
        .split(separator: "\n").map { $0.split(separator: " ").compactMap { Double($0) } }
      pictures.bytes = Samples(pictures.bytes.values + lines.compactMap(\.first))
      return lines.compactMap(\.last)
    }
    _ = try draw(1)
    pictures.memory.append(Double(host.proportionalBytes))
    pictures.hundredth.append(Measurement.median(try draw(Self.count - 1).suffix(10)))
    pictures.memoryAtEnd.append(Double(host.proportionalBytes))
  }

  private func chromium(_ program: String, _ pictures: inout Pictures) throws {
    let start = ContinuousClock.now
    let browser = try Browser(
      program, folder: root + "/browser", url: "file://" + document, width: Self.width, height: Self.height,
      scale: Self.scale)
    pictures.bytes.append(Double(try browser.picture().bytes))
    pictures.first.append(Measurement.seconds(since: start))
    pictures.memory.append(Double(browser.proportionalBytes))
    let times = try (1..<Self.count).map { _ in try browser.picture().seconds }
    pictures.hundredth.append(Measurement.median(times.suffix(10)))
    pictures.memoryAtEnd.append(Double(browser.proportionalBytes))
  }

  // MARK: Ours, in parts

  /// The first layout of a page whose fonts are loaded; and a picture of a page that is laid out, whose time perf(1)
  /// divides.
  private func parts(_ table: inout Table) async throws {
    var configuration = HostConfiguration(store: StoreDirectory(root + "/host"))
    configuration.resources.localFolder = root + "/bundles"
    configuration.pages.device = DefaultConfiguration([
      "deviceWidth": .number(Double(Self.width * Self.scale)),
      "deviceHeight": .number(Double(Self.height * Self.scale)),
      "scale": .number(Double(Self.scale)),
    ])
    let host = try PageHost(configuration)
    var (layouts, pictures, share) = (Samples(), Samples(), Double?.none)
    for round in 0...rounds {
      let page = try await host.open("file://" + bundle)
      await page.settle(within: .seconds(20))
      let layout = await Measurement.time(1) { _ = await page.layout }
      if round > 0 { layouts.append(layout) }
      if round == rounds {
        share = try await encodingShare {
          for _ in 0..<Self.count { pictures.append(try await Measurement.time(1) { _ = try await page.picture() }) }
        }
      }
      await page.destroy()
    }
    await host.shutDown()
    table.add("layout of all its elements", layouts.text(), "", "")
    guard let share else {
      return table.add("drawing and encoding (perf cannot tell them apart)", pictures.text(), "", "")
    }
    table.add("drawing", Figures.time(pictures.median * (1 - share)), "", "")
    table.add("encoding", Figures.time(pictures.median * share), "", "")
  }

  /// The part of the time of drawing and encoding that encoding takes, by the stacks that perf(1) samples; `nil` if it
  /// samples none.
  private func encodingShare(during body: () async throws -> Void) async throws -> Double? {
    let file = root + "/perf.data"
    let perf = try? Child([
      "perf", "record", "-q", "-e", "cpu-clock", "-F", "199", "--call-graph", "dwarf,16384", "-p", "\(getpid())",
      "-o", file,
    ])
    // It attaches to each thread first.
    try await Task.sleep(for: .seconds(1))
    try await body()
    guard let perf else { return nil }
    kill(perf.pid, SIGINT)
    _ = try? perf.finish()
    let command = #"perf report -i "$0" --stdio --children -g none --sort symbol -t ';' 2>/dev/null"#
    let lines = ((try? Measurement.output(["sh", "-c", command, file])) ?? "").split(separator: "\n")
    /// The percentage of samples with a function on their stacks.
    func share(_ name: String) -> Double? {
      let line = lines.first { $0.contains(name) }
      return line?.split(separator: "%").first.flatMap { Double($0.trimmingCharacters(in: .whitespaces)) }
    }
    guard let drawing = share("DrawingV4draw5width"), let encoding = share("CanvasC3png5level") else { return nil }
    return encoding / (drawing + encoding)
  }
}
