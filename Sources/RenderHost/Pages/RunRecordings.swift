import Foundation
import PageKit
import Synchronization

/// Records the runs of pages, each into a file of its own: `run.recording` has the files `run-1.recording`,
/// `run-2.recording` and so on. Files that are there already stay.
final class RunRecordings: Sendable {
  /// The news of a recording.
  enum News: Hashable, Sendable {
    case began(path: String)
    /// It cannot be written, or not any more.
    case failed(String)
  }

  /// The largest number of recordings that are kept of a session: of older ones the files are removed.
  static let keptLimit = 100
  /// The largest number of a file.
  private static let numberLimit = 1_000_000

  /// The file of a run.
  private struct Run {
    let file: RecordingFile
    /// `true` if its last line is whole.
    private(set) var isWhole = true
    /// `true` if that is the end of the recording.
    private(set) var hasEnded = false
    /// The first byte of its last line; `nil` before there is one.
    private var lineStart: UInt8?

    init(_ file: RecordingFile) { self.file = file }

    /// Appends bytes, which may be a part of a line.
    mutating func append(_ bytes: [UInt8]) {
      guard let last = bytes.last else { return }
      file.append(bytes)
      let lineEnd = UInt8(ascii: "\n")
      let before = bytes.dropLast().lastIndex(of: lineEnd)
      if before != nil || isWhole { lineStart = bytes[before.map { $0 + 1 } ?? 0] }
      isWhole = last == lineEnd
      hasEnded = isWhole && lineStart == RecordingLine.end.rawValue
    }

    /// Appends the end, if there is none. A recording whose last line is not whole was cut off.
    func end(_ reason: String) {
      if isWhole, !hasEnded { file.append(RecordingLine.ending(reason)) }
    }
  }

  private struct State {
    /// The files of runs by the pages' numbers in workers; `nil` for one that is not written.
    var runs: [UInt64: Run?] = [:]
    /// `true` if nothing is recorded any more.
    var isOver = false
    /// The paths of the session's files, the oldest first, with the numbers of the pages.
    var made: [(page: UInt64, path: String)] = []
    var last = 0
  }

  private let path: String
  private let state = Mutex(State())

  init(_ path: String) { self.path = path }

  /// The path of a file.
  static func path(_ path: String, _ number: Int) -> String {
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    let name = path.dropFirst(folder.count)
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "\(path)-\(number)" }
    return "\(folder)\(name[..<dot])-\(number)\(name[dot...])"
  }

  /// Appends bytes of a page's recording. The first ones make its file.
  ///
  /// - Parameter page: the page's number in workers.
  /// - Returns: news for its user; `nil` for none.
  func append(_ bytes: [UInt8], of page: UInt64) -> News? {
    state.withLock { state in
      guard !state.isOver else { return nil }
      if let known = state.runs[page] {
        guard let run = known else { return nil }
        return Self.append(bytes, to: run, page, &state)
      }
      do {
        let file = try next(&state)
        state.made.append((page, file.path))
        if state.made.count > Self.keptLimit { unlink(state.made.removeFirst().path) }
        return Self.append(bytes, to: Run(file), page, &state) ?? .began(path: file.path)
      } catch {
        state.runs[page] = .some(nil)
        return .failed(error.sentence)
      }
    }
  }

  private static func append(_ bytes: [UInt8], to run: Run, _ page: UInt64, _ state: inout State) -> News? {
    var run = run
    run.append(bytes)
    do {
      try run.file.finish()
      state.runs[page] = .some(run)
      return nil
    } catch {
      state.runs[page] = .some(nil)
      return .failed(error.sentence)
    }
  }

  private func next(_ state: inout State) throws -> RecordingFile {
    while state.last < Self.numberLimit {
      state.last += 1
      do { return try RecordingFile(Self.path(path, state.last), replacing: false) } catch RecordingFileError.exists {}
    }
    throw DescribedError("\(Self.path(path, state.last)) is the last of the recordings beside it: remove some")
  }

  /// Closes the file of a page that has ended.
  ///
  /// - Parameter reason: the end of its recording, if that has none.
  func close(_ page: UInt64, _ reason: String? = nil) {
    let run = state.withLock { $0.runs.removeValue(forKey: page) ?? nil }
    if let reason { run?.end(reason) }
  }

  /// Ends all recordings. Later events are not recorded.
  func end(_ reason: String) {
    let runs = state.withLock { state in
      state.isOver = true
      defer { state.runs = [:] }
      return state.runs.values.compactMap(\.self)
    }
    for run in runs { run.end(reason) }
  }

  /// The path of a page's file; `nil` if it has none.
  func path(of page: UInt64) -> String? { state.withLock { $0.made.last { $0.page == page }?.path } }
}
