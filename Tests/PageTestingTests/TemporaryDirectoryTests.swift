import Foundation
import PageTesting
import Testing

struct TemporaryDirectoryTests {
  private func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }

  @Test("each directory is a new and empty folder")
  func newFolder() throws {
    let one = try TemporaryDirectory(prefix: "one")
    let two = try TemporaryDirectory(prefix: "one")
    #expect(one.path != two.path)
    #expect(one.path.hasPrefix("/"))
    #expect(one.path.contains("/one-"))
    #expect(isFolder(one.path) && isFolder(two.path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: one.path).isEmpty)
    #expect(one.file("a.js") == one.path + "/a.js")
    withExtendedLifetime((one, two)) {}
  }

  @Test("a folder is removed with its contents when its object is deallocated")
  func removal() throws {
    var directory: TemporaryDirectory? = try TemporaryDirectory()
    let path = try #require(directory?.path)
    try FileManager.default.createDirectory(atPath: path + "/a/b", withIntermediateDirectories: true)
    try Data("x".utf8).write(to: URL(filePath: path + "/a/b/c.js"))
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: path + "/a/b/c.js")
    directory = nil
    #expect(!isFolder(path))
  }

  @Test("with(_:) keeps the folder until the body has ended")
  func scopedFolder() async throws {
    let path = try await TemporaryDirectory.with { directory in
      let path = directory.path
      await Task.yield()
      #expect(isFolder(path))
      return path
    }
    #expect(!isFolder(path))
  }
}
