import Foundation
import PageKit
import PageTesting
import Testing

@testable import RenderHost

/// The bundles of a folder as they are on the disk.
struct WorkingFolderTests {
  private static func folder() throws -> TemporaryDirectory {
    let folder = try TemporaryDirectory()
    for name in ["a/b", "a/node_modules", ".hidden", "empty"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    }
    for name in ["home.js", "a/b/deep.js", "a/node_modules/x.js", ".hidden/y.js", "data.json", "a/.z.js"] {
      try Data("var x = 1".utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }
    return folder
  }

  @Test("a folder has the scripts in it and below it, but for hidden ones and modules")
  func names() throws {
    let folder = try Self.folder()
    let working = try WorkingFolder([folder.file("")])
    #expect(working.bundles() == ["a/b/deep", "home"])
    #expect(working.url(named: "a/b/deep")?.filePath?.hasSuffix("/a/b/deep.js") == true)
    #expect(working.url(named: "home.js") != nil)
    for name in ["none", "", "../home", "a/../home", ".hidden/y", "a//b/deep", "/home"] {
      #expect(working.url(named: name) == nil, "\(name)")
    }
  }

  @Test("bundles of folders that links lead to are listed, and a link to a folder around it is not followed")
  func linkedFolders() throws {
    let (folder, other) = (try Self.folder(), try TemporaryDirectory())
    for path in ["shop", "shop/more"] {
      try FileManager.default.createDirectory(atPath: other.file(path), withIntermediateDirectories: true)
    }
    for path in ["shop/cart.js", "shop/more/list.js"] {
      try Data("var x".utf8).write(to: URL(fileURLWithPath: other.file(path)))
    }
    for (link, target) in [
      (folder.file("linked"), other.file("shop")), (folder.file("a/again"), folder.file("")),
      (other.file("shop/more/back"), other.file("shop")), (folder.file("broken"), other.file("none")),
    ] {
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    }
    let working = try WorkingFolder([folder.file("")])
    #expect(working.bundles() == ["a/b/deep", "home", "linked/cart", "linked/more/list"])
  }

  @Test("files are those of the folder that all are in")
  func files() throws {
    let folder = try Self.folder()
    let working = try WorkingFolder([folder.file("home.js"), folder.file("a/b/deep.js")])
    #expect(working.bundles() == ["home", "a/b/deep"])
    let one = try WorkingFolder([folder.file("a/b/deep.js")])
    #expect(one.bundles() == ["deep"])
    try Data("var x".utf8).write(to: URL(fileURLWithPath: folder.file("a/b/other.js")))
    let other = try #require(one.url(named: "other"))
    let own = try #require(one.url(named: "deep"))
    #expect(!one.isAskedFor(other) && one.isAskedFor(own))
    #expect(throws: DescribedError.self) { try WorkingFolder([folder.file("home.js"), "/nowhere.js"]) }
  }

  @Test("a folder that is to be filled may be empty, and is made")
  func madeFolder() throws {
    let folder = try Self.folder()
    #expect(try WorkingFolder([folder.file("empty")], isMade: true).bundles().isEmpty)
    #expect(try WorkingFolder([folder.file("new/dist")], isMade: true).bundles().isEmpty)
    #expect(FileManager.default.fileExists(atPath: folder.file("new/dist")))
    #expect(throws: DescribedError.self) { try WorkingFolder([folder.file("none.js")], isMade: true) }
  }

  @Test(
    "what cannot be used is refused with its path",
    arguments: [
      (["nowhere"], "there is no such file or folder"), (["empty"], "has no bundles"),
      (["data.json"], "is not a bundle"),
      (["home.js", "a"], "is a folder"), (["a", "empty"], "is a folder"),
    ])
  func refusals(names: [String], reason: String) throws {
    let folder = try Self.folder()
    let error = #expect(throws: DescribedError.self) { try WorkingFolder(names.map(folder.file)) }
    #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
  }

  @Test("only bundles in the folder are read, and other texts are refused")
  func reading() throws {
    let folder = try Self.folder()
    let working = try WorkingFolder([folder.file("a")])
    let url = try #require(working.url(named: "b/deep"))
    #expect(try working.load(url).bytes == Array("var x = 1".utf8))
    let outside = try #require(PageURL(filePath: folder.file("home.js")))
    #expect(throws: DescribedError.self) { try working.load(outside) }
    try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: folder.file("a/b/deep.js")))
    #expect(throws: DescribedError.self) { try working.load(url) }
    try FileManager.default.removeItem(atPath: folder.file("a/b/deep.js"))
    #expect(throws: DescribedError.self) { try working.load(url) }
  }
}
