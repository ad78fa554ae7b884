import Foundation

/// Compares with peers in the same run; a ratio below 1 is in our favour.
@main
enum Benchmark {
  static func main() async {
    let arguments = CommandLine.arguments
    if arguments.dropFirst().first == Crowd.command {
      do { return try Crowd.run(Array(arguments.dropFirst(2))) } catch { fail(error) }
    }
    if arguments.dropFirst().first == Clients.command {
      do { return try Clients.main(Array(arguments.dropFirst(2))) } catch { fail(error) }
    }
    guard arguments.count >= 3 else {
      FileHandle.standardError.write(
        Data(
          "usage: pagekit-bench PROGRAMS FOLDER [ROUNDS] [store|deltas|links|pages|hot|host|gateway|render|layout|dev|live|load|growth|gateway-growth]\n"
            .utf8
        ))
      exit(64)
    }
    let rounds = arguments.count > 3 ? Int(arguments[3]) ?? 7 : 7
    let (programs, folder) = (arguments[1], arguments[2])
    let part = arguments.count > 4 ? arguments[4] : nil
    do {
      try await run(part, programs: programs, folder: folder, rounds: rounds)
    } catch {
      fail(error)
    }
  }

  private static func fail(_ error: any Error) -> Never {
    FileHandle.standardError.write(Data("pagekit-bench: \(error)\n".utf8))
    exit(1)
  }

  private static func run(
    _ part: String?, programs: String, folder: String, rounds: Int
  ) async throws {
    func isWanted(_ name: String) -> Bool { part == nil || part == name }
    if isWanted("store") { try await store(bundlectl: programs + "/bundlectl", folder: folder, rounds: rounds) }
    if isWanted("deltas") { try deltas(bundlectl: programs + "/bundlectl", folder: folder) }
    if isWanted("links") { try links(bundlectl: programs + "/bundlectl", folder: folder, rounds: max(2, rounds / 3)) }
    if isWanted("pages") { try await pages(programs + "/bare-engine", folder: folder, rounds: rounds) }
    if isWanted("host") { try host(programs, folder: folder, rounds: max(3, rounds / 2)) }
    if isWanted("gateway") { try gateway(programs, folder: folder, rounds: max(3, rounds / 2)) }
    if isWanted("render") { try render(programs, folder: folder, rounds: max(3, rounds / 2)) }
    if isWanted("layout") { try await layout(programs, folder: folder, rounds: max(3, rounds / 2)) }
    if isWanted("dev") {
      try dev(bundlectl: programs + "/bundlectl", folder: folder, saves: rounds < 7 ? 50 : 200)
      try recordings(bundlectl: programs + "/bundlectl", folder: folder, rounds: max(5, rounds))
    }
    if isWanted("live") { try live(programs + "/renderhost", folder: folder, taps: max(3, rounds) * 4) }
    if isWanted("growth") {
      let rounds = max(3, rounds / 2)
      let benchmark = GrowthBenchmark(bundlectl: programs + "/bundlectl", folder: folder, rounds: rounds)
      try await show(benchmark.run(), in: folder)
    }
    if isWanted("gateway-growth") {
      let growth = GatewayGrowth(renderhost: programs + "/renderhost", folder: folder, rounds: max(3, rounds / 2))
      try growth.run { try show($0, in: folder) }
    }
    // For a profiler.
    if part == "hot" { try await PageBenchmark(engine: "", folder: folder, rounds: rounds).hot() }
    if isWanted("load") { try load(programs + "/renderhost", folder: folder, seconds: max(3, rounds)) }
  }

  private static func host(_ programs: String, folder: String, rounds: Int) throws {
    let benchmark = HostBenchmark(programs: programs, folder: folder, rounds: rounds)
    var secure = Table(
      "answers per second on one core, TLS 1.3", "renderhost", "nginx", "nghttpd", "to nginx", "to nghttpd")
    try benchmark.runSecure(&secure)
    secure.print()
    print()
    var table = Table(
      "answers per second on one core", "renderhost", "nginx", "Varnish", "one fixed 304 by NIO alone", "to nginx",
      "to Varnish")
    try benchmark.run(&table)
    table.print()
    print()
  }

  private static func gateway(_ programs: String, folder: String, rounds: Int) throws {
    var table = Table("gateway on one core", "renderhost", "nginx", "Varnish", "to nginx", "to Varnish", "spread")
    var costs = Table(
      "gateway, processor time of a request", "renderhost", "nginx", "Varnish", "NIO and libcurl alone", "NIO alone",
      "system calls",
      "p99", "p99 of nginx", "p99 of Varnish")
    try GatewayBenchmark(programs: programs, folder: folder, rounds: rounds).run(&table, costs: &costs)
    table.print()
    print()
    costs.print()
    print()
  }

  private static func render(_ programs: String, folder: String, rounds: Int) throws {
    var table = Table("renderhost", "measured", "aim")
    let benchmark = RenderBenchmark(
      renderhost: programs + "/renderhost", engine: programs + "/bare-engine", folder: folder, rounds: rounds)
    try benchmark.run(&table)
    table.print()
  }

  /// The page is one of the samples of the folder in which the benchmark runs.
  private static func layout(_ programs: String, folder: String, rounds: Int) async throws {
    var table = Table("pictures of a page of 100 cells, 375x812@2", "PageKit", "Chromium", "ratio")
    let samples = FileManager.default.currentDirectoryPath + "/bundles"
    try await LayoutBenchmark(programs: programs, folder: folder, samples: samples, rounds: rounds).run(&table)
    table.print()
    print()
  }

  private static func dev(bundlectl: String, folder: String, saves: Int) throws {
    var table = Table(
      "`bundlectl dev` and Chromium, \(saves) times each", "p50 to the second frame", "p95", "read, run and settle",
      "p50 to the change")
    let samples = FileManager.default.currentDirectoryPath + "/bundles"
    try DevBenchmark(bundlectl: bundlectl, folder: folder, samples: samples, saves: saves).run(&table)
    table.print()
    print()
  }

  private static func recordings(bundlectl: String, folder: String, rounds: Int) throws {
    var table = Table("recordings of pages", "measured", "aim")
    try RecordingBenchmark(bundlectl: bundlectl, folder: folder, rounds: rounds).run(&table)
    table.print()
    print()
  }

  private static func live(_ renderhost: String, folder: String, taps: Int) throws {
    var table = Table(
      "live pages, two workers", "p50 to the first viewer", "p95", "p50 to the last viewer", "p95", "lost",
      "memory (PSS) of the daemon", "of its workers")
    try LiveBenchmark(renderhost: renderhost, folder: folder, taps: taps).run(&table)
    table.print()
    print()
  }

  private static func load(_ renderhost: String, folder: String, seconds: Int) throws {
    let benchmark = LoadBenchmark(renderhost: renderhost, folder: folder, seconds: seconds)
    var table = Table("`/render`, two workers", "pages/s", "p50", "p99", "refused", "failed", "workers ended")
    try benchmark.run(&table)
    table.print()
    print()
    var pages = Table("open pages, two workers", "measured")
    try benchmark.open(&pages)
    pages.print()
    print()
  }

  /// Prints the curves, and writes their plots to `plots` in the folder.
  private static func show(_ curves: [Curve], in folder: String) throws {
    let plots = folder + "/plots"
    try FileManager.default.createDirectory(atPath: plots, withIntermediateDirectories: true)
    for curve in curves {
      curve.print()
      try Plot(curve: curve).svg.map { Data($0.utf8) }?.write(to: URL(fileURLWithPath: "\(plots)/\(curve.name).svg"))
    }
  }

  private static func store(bundlectl: String, folder: String, rounds: Int) async throws {
    let commands = PreloadBenchmark(bundlectl: bundlectl, folder: folder, rounds: rounds)
    var table = Table("what", "PageKit", "beside it", "ratio", "resident")
    try commands.preload(&table, Array(stride(from: 20_000, to: 320_000, by: 600)))
    try commands.preload(&table, Array(repeating: 8 << 20, count: 12))
    for count in [1_000, 10_000] { try commands.launches(&table, count) }
    try await ReadBenchmark(folder: folder).run(&table)
    try await ResponseBenchmark(folder: folder).run(&table)
    table.print()
    print()
  }

  /// The samples are those of the folder in which the benchmark runs.
  private static func deltas(bundlectl: String, folder: String) throws {
    var table = Table(
      "bytes of an update", "raw", "Brotli 11", "zstd 19", "bsdiff", "xdelta3", "PageKit", "to Brotli 11, median")
    let samples = FileManager.default.currentDirectoryPath + "/bundles"
    try DeltaBenchmark(bundlectl: bundlectl, folder: folder, samples: samples).run(&table)
    table.print()
    print()
  }

  private static func links(bundlectl: String, folder: String, rounds: Int) throws {
    var table = Table("first preload over a link", "PageKit", "curl, then curl -Z, md5sum, sync -f", "ratio")
    try LinkBenchmark(bundlectl: bundlectl, folder: folder, rounds: rounds).run(&table)
    table.print()
    print()
  }

  private static func pages(_ engine: String, folder: String, rounds: Int) async throws {
    var table = Table("page", "time", "to the bare engine", "aim")
    try await PageBenchmark(engine: engine, folder: folder, rounds: rounds).run(&table)
    table.print()
    print()
  }
}
