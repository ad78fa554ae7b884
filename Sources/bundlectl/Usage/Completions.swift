import ArgumentParser
import Foundation
import PageKit

/// What a shell offers to complete.
enum Completions {
  static let policies = CompletionKind.list(LoadBehavior.named.map(\.name))

  /// Names of the bundles that the store, or the manifest named before, lists.
  static let bundles = CompletionKind.custom { arguments, index, _ in
    await names(arguments, word(index, of: arguments))
  }
  /// Names of bundles, and scripts in folders.
  static let bundlesAndFiles = CompletionKind.custom { arguments, index, _ in
    let word = word(index, of: arguments)
    return await names(arguments, word) + files(word)
  }

  /// The word that is completed. What the parser calls its prefix is the last word's, wherever the cursor is.
  private static func word(_ index: Int, of arguments: [String]) -> String {
    arguments.indices.contains(index) ? arguments[index] : ""
  }

  private static func names(_ arguments: [String], _ prefix: String) async -> [String] {
    var found = Set<String>()
    if let manifest = value(of: "--manifest", in: arguments), let url = try? PageURL(manifestArgument: manifest),
      let path = url.filePath, let data = FileManager.default.contents(atPath: path),
      let read = try? Manifest(reading: Array(data))
    {
      found.formUnion(read.bundles.map(\.name))
    }
    let directory = value(of: "--store", in: arguments).map { StoreDirectory($0) } ?? .standard()
    if let opened = try? BundleStore(reading: directory), let sources = try? await opened.sources() {
      for release in sources.flatMap({ [$0.incoming, $0.current].compactMap(\.self) }) {
        let listed = (try? await opened.recordedContents(of: release)) ?? []
        found.formUnion(listed.map(\.bundle).filter { $0.kind == .bundle }.map(\.name))
      }
    }
    return found.filter { $0.hasPrefix(prefix) }.sorted()
  }

  /// The value typed for an option, in either form.
  private static func value(of option: String, in arguments: [String]) -> String? {
    for (index, argument) in arguments.enumerated() {
      if argument == option, arguments.indices.contains(index + 1) { return arguments[index + 1] }
      if argument.hasPrefix(option + "=") { return String(argument.dropFirst(option.count + 1)) }
    }
    return nil
  }

  private static func files(_ prefix: String) -> [String] {
    let end = prefix.lastIndex(of: "/").map { prefix.index(after: $0) } ?? prefix.startIndex
    let (folder, start) = (String(prefix[..<end]), prefix[end...])
    let listed = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
    return listed.filter { $0.hasPrefix(start) && !$0.hasPrefix(".") }.sorted().compactMap { name in
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: folder + name, isDirectory: &isFolder) else { return nil }
      return isFolder.boolValue ? folder + name + "/" : name.hasSuffix(".js") ? folder + name : nil
    }
  }
}
