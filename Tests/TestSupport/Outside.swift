import Foundation
import PageTesting
import Testing

/// A folder outside of the store, which a link leads to.
package struct Outside {
  package let directory: TemporaryDirectory
  package let path: String
  private var before: [String: Data] = [:]

  /// Moves a folder of the store out of it, and puts a link to it in its place.
  package init(inPlaceOf folder: String) throws {
    directory = try TemporaryDirectory()
    path = directory.file("outside")
    try FileManager.default.moveItem(atPath: folder, toPath: path)
    try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: path)
    try Data("precious".utf8).write(to: URL(fileURLWithPath: path + "/precious"))
    before = try contents()
  }

  package func expectUnchanged() throws { #expect(try contents() == before) }

  /// The bytes of every file, and the names of folders.
  private func contents() throws -> [String: Data] {
    let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    return Dictionary(
      uniqueKeysWithValues: names.map { ($0, FileManager.default.contents(atPath: "\(path)/\($0)") ?? Data()) })
  }
}
