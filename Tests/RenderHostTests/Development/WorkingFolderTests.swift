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
    #expect(working.bundles().names == ["a/b/deep", "home"])
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
    #expect(working.bundles().names == ["a/b/deep", "home", "linked/cart", "linked/more/list"])
  }

  /// Makes files, with the folders that they are in.
  private static func make(_ paths: [String], in folder: TemporaryDirectory) throws {
    for path in paths {
      let file = URL(fileURLWithPath: folder.file(path))
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("var x".utf8).write(to: file)
    }
  }

  private static func link(_ path: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
  }

  @Test("a link to a folder around the folder of bundles is not followed, and neither is one to / or back to a link")
  func linksAround() throws {
    let (folder, other) = (try TemporaryDirectory(), try TemporaryDirectory())
    try Self.make(["pages/home.js", "pages/a/list.js", "beside.js"], in: folder)
    try Self.make(["shop/cart.js"], in: other)
    for (path, target) in [
      ("pages/all", "/"), ("pages/up", folder.file("")), ("pages/a/own", folder.file("pages")),
      ("pages/a/shop", other.file("shop")),
    ] {
      try Self.link(folder.file(path), to: target)
    }
    try Self.link(other.file("shop/back"), to: folder.file("pages/a"))
    let working = try WorkingFolder([folder.file("pages")])
    #expect(working.bundles().names == ["a/list", "a/shop/cart", "home"])
    #expect(working.bundles().leftOut.isEmpty)
  }

  @Test("a linked folder with too many files is left out as a whole, and takes the place of no other bundle")
  func largeLink() throws {
    let (folder, large, small) = (try TemporaryDirectory(), try TemporaryDirectory(), try TemporaryDirectory())
    try Self.make(["home.js"] + (1...5).map { "z/\($0).js" }, in: folder)
    try Self.make((1...6).map { "\($0).js" } + (1...6).map { "more/\($0).js" }, in: large)
    try Self.make(["cart.js"], in: small)
    try Self.link(folder.file("a-large"), to: large.file(""))
    try Self.link(folder.file("b-small"), to: small.file(""))
    var bounds = BundleListing.Bounds()
    bounds.linkedEntries = 10
    let own = ["home"] + (1...5).map { "z/\($0)" }
    let listing = BundleListing(of: folder.path, within: bounds)
    #expect(listing.names == ["b-small/cart"] + own)
    #expect(listing.leftOut == ["a-large is left out: it has more than 10 files and folders"])
    // 9 are the folder's own.
    (bounds.entries, bounds.linkedEntries) = (10, 20)
    let short = BundleListing(of: folder.path, within: bounds)
    #expect(short.names.filter { !$0.hasPrefix("b-small") } == own)
    #expect(short.leftOut.contains("a-large is left out: with it there are more than 10 files and folders"))
    bounds.entries = 3
    let cut = BundleListing(of: folder.path, within: bounds)
    #expect(cut.leftOut.first == "the folder has more than 3 files and folders: not all are looked at")
  }

  @Test("deep folders, links and bundles beyond the bounds are left out, and the list says so")
  func bounds() throws {
    let (folder, other) = (try TemporaryDirectory(), try TemporaryDirectory())
    try Self.make(["a/b/c/deep.js", "home.js"], in: folder)
    try Self.make(["cart.js"], in: other)
    for name in ["one", "two"] { try Self.link(folder.file(name), to: other.file("")) }
    var bounds = BundleListing.Bounds()
    bounds.depth = 2
    #expect(
      BundleListing(of: folder.path, within: bounds).leftOut == ["a/b/c is left out: it is more than 2 folders deep"])
    bounds = BundleListing.Bounds()
    bounds.links = 1
    let followed = BundleListing(of: folder.path, within: bounds)
    #expect(followed.names.count == 3 && followed.names.starts(with: ["a/b/c/deep", "home"]))
    #expect(followed.leftOut == ["there are more than 1 links: others are not followed"])
    bounds = BundleListing.Bounds()
    bounds.names = 2
    let short = BundleListing(of: folder.path, within: bounds)
    #expect(short.names == ["a/b/c/deep", "home"])
    #expect(short.leftOut == ["there are more than 2 bundles: others are left out"])
  }

  @Test("the folder is walked again only when something in it, or where a link leads, has come or gone")
  func walkedOnce() throws {
    let (folder, other) = (try TemporaryDirectory(), try TemporaryDirectory())
    try Self.make(["home.js", "a/list.js"], in: folder)
    try Self.make(["shop/cart.js"], in: other)
    try Self.link(folder.file("shop"), to: other.file("shop"))
    try Self.link(folder.file("late.js"), to: other.file("late.js"))
    let working = try WorkingFolder([folder.file("")])
    /// Gives the folders an older time: one that changed just now is walked again.
    func age() throws {
      for path in [folder.file(""), folder.file("a"), other.file(""), other.file("shop")] {
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: path)
      }
    }
    try age()
    let first = working.bundles()
    #expect(first.names == ["a/list", "home", "shop/cart"])
    #expect(working.bundles() === first)
    // Other bytes of a file are not another file.
    try Data("var y".utf8).write(to: URL(fileURLWithPath: folder.file("home.js")))
    #expect(working.bundles() === first)
    for (path, names) in [
      (folder.file("a/new.js"), ["a/list", "a/new", "home", "shop/cart"]),
      (other.file("shop/new.js"), ["a/list", "a/new", "home", "shop/cart", "shop/new"]),
      (other.file("late.js"), ["a/list", "a/new", "home", "late", "shop/cart", "shop/new"]),
    ] {
      try Data("var x".utf8).write(to: URL(fileURLWithPath: path))
      #expect(working.bundles().names == names)
      try age()
      let next = working.bundles()
      #expect(next.names == names && working.bundles() === next)
    }
  }

  @Test("files are those of the folder that all are in")
  func files() throws {
    let folder = try Self.folder()
    let working = try WorkingFolder([folder.file("home.js"), folder.file("a/b/deep.js")])
    #expect(working.bundles().names == ["home", "a/b/deep"])
    let one = try WorkingFolder([folder.file("a/b/deep.js")])
    #expect(one.bundles().names == ["deep"])
    try Data("var x".utf8).write(to: URL(fileURLWithPath: folder.file("a/b/other.js")))
    let other = try #require(one.url(named: "other"))
    let own = try #require(one.url(named: "deep"))
    #expect(!one.isAskedFor(other) && one.isAskedFor(own))
    #expect(throws: DescribedError.self) { try WorkingFolder([folder.file("home.js"), "/nowhere.js"]) }
  }

  @Test("a folder that is to be filled may be empty, and is made")
  func madeFolder() throws {
    let folder = try Self.folder()
    #expect(try WorkingFolder([folder.file("empty")], isMade: true).bundles().names.isEmpty)
    #expect(try WorkingFolder([folder.file("new/dist")], isMade: true).bundles().names.isEmpty)
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
