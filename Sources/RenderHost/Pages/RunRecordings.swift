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

  private struct State {
    /// The files of runs by the pages' numbers in workers; `nil` for one that is not written.
    var files: [UInt64: RecordingFile?] = [:]
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
  /// - Returns: what its user is to know; `nil` for nothing.
  func append(_ bytes: [UInt8], of page: UInt64) -> News? {
    state.withLock { state in
      if let known = state.files[page] {
        guard let file = known else { return nil }
        return Self.append(bytes, to: file, page, &state)
      }
      do {
        let file = try next(&state)
        state.files[page] = .some(file)
        state.made.append((page, file.path))
        if state.made.count > Self.keptLimit { unlink(state.made.removeFirst().path) }
        return Self.append(bytes, to: file, page, &state) ?? .began(path: file.path)
      } catch {
        state.files[page] = .some(nil)
        return .failed(error.sentence)
      }
    }
  }

  private static func append(_ bytes: [UInt8], to file: RecordingFile, _ page: UInt64, _ state: inout State) -> News? {
    file.append(bytes)
    do {
      try file.finish()
      return nil
    } catch {
      state.files[page] = .some(nil)
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
  func close(_ page: UInt64) { state.withLock { _ = $0.files.removeValue(forKey: page) } }

  /// The path of a page's file; `nil` if it has none.
  func path(of page: UInt64) -> String? { state.withLock { $0.made.last { $0.page == page }?.path } }
}
