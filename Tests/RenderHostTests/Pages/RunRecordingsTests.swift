import Foundation
import PageKit
import PageTesting
import Testing

@testable import RenderHost

/// Recordings of the runs of pages, each in a file of its own.
struct RunRecordingsTests {
  @Test(
    "the number of a file stands before its extension",
    arguments: [
      ("run.recording", "run-3.recording"), ("run", "run-3"), ("a.b/run", "a.b/run-3"), (".run", ".run-3"),
      ("/x/.run", "/x/.run-3"), ("/x/a.b.c", "/x/a.b-3.c"),
    ])
  func names(path: String, found: String) {
    #expect(RunRecordings.path(path, 3) == found)
  }

  @Test("each page has a file of its own, which only its owner reads, and files that are there already stay")
  func files() throws {
    let folder = try TemporaryDirectory()
    try Data("mine".utf8).write(to: URL(fileURLWithPath: folder.file("run-2.recording")))
    let recordings = RunRecordings(folder.file("run.recording"))
    let (first, second) = (folder.file("run-1.recording"), folder.file("run-3.recording"))
    #expect(recordings.append(Array("a".utf8), of: 7) == .began(path: first))
    #expect(recordings.append(Array("x".utf8), of: 8) == .began(path: second))
    #expect(recordings.append(Array("b".utf8), of: 7) == nil)
    #expect(recordings.path(of: 7) == first && recordings.path(of: 8) == second && recordings.path(of: 9) == nil)
    recordings.close(7)
    #expect(recordings.path(of: 7) == first)
    for (path, text) in [(first, "ab"), (second, "x"), (folder.file("run-2.recording"), "mine")] {
      #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }
    let mode = try FileManager.default.attributesOfItem(atPath: first)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test("of many runs the latest are kept")
  func limit() throws {
    let folder = try TemporaryDirectory()
    let recordings = RunRecordings(folder.file("run"))
    for page in 1...UInt64(RunRecordings.keptLimit + 5) {
      _ = recordings.append(Array("a".utf8), of: page)
      recordings.close(page)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.file(""))
    #expect(names.count == RunRecordings.keptLimit && !names.contains("run-5") && names.contains("run-6"))
    #expect(recordings.path(of: 5) == nil && recordings.path(of: 6) == folder.file("run-6"))
  }

  @Test("recordings get their end when the host ends or their process has ended, but for those that were cut off")
  func ends() throws {
    let folder = try TemporaryDirectory()
    let recordings = RunRecordings(folder.file("run"))
    let own = String(decoding: RecordingLine.ending("closed", steps: 2), as: UTF8.self)
    func made(_ reason: String) -> String { String(decoding: RecordingLine.ending(reason), as: UTF8.self) }
    let cases: [(pieces: [String], found: String)] = [
      (["H1\nS2\n"], "H1\nS2\n" + made("over")), (["H1\nS2", "3\n"], "H1\nS23\n" + made("over")),
      (["H1\nS2"], "H1\nS2"), (["H1\n", "S2"], "H1\nS2"), (["H1\n", own], "H1\n" + own),
      (["H1\nZ2\nS3\n"], "H1\nZ2\nS3\n" + made("over")),
    ]
    for (page, item) in cases.enumerated() {
      for piece in item.pieces { _ = recordings.append(Array(piece.utf8), of: UInt64(page)) }
    }
    _ = recordings.append(Array("H1\n".utf8), of: 90)
    recordings.close(90, "killed")
    recordings.end("over")
    #expect(recordings.append(Array("S9\n".utf8), of: 0) == nil && recordings.append(Array("H9\n".utf8), of: 91) == nil)
    for (index, found) in (cases.map(\.found) + ["H1\n" + made("killed")]).enumerated() {
      #expect(try String(contentsOfFile: folder.file("run-\(index + 1)"), encoding: .utf8) == found)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("")).count == cases.count + 1)
  }

  @Test("a recording that cannot be written is told once")
  func failure() throws {
    let recordings = RunRecordings("/nowhere/at/all/run")
    guard case .failed(let reason) = recordings.append(Array("a".utf8), of: 1) else {
      Issue.record("nothing was told")
      return
    }
    #expect(reason.contains("/nowhere/at/all/run-1 cannot be written"), "\(reason)")
    #expect(recordings.append(Array("b".utf8), of: 1) == nil && recordings.path(of: 1) == nil)
  }
}
