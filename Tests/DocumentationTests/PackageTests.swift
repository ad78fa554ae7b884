import Foundation
import Testing

/// The Debian packages that scripts, images and texts name.
struct PackageTests {
  private static func text(_ path: String) throws -> String { try Document(path).lines.joined(separator: "\n") }

  @Test("libnats is loaded by the name that the package has which scripts, the image and the articles name")
  func libnats() throws {
    let source = try Self.text("Sources/CNATS/CNATS.c")
    let version = try #require(source.firstMatch(of: /"libnats\.so\.([0-9.]+)"/)?.1)
    let texts = ["scripts/setup", "scripts/build-deb", "Dockerfile", "\(Document.articles)/RunningAFleet.md"]
    for path in texts + ["Sources/CNATS/CNATS.c"] {
      let names = Set(try Self.text(path).matches(of: /libnats[0-9][0-9.]*[0-9]/).map { String($0.0) })
      #expect(names == ["libnats\(version)"], "\(path)")
    }
  }

  @Test("libraries that draw pages are in the packages that scripts, the image and the article name")
  func pictures() throws {
    let source = try Self.text("Sources/CCairo/CCairo.c")
    for library in ["pangocairo", "jpeg", "webp", "gif", "svg"] {
      let line = try #require(source.split(separator: "\n").first { $0.contains("{\"\(library)\", ") })
      let package = try #require(line.split(separator: "\"").map(String.init).dropFirst(5).first)
      #expect(package.hasPrefix("lib"), "\(line)")
      for path in ["scripts/setup", "scripts/build-deb", "Dockerfile", "\(Document.articles)/Installing.md"] {
        #expect(try Self.text(path).contains(package), "\(path) does not name \(package)")
      }
    }
  }

  @Test("a build is the same whether or not the headers of a library are installed that is loaded at run time")
  func headers() throws {
    for path in try ["CNATS", "CJavaScriptCore"].flatMap({ try Document.paths(in: "Sources/\($0)", ending: "") })
    where path.hasSuffix(".c") || path.hasSuffix(".h") {
      let text = try Self.text(path)
      #expect(!text.contains("__has_include"), "\(path)")
      let own = try Document.paths(in: "Sources", ending: ".h").map { $0.split(separator: "/").last.map(String.init) }
      let system = ["dlfcn.h", "pthread.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"]
      for include in text.matches(of: /#include [<"]([^>"]+)[>"]/).map({ String($0.1) }) {
        #expect(system.contains(include) || own.contains(include), "\(path) includes \(include)")
      }
    }
    #expect(!(try Self.text("scripts/setup")).contains("libnats-dev"))
  }
}
