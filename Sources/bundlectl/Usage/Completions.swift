import ArgumentParser
import Foundation
import PageKit

/// Completions for shells.
enum Completions {
  static let policies = CompletionKind.list(LoadBehavior.named.map(\.name))

  /// Names of the bundles in the store, or in the manifest named before.
  static let bundles = CompletionKind.custom { arguments, index, _ in
    await names(arguments, word(index, of: arguments))
  }
  /// Names of the stored releases, of the manifest named before or of all.
  static let releases = CompletionKind.custom { arguments, index, _ in
    await stored(arguments) { opened in
      let named = value(of: "--manifest", in: arguments).flatMap { try? PageURL(manifestArgument: $0) }
      var names: [String] = []
      for source in try await opened.sources() where named == nil || source.url == named {
        names += try await opened.releases(of: source.url).map(\.release).uniqueNames
      }
      return names
    }.filter { $0.hasPrefix(word(index, of: arguments)) }
  }
  /// The manifests that the store has releases of.
  static let sources = CompletionKind.custom { arguments, index, _ in
    await stored(arguments) { try await $0.sources().map(\.url.readable) }
      .filter { $0.hasPrefix(word(index, of: arguments)) }
  }
  /// The URLs of stored responses.
  static let responses = CompletionKind.custom { arguments, index, _ in
    let directory = ResponseDirectory(beside: directory(arguments))
    guard directory.hasStore, let store = try? ResponseStore(reading: directory), let listed = try? await store.list()
    else { return [] }
    return Set(listed.map(\.key.name)).filter { $0.hasPrefix(word(index, of: arguments)) }.sorted()
  }
  /// Names of bundles, and scripts in folders.
  static let bundlesAndFiles = CompletionKind.custom { arguments, index, _ in
    let word = word(index, of: arguments)
    return await names(arguments, word) + files(word)
  }

  /// The parser's script for bash, which offers options only where a word begins with "-".
  ///
  /// The parser's own script offers them for an empty word too: if only options can follow, all offers begin with "-",
  /// and bash types it.
  static func finished(_ script: String) -> String {
    script.replacing(
      #"[[ ("${cur}" = -* && "${positional_number}" -ge 0) || "${positional_number}" -eq -1 ]]"#,
      with: #"[[ "${cur}" = -* && "${positional_number}" -ge -1 ]]"#)
  }

  /// The word at the cursor. The parser's prefix is that of the last word.
  private static func word(_ index: Int, of arguments: [String]) -> String {
    arguments.indices.contains(index) ? arguments[index] : ""
  }

  /// The names in the store; none if it cannot be read.
  private static func stored(
    _ arguments: [String], _ list: (BundleStore) async throws -> [String]
  ) async -> [String] {
    guard let opened = try? BundleStore(reading: directory(arguments)) else { return [] }
    return Set((try? await list(opened)) ?? []).sorted()
  }

  private static func directory(_ arguments: [String]) -> StoreDirectory {
    StoreDirectory(store: value(of: "--store", in: arguments), app: value(of: "--app", in: arguments))
  }

  private static func names(_ arguments: [String], _ prefix: String) async -> [String] {
    var found = Set<String>()
    if let manifest = value(of: "--manifest", in: arguments), let url = try? PageURL(manifestArgument: manifest),
      let path = url.filePath, let data = FileManager.default.contents(atPath: path),
      let read = try? Manifest(reading: Array(data))
    {
      found.formUnion(read.bundles.map(\.name))
    }
    if let opened = try? BundleStore(reading: directory(arguments)), let sources = try? await opened.sources() {
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
