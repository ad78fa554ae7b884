import Foundation
import PageKit

/// How fast pages open, each way beside the bare script engine and a cold opening in the same run.
struct PageBenchmark {
  /// The program `bare-engine`.
  let engine: String
  let folder: String
  let rounds: Int

  func run(_ table: inout Table) async throws {
    let path = folder + "/pages"
    try? FileManager.default.removeItem(atPath: path)
    // First: later pages would use what earlier ones have freed.
    try await memory(&table, path)
    try await openings(&table, path)
    try await large(&table, path)
    try await vue(&table, path)
    try await neighbour(&table, path)
    try await cells(&table, path)
    try await crowd(&table, path)
  }

  // MARK: Rows

  private func openings(_ table: inout Table, _ path: String) async throws {
    let hosts = [
      ("cold", "", try Self.host(path) { $0.ready = 0 }),
      ("framework booted", "", try Self.host(path) { $0.primes = false }),
      ("booted and primed", "at most 5", try Self.host(path) { _ in }),
    ]
    let warm = try Self.host(path) { _ in }
    let file = path + "/page.js"
    try Data(Self.bundle.utf8).write(to: URL(fileURLWithPath: file))
    var stub: [Double] = []
    var framework: [Double] = []
    var first: [Double] = []
    var times: [[Double]] = hosts.map { _ in [] }
    var hot: [Double] = []
    var ended: [Double] = []
    for round in 0...rounds * 3 {
      if round > 0 {
        stub.append(try bare("stub", file))
        framework.append(try bare("framework", file, Self.framework))
        first.append(try bare("first", file, Self.framework, pages: 4))
        let batch = try await batch(Self.bundle, warm)
        hot.append(batch.opening)
        ended.append(batch.whole)
      }
      for (index, host) in hosts.enumerated() {
        await Self.start(host.2)
        let time = try await opening(Self.bundle, host.2).opening
        if round > 0 { times[index].append(time) }
      }
    }
    let bare = Measurement.median(stub)
    add("bare engine, a document that does nothing", stub, bare, "", &table)
    add("bare engine, our framework without a host", framework, bare, "", &table)
    add("the same, each page in an engine of its own", first, bare, "", &table)
    for (index, host) in hosts.enumerated() { add(host.0, times[index], bare, host.1, &table) }
    add("hot: the bundle ran before", hot, bare, "at most 2", &table)
    add("hot, with the page's end", ended, bare, "", &table)
    try await prerendered(&table, path, bare)
  }

  /// The seconds in which a page opens, and those in which it opens and ends.
  private func opening(_ bundle: String, _ host: PageHost) async throws -> (opening: Double, whole: Double) {
    guard let url = PageURL("https://pages.example.com/page.js") else {
      throw Measurement.Failed(description: "the page has no URL")
    }
    let page = await host.page()
    let opening = try await Measurement.time(1) { try await page.render(bundle, at: url) }
    return (opening, opening + (await Measurement.time(1) { await page.destroy() }))
  }

  /// The medians of as many pages in a row as the bare engine opens, without the first quarter, as there.
  private func batch(
    _ bundle: String, _ host: PageHost, pages: Int = pagesInRow
  ) async throws -> (opening: Double, whole: Double) {
    await Self.start(host)
    var times: [(opening: Double, whole: Double)] = []
    for _ in 0..<pages { times.append(try await opening(bundle, host)) }
    let counted = times.dropFirst(pages / 4)
    return (Measurement.median(counted.map(\.opening)), Measurement.median(counted.map(\.whole)))
  }

  static let pagesInRow = 60

  /// Brings a host to the state in which it opens its first page.
  private static func start(_ host: PageHost) async {
    await host.releaseMemory()
    // Engines end on threads of their own.
    try? await Task.sleep(for: .milliseconds(100))
    await host.prepare()
  }

  /// Opens and ends a hundred hot pages for each round, and prints how long one takes.
  func hot() async throws {
    let host = try Self.host(folder + "/pages") { _ in }
    let time = try await Measurement.time(rounds * 100) { _ = try await opening(Self.bundle, host) }
    print("hot page:", Figures.time(time))
  }

  /// The seconds of a page in the bare engine.
  func bare(
    _ mode: String, _ bundle: String, _ files: [String] = [], pages: Int = pagesInRow
  ) throws -> Double {
    let output = try Measurement.output([engine, mode, "\(pages)", bundle] + files)
    guard let milliseconds = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw Measurement.Failed(description: "bare-engine wrote \(output)")
    }
    return milliseconds / 1_000
  }

  /// The files of the built-in framework, in the order in which they are evaluated.
  private static let framework = [
    "commands", "nodes", "elements", "changes", "documents", "tasks", "pages", "sealing",
  ].map { name in
    URL(fileURLWithPath: #filePath).appending(path: "../../../../Sources/PageRuntime/Framework/\(name).js").standardized
      .path
  }

  private func prerendered(_ table: inout Table, _ path: String, _ bare: Double) async throws {
    try Self.publish(path)
    let host = try PageHost(Self.configuration(path))
    _ = await host.preload().report()
    let url = "file://\(path)/bundles/page.js"
    var times: [Double] = []
    for _ in 0..<rounds * 3 {
      try await host.prerender(url)
      var page: PageInstance?
      times.append(try await Measurement.time(1) { page = try await host.open(url) })
      await page?.destroy()
    }
    add("prerendered", times, bare, "", &table)
    try await snapshots(&table, path, bare)
  }

  /// The elements of the last run: the time from the opening to the event that has them.
  private func snapshots(_ table: inout Table, _ path: String, _ bare: Double) async throws {
    var configuration = try Self.configuration(path)
    configuration.pages.snapshot = .showLast
    let host = try PageHost(configuration)
    func opening() async throws -> Double? {
      // The page before ends on threads of its own.
      try await Task.sleep(for: .milliseconds(100))
      let page = try await host.open("file://\(path)/bundles/page.js")
      await page.finishSnapshot()
      let time = await page.timings.snapshot
      await page.destroy()
      return time.map { $0 / .seconds(1) }
    }
    _ = try await opening()
    var (memory, disk): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds * 3 {
      if let time = try await opening() { memory.append(time) }
      await host.releaseMemory()
      if let time = try await opening() { disk.append(time) }
    }
    add("the elements of the last run, from memory", memory, bare, "1 ms", &table)
    add("the elements of the last run, from disk", disk, bare, "", &table)
  }

  /// The page behind a library of 2 MB, beside the bare engine with the same bundle and framework.
  private func large(_ table: inout Table, _ path: String) async throws {
    let (bundle, file, pages) = (Self.bundle(helpers: 8_000), path + "/large.js", 20)
    try Data(bundle.utf8).write(to: URL(fileURLWithPath: file))
    let (cold, warm) = (try Self.host(path) { $0.ready = 0 }, try Self.host(path) { _ in })
    var (bare, first, hot): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<rounds {
      bare.append(try self.bare("framework", file, Self.framework, pages: pages))
      await Self.start(cold)
      first.append(try await opening(bundle, cold).opening)
      hot.append(try await batch(bundle, warm, pages: pages).opening)
    }
    let peer = Measurement.median(bare)
    add("\(bundle.utf8.count >> 10) KiB, bare engine, our framework without a host", bare, peer, "", &table)
    add("\(bundle.utf8.count >> 10) KiB, cold", first, peer, "", &table)
    add("\(bundle.utf8.count >> 10) KiB, hot", hot, peer, "at most 2", &table)
  }

  /// A page of Vue, if `PAGEKIT_BENCH_VUE` is the path of the published framework.
  private func vue(_ table: inout Table, _ path: String) async throws {
    guard let file = ProcessInfo.processInfo.environment["PAGEKIT_BENCH_VUE"] else { return }
    let framework = try String(contentsOfFile: file, encoding: .utf8)
    let host = try Self.host(path) { $0.frameworks[.vue] = framework }
    var times: [Double] = []
    for _ in 0..<rounds { times.append(try await batch(Self.vueBundle, host).opening) }
    table.add("100 cells by Vue, hot", Figures.time(Measurement.median(times)), "", "")
  }

  /// How long a hot page takes to open while another one's 100,000 elements are being made.
  private func neighbour(_ table: inout Table, _ path: String) async throws {
    let host = try Self.host(path) { _ in }
    _ = try await batch(Self.bundle, host)
    var (during, worst): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
      let page = await host.page()
      let long = Task { try await page.render(Self.list(50_000)) }
      var slowest = 0.0
      while await page.tree.count < 2 + 100_000 {
        let time = try await opening(Self.bundle, host).opening
        during.append(time)
        slowest = max(slowest, time)
      }
      try await long.value
      await page.destroy()
      worst.append(slowest)
    }
    table.add(
      "a hot page while another one gets 100,000 elements", Figures.time(Measurement.median(during)),
      "slowest \(Figures.time(Measurement.median(worst)))", "")
  }

  private func cells(_ table: inout Table, _ path: String) async throws {
    let count = 10_000
    let host = try Self.host(path) { _ in }
    var times: [Double] = []
    for _ in 0..<max(3, rounds) {
      let page = await host.page()
      times.append(try await Measurement.time(1) { try await page.render(Self.list(count)) })
      guard await page.tree.count == 2 + 2 * count else { throw Measurement.Failed(description: "cells are missing") }
      await page.destroy()
    }
    let time = Measurement.median(times)
    table.add(
      "a list of 10,000 cells, each with its text", Figures.time(time),
      "\(Int(Double(count) / time)) commands/s", "")
  }

  private func memory(_ table: inout Table, _ path: String) async throws {
    let host = try Self.host(path) { $0.kept = 0 }
    var pages: [PageInstance] = []
    for _ in 0..<10 { pages.append(try await Self.opened(host)) }
    let before = ResponseBenchmark.residentBytes()
    for _ in 0..<50 { pages.append(try await Self.opened(host)) }
    let each = (ResponseBenchmark.residentBytes() - before) / 50
    for page in pages { await page.destroy() }
    table.add("memory of a page with 200 elements", "\(each >> 10) KiB", "", "")
  }

  /// Pages that open at the same time, beside as many that open one after the other; both stay open until the last has.
  private func crowd(_ table: inout Table, _ path: String) async throws {
    let count = 200
    let host = try Self.host(path) { _ in }
    var alone: [Double] = []
    var together: [Double] = []
    for _ in 0..<3 {
      var pages: [PageInstance] = []
      alone.append(
        try await Measurement.time(1) { for _ in 0..<count { pages.append(try await Self.opened(host)) } })
      for page in pages { await page.destroy() }
      pages = []
      together.append(
        try await Measurement.time(1) {
          try await withThrowingTaskGroup(of: PageInstance.self) { group in
            for _ in 0..<count { group.addTask { try await Self.opened(host) } }
            for try await page in group { pages.append(page) }
          }
        })
      for page in pages { await page.destroy() }
    }
    let time = Measurement.median(together)
    table.add(
      "200 pages at once, beside one after the other", Figures.time(time),
      Figures.ratio(time / Measurement.median(alone)), "at most 1.2")
  }

  private func add(_ name: String, _ times: [Double], _ bare: Double, _ aim: String, _ table: inout Table) {
    let time = Measurement.median(times)
    table.add(name, Figures.time(time), Figures.ratio(time / bare), aim)
  }

  // MARK: Pages

  @PageActor private static func opened(_ host: PageHost) async throws -> PageInstance {
    let page = host.page()
    try await page.render(bundle)
    return page
  }

  /// A catalogue of 100 cells, made by one function as a compiler of templates writes it, behind a library of which a
  /// page needs little.
  static let bundle = bundle(helpers: 300)

  private static func bundle(helpers: Int) -> String {
    var text = header
    for number in 0..<helpers {
      text += """
        function helper\(number)(values, key) {
          var result = []
          for (var i = 0; i < values.length; i++) { if (values[i][key] > \(number)) result.push({ key: values[i][key], index: i }) }
          return result.sort(function (a, b) { return a.key - b.key })
        }

        """
    }
    return text + """
      function cell(item, index) {
        var cell = d.createElement('cell', { attr: { index: index }, style: { padding: '24px', flexDirection: 'row' } })
        var label = d.createElement('text', { attr: { value: item.name + ' ' + item.price.toFixed(2) }, style: { fontSize: '32px', color: '#222' } })
        cell.appendChild(label)
        cell.addEvent('click', function () { label.setAttr('value', 'chosen ' + item.name) })
        return cell
      }
      for (var i = 0; i < 100; i++) list.appendChild(cell({ name: 'item ' + i, price: i * 1.5 }, i))
      helper7([{ a: 9 }, { a: 8 }], 'a')
      """
  }

  private static let vueBundle = """
    // { "framework": "Vue" }
    var items = []
    for (var i = 0; i < 100; i++) items.push({ name: 'item ' + i, price: i * 1.5, isChosen: false })
    new Vue({
      el: '#root',
      data: { items: items },
      render: function (h) {
        return h('list', { staticStyle: { flex: 1 } }, this.items.map(function (item, index) {
          return h('cell', {
            attrs: { index: index }, staticStyle: { padding: '24px', flexDirection: 'row' },
            on: { click: function () { item.isChosen = true } }
          }, [h('text', {
            attrs: { value: item.isChosen ? 'chosen ' + item.name : item.name + ' ' + item.price.toFixed(2) },
            staticStyle: { fontSize: '32px', color: '#222' }
          })])
        }))
      }
    })
    """

  private static func list(_ count: Int) -> String {
    header + """
      for (var i = 0; i < \(count); i++) {
        var cell = d.createElement('cell', { style: { padding: '24px', flexDirection: 'row' } })
        cell.appendChild(d.createElement('text', { attr: { value: 'item ' + i }, style: { fontSize: '32px' } }))
        list.appendChild(cell)
      }
      """
  }

  private static let header = """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
    var list = d.createElement('list', { style: { flex: 1 } }); b.appendChild(list)

    """

  // MARK: Hosts

  private static func configuration(_ path: String) throws -> HostConfiguration {
    var configuration = try HostConfiguration(manifest: path + "/manifest.json", store: StoreDirectory(path + "/store"))
    configuration.pages.scripts.limits = ScriptLimits(time: .seconds(60))
    return configuration
  }

  private static func host(
    _ path: String, _ change: (inout ScriptConfiguration) -> Void
  ) throws -> PageHost {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var configuration = try configuration(path)
    change(&configuration.pages.scripts)
    return try PageHost(configuration)
  }

  private static func publish(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path + "/bundles", withIntermediateDirectories: true)
    let bytes = Array(bundle.utf8)
    try Data(bytes).write(to: URL(fileURLWithPath: path + "/bundles/page.js"))
    let entry = try SiteManifest.Entry(name: "page", path: "page.js", bytes)
    try SiteManifest(release: "1", base: "bundles/", bundles: [entry]).write(to: path + "/manifest.json")
  }
}
