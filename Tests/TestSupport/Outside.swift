import Foundation
import PageTesting
import Testing

/// A folder outside of the store, as the target of a link.
package struct Outside {
  package let directory: TemporaryDirectory
  package let path: String
  private var before: [String: Data] = [:]

  /// Moves a folder out of the store, and puts a link in its place.
  package init(inPlaceOf folder: String) throws {
    directory = try TemporaryDirectory()
    path = directory.file("outside")
    try FileManager.default.moveItem(atPath: folder, toPath: path)
    try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: path)
    try Data("precious".utf8).write(to: URL(fileURLWithPath: path + "/precious"))
    before = try contents()
  }

  package func expectUnchanged() throws { #expect(try contents() == before) }

  /// The bytes of all files, and the names of folders.
  private func contents() throws -> [String: Data] {
    let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    return Dictionary(
      uniqueKeysWithValues: names.map { ($0, FileManager.default.contents(atPath: "\(path)/\($0)") ?? Data()) })
  }
}
