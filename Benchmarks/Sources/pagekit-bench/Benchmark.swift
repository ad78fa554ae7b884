import Foundation

/// Compares with peers in the same run; a ratio below 1 is in our favour.
@main
enum Benchmark {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 3 else {
      FileHandle.standardError.write(Data("usage: pagekit-bench BUNDLECTL FOLDER [ROUNDS] [store|pages]\n".utf8))
      exit(64)
    }
    let rounds = arguments.count > 3 ? Int(arguments[3]) ?? 7 : 7
    let folder = arguments[2]
    let part = arguments.count > 4 ? arguments[4] : ""
    if part != "pages" { try await store(bundlectl: arguments[1], folder: folder, rounds: rounds) }
    if part != "store" { try await pages(folder: folder, rounds: rounds) }
  }

  private static func store(bundlectl: String, folder: String, rounds: Int) async throws {
    let commands = PreloadBenchmark(bundlectl: bundlectl, folder: folder, rounds: rounds)
    var table = Table("what", "PageKit", "beside it", "ratio", "resident")
    try commands.preload(&table)
    try commands.unchangedLaunch(&table)
    try await ReadBenchmark(folder: folder).run(&table)
    try await ResponseBenchmark(folder: folder).run(&table)
    table.print()
    print()
  }

  private static func pages(folder: String, rounds: Int) async throws {
    var table = Table("page", "time", "to a cold one", "aim")
    try await PageBenchmark(folder: folder, rounds: rounds).run(&table)
    table.print()
  }
}
