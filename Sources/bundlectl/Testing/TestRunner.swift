import Foundation
import PageKit
import Synchronization

/// The test files that arguments name.
struct TestFiles: Sendable {
  /// The paths, from the working directory if they are in it, in order.
  private(set) var paths: [String] = []
  /// The folders of snapshots that were seen.
  private(set) var snapshotFolders: [String] = []

  private static let depthLimit = 32
  private static let countLimit = 10_000
  private static let skipped: Set<String> = ["node_modules", SnapshotFolder.parent]

  /// - Parameter arguments: files and folders; folders are searched for `*.test.json`.
  /// - Throws: ``DescribedError`` if an argument is neither, or there are too many tests.
  init(_ arguments: [String]) throws {
    for argument in arguments {
      let path = URL(fileURLWithPath: argument).standardizedFileURL.path
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
        throw DescribedError("there is no file or folder \(argument)")
      }
      if isFolder.boolValue {
        try search(path, depth: 0)
      } else if path.hasSuffix(PageTest.suffix) {
        paths.append(path)
      } else {
        throw DescribedError("\(argument) is not a test: the names of tests end with \(PageTest.suffix)")
      }
    }
    paths = Set(paths.map(Self.shown)).sorted()
    snapshotFolders = Set(snapshotFolders.map(Self.shown)).sorted()
  }

  private mutating func search(_ folder: String, depth: Int) throws {
    guard depth <= Self.depthLimit else { return }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for name in names.sorted() where !name.hasPrefix(".") {
      let path = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
      guard let status = FileStatus(ofLink: path) else { continue }
      if status.isFolder {
        if name == SnapshotFolder.parent { snapshotFolders.append(path) }
        if !Self.skipped.contains(name) { try search(path, depth: depth + 1) }
      } else if name.hasSuffix(PageTest.suffix) {
        guard paths.count < Self.countLimit else {
          throw DescribedError(
            "there are more than \(Self.countLimit) tests, which is the limit: name a folder with fewer")
        }
        paths.append(path)
      }
    }
  }

  /// Keeps the tests whose paths contain a text, in upper or lower case. Snapshots of other tests are not looked at.
  mutating func filter(by text: String) {
    paths = paths.filter { $0.lowercased().contains(text.lowercased()) }
    snapshotFolders = []
  }

  /// Keeps some of the tests. Snapshots of other tests are not looked at.
  mutating func keep(_ files: Set<String>) {
    paths = paths.filter(files.contains)
    snapshotFolders = []
  }

  /// The snapshots of tests that are gone.
  var orphans: [String] {
    let folders = Set(paths.map { SnapshotFolder(ofTest: $0).path })
    return snapshotFolders.flatMap { parent in
      let names = ((try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []).sorted()
      return names.map { "\(parent)/\($0)" }.filter { !folders.contains($0) }.flatMap { folder in
        SnapshotFolder(path: folder).obsolete(besides: [])
      }
    }
  }

  private static func shown(_ path: String) -> String {
    let folder = FileManager.default.currentDirectoryPath
    let own = folder == "/" ? "/" : folder + "/"
    return path.hasPrefix(own) ? String(path.dropFirst(own.count)) : path
  }
}

/// The tests that a command runs again and again, as the pressed keys choose them.
struct WatchedTests: Sendable {
  /// The effect of a key.
  enum Effect: Hashable, Sendable {
    case run(SnapshotMode)
    case say(String)
    case nothing
  }

  /// The keys, for a person.
  static func keys(_ mode: SnapshotMode) -> String {
    let update = mode == .ci ? "" : ", u updates the snapshots"
    return "Enter runs the tests again, a all, f those that failed\(update), q quits"
  }

  private var failed: Set<String> = []
  private var isOnlyFailed = false
  private let mode: SnapshotMode

  /// - Parameter mode: what may happen to snapshots if no key says otherwise.
  init(mode: SnapshotMode) { self.mode = mode }

  mutating func press(_ key: Character) -> Effect {
    switch key {
    case "\r", "\n": return .run(mode)
    case "a":
      isOnlyFailed = false
      return .run(mode)
    case "f":
      guard !failed.isEmpty else { return .say("no test has failed") }
      isOnlyFailed = true
      return .run(mode)
    case "u": return mode == .ci ? .say("--ci writes no snapshot") : .run(.update)
    default: return .nothing
    }
  }

  /// Takes over the results of a run. When all tests that had failed pass, all tests are run from then on.
  mutating func finish(_ results: [TestResult]) {
    for result in results {
      if result.hasPassed { failed.remove(result.file) } else { failed.insert(result.file) }
    }
    if failed.isEmpty { isOnlyFailed = false }
  }

  /// The tests that run next, among all.
  mutating func choose(among files: TestFiles) -> TestFiles {
    failed.formIntersection(files.paths)
    if failed.isEmpty { isOnlyFailed = false }
    guard isOnlyFailed else { return files }
    var files = files
    files.keep(failed)
    return files
  }
}

/// Runs tests, several at once.
struct TestRunner: Sendable {
  var mode = SnapshotMode.local
  var timeout: Duration = .seconds(10)
  /// The number of tests at once, each with a process of its own.
  var jobs = max(1, ProcessInfo.processInfo.activeProcessorCount)
  /// The seed of the order; `nil` for that of the settings that processes are started for, and of the files.
  var seed: UInt64?
  /// The program that is started as `… worker`; by default this one.
  var executable = "/proc/self/exe"

  /// A test, or the reason why its file cannot be read.
  typealias Reading = Result<PageTest, TestFileError>

  static func read(_ files: [String]) -> [Reading] {
    files.map { file in
      do throws(TestFileError) {
        return .success(try PageTest(file: file))
      } catch {
        return .failure(error)
      }
    }
  }

  /// Runs tests.
  ///
  /// - Parameters:
  ///   - tests: the tests, as ``read(_:)`` gives them.
  ///   - files: their files.
  ///   - finished: called with each result, in the order of the tests.
  /// - Returns: the results in the order of the tests; fewer if the task is cancelled.
  func run(
    _ tests: [Reading], of files: [String], finished: @escaping @Sendable (TestResult) -> Void
  ) async -> [TestResult] {
    let results = OrderedResults(count: tests.count, finished)
    var order: [(index: Int, test: PageTest)] = []
    for (index, reading) in tests.enumerated() {
      switch reading {
      case .success(let test): order.append((index, test))
      case .failure(let error):
        var result = TestResult(file: files[index])
        // The error may be in a file that the test names.
        let isOwn = error.file == files[index]
        result.failures = [
          .init(
            place: isOwn ? error.place : TextPlace(line: 1, column: 1), subject: "the test file",
            message: isOwn ? error.reason : "\(error)", isError: true)
        ]
        results.add(result, at: index)
      }
    }
    if let seed {
      var generator = SplitMix(state: seed)
      order.shuffle(using: &generator)
    } else {
      // Tests of one setting share a process.
      order.sort { ($0.test.setting, $0.index) < ($1.test.setting, $1.index) }
    }
    let queue = TestQueue(order)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<min(jobs, order.count) {
        group.addTask {
          let worker = TestWorker(timeout: timeout, executable: executable)
          await withTaskCancellationHandler {
            while !Task.isCancelled, let (index, test) = queue.next() {
              let result = await TestRun.result(of: test, mode: mode, timeout: timeout, on: worker)
              if !Task.isCancelled { results.add(result, at: index) }
            }
          } onCancel: {
            Task { await worker.stop() }
          }
          await worker.stop()
        }
      }
    }
    return results.all
  }

  /// The snapshots that no step of the tests takes.
  static func obsolete(besides tests: [Reading]) -> [String] {
    tests.flatMap { reading -> [String] in
      guard case .success(let test) = reading else { return [] }
      return SnapshotFolder(ofTest: test.file).obsolete(besides: test.snapshotNames)
    }
  }
}

extension PageTest {
  /// A text that is the same for tests that may share a process.
  fileprivate var setting: String {
    [device.map { "\($0)" }, framework, prelude].map { $0 ?? "" }.joined(separator: "\u{0}")
  }
}

/// The tests that no process has taken yet.
private final class TestQueue: Sendable {
  private let rest: Mutex<ArraySlice<(index: Int, test: PageTest)>>

  init(_ tests: [(index: Int, test: PageTest)]) { rest = Mutex(tests[...]) }

  func next() -> (index: Int, test: PageTest)? { rest.withLock { $0.popFirst() } }
}

/// Results that come in any order, and are told in the order of the tests.
private final class OrderedResults: Sendable {
  private let state: Mutex<(results: [TestResult?], told: Int)>
  private let finished: @Sendable (TestResult) -> Void

  init(count: Int, _ finished: @escaping @Sendable (TestResult) -> Void) {
    state = Mutex((Array(repeating: nil, count: count), 0))
    self.finished = finished
  }

  func add(_ result: TestResult, at index: Int) {
    state.withLock { state in
      state.results[index] = result
      while state.told < state.results.count, let next = state.results[state.told] {
        state.told += 1
        finished(next)
      }
    }
  }

  var all: [TestResult] { state.withLock { $0.results.compactMap(\.self) } }
}

/// SplitMix64: numbers that follow from a seed.
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
