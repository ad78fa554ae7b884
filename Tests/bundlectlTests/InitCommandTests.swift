import Foundation
import PageTesting
import TestSupport
import Testing

@testable import bundlectl

/// `bundlectl init`, and the tests of the pages that it makes.
struct InitCommandTests {
  @Test("the tests of a new page pass at once, with --ci and without a network", arguments: PageTemplate.allCases)
  func templates(_ template: PageTemplate) async throws {
    let folder = try TemporaryDirectory()
    let made = try await Command.run("init", "shop", "--template", template.rawValue, in: folder.path)
    #expect(made.status == 0, "\(made.error)")
    #expect(made.output == template.files.map { "shop/\($0.path)\n" }.joined())
    let paths = template.files.map(\.path)
    #expect(paths.contains("dist/\(template).js") && paths.contains("tests/\(template).test.json"))
    #expect(paths.contains(".github/workflows/pages.yml"))
    let readme = try String(contentsOfFile: folder.file("shop/README.md"), encoding: .utf8)
    #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 24)
    let result = try await Command.run("test", "--ci", "--timeout", "100s", in: folder.file("shop"))
    #expect(result.status == 0, "\(result.output)\(result.error)")
  }

  @Test("this folder is taken if it is empty, or a repository without files")
  func thisFolder() async throws {
    let folder = try TemporaryDirectory()
    try Files.write("[core]", to: folder.file(".git/config"))
    let made = try await Command.run("init", in: folder.path)
    #expect(made.status == 0 && Files.exists(folder.file("dist/hello.js")), "\(made.error)")
  }

  @Test("a folder that is not empty, and a file, are left as they are")
  func standingFolders() async throws {
    let folder = try TemporaryDirectory()
    try Files.write("mine", to: folder.file("shop/notes.txt"))
    for name in ["shop", "shop/notes.txt", "."] {
      let result = try await Command.run("init", name, in: folder.path)
      #expect(result.status == 64 && result.output.isEmpty, "\(result.error)")
    }
    let refused = try await Command.run("init", "shop", in: folder.path)
    #expect(refused.error.contains("shop is not empty: it has notes.txt. Nothing was written."))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("shop")) == ["notes.txt"])
    #expect(try await Command.run("init", "x", "--template", "vue", in: folder.path).status == 64)
    #expect(!Files.exists(folder.file("x")))
  }
}
