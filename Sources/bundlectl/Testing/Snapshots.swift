import Foundation
import PageKit

extension ElementTree {
  /// The tree as a snapshot keeps it: as ``outline``, but the same on every machine and in every run. The number of an
  /// element is its place among its siblings, from 1; texts are whole and quoted as JSON; URLs in the page's folder are
  /// relative to it.
  ///
  /// - Parameters:
  ///   - withStyles: `true` ends each line with the element's style.
  ///   - withStates: `false` leaves out the states of pictures and embedded pages.
  ///   - folder: the URL of the page's folder, which ends with a slash.
  func snapshot(withStyles: Bool, withStates: Bool = true, folder: String) -> String {
    let tree = expanded
    guard let root = tree.root else { return "" }
    let own = [folder, PageURL(folder)?.filePath].compactMap(\.self).filter { $0.count > 1 }
    func text(_ value: ScriptValue) -> String {
      own.reduce(value.jsonText) { $0.replacing($1, with: "") }
    }
    var result = ""
    // Without recursion.
    var waiting = [(ref: root, number: 1)]
    while let (ref, number) = waiting.popLast() {
      guard let element = tree[ref] else { continue }
      result += String(repeating: "  ", count: element.depth) + element.type.snapshotName + " #\(number)"
      for (name, value) in element.attributes.sorted(by: { $0.key < $1.key }) where !value.isNothing {
        result += " \(name.snapshotName)=\(text(value))"
      }
      if !element.events.isEmpty { result += " @" + element.events.sorted().map(\.snapshotName).joined(separator: ",") }
      if withStates, let image = element.image { result += " (\(image.snapshotText))" }
      if withStates, let source = element.source { result += " (\(source.snapshotText))" }
      if withStyles {
        let styles = element.style.sorted { $0.key < $1.key }.filter { !$0.value.isNothing }
        let written = styles.map { "\($0.key.snapshotName): \(text($0.value))" }.joined(separator: "; ")
        if !written.isEmpty { result += " {\(written)}" }
      }
      result += "\n"
      waiting += element.children.enumerated().reversed().map { ($0.element, $0.offset + 1) }
    }
    return result
  }

  /// The place of an element: the types of those around it, with its number among its siblings.
  func path(of element: Element) -> String {
    var parts: [String] = []
    var next: Element? = element
    while let element = next {
      next = element.parent.flatMap { self[$0] }
      let number = next?.children.firstIndex(of: element.ref).map { "[\($0 + 1)]" } ?? ""
      parts.append(element.type.snapshotName + number)
    }
    return parts.reversed().joined(separator: " > ")
  }
}

extension String {
  /// The name of an element, an attribute or an event in a line; as JSON if it has other characters than names have.
  fileprivate var snapshotName: String {
    let isName =
      !isEmpty
      && unicodeScalars.allSatisfy { $0.properties.isAlphabetic || "0123456789-_:.$".unicodeScalars.contains($0) }
    return isName ? self : ScriptValue.string(self).jsonText
  }
}

extension ImageState {
  /// Reasons of failures name files and are not the same everywhere.
  fileprivate var snapshotText: String {
    switch self {
    case .loading: "loading"
    case .loaded(_, let format, let size, _): size.map { "\(format) \($0.width)×\($0.height)" } ?? "\(format)"
    case .failed: "failed"
    }
  }
}

extension SourceState {
  fileprivate var snapshotText: String {
    switch self {
    case .loading: "loading"
    case .page: "page"
    case .document(_, _, let length): "document, \(length) bytes"
    case .failed: "failed"
    }
  }
}

/// The treatment of snapshots in a run.
enum SnapshotMode: Hashable, Sendable {
  /// A missing snapshot is written.
  case local
  /// Nothing is written: a missing snapshot fails, and so does one that no step takes.
  case ci
  /// Snapshots that differ are written, and those that no step takes are removed.
  case update

  /// - Parameters:
  ///   - isUpdate: the user wants snapshots to be written, also where the environment has `CI`.
  ///   - environment: the variables of the environment; a `CI` that is neither empty nor `false` is one.
  init(isCI: Bool, isUpdate: Bool, environment: [String: String]) {
    let variable = environment["CI"] ?? ""
    let hasVariable = !["", "0", "false"].contains(variable.lowercased())
    self = isUpdate ? .update : isCI || hasVariable ? .ci : .local
  }

  /// The result of a comparison of a stored snapshot with the page's elements.
  enum Verdict: Hashable, Sendable {
    case same
    /// The shown elements are written; `isNew` if there was no snapshot.
    case write(isNew: Bool)
    case missing
    case differs
  }

  /// - Parameters:
  ///   - stored: the stored snapshot; `nil` if there is none.
  ///   - shown: the elements of the page.
  func verdict(stored: String?, shown: String) -> Verdict {
    guard let stored else { return self == .ci ? .missing : .write(isNew: true) }
    if stored == shown { return .same }
    return self == .update ? .write(isNew: false) : .differs
  }
}

/// The snapshots of a test: `__snapshots__/NAME/STEP.outline` in the folder of its file.
struct SnapshotFolder: Hashable, Sendable {
  /// The path of the folder.
  let path: String

  static let parent = "__snapshots__"
  static let suffix = ".outline"
  /// The limit of a snapshot in bytes.
  static let sizeLimit = 8 << 20
  /// The form of names, for messages.
  static let nameForm =
    "a name of 1 to 100 letters, digits, spaces and \"-_.\", which begins with a letter or a digit"

  init(path: String) { self.path = path }

  /// - Parameter file: the path of the test file.
  init(ofTest file: String) {
    let folder = file.pathParts.folder
    path = [folder, Self.parent, PageTest.name(ofFile: file)].filter { !$0.isEmpty }.joined(separator: "/")
  }

  /// Returns `true` for a name that is the same file on every system.
  static func isName(_ name: String) -> Bool {
    func isPlain(_ scalar: Unicode.Scalar) -> Bool {
      scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
    }
    let scalars = name.unicodeScalars
    return (1...100).contains(scalars.count) && scalars.first.map(isPlain) == true && scalars.last != " "
      && scalars.last != "." && scalars.allSatisfy { isPlain($0) || " -_.".unicodeScalars.contains($0) }
  }

  /// The path of a snapshot.
  func file(_ name: String) -> String { "\(path)/\(name)\(Self.suffix)" }

  /// The stored snapshot; `nil` if there is none.
  ///
  /// - Throws: ``DescribedError`` if it cannot be read.
  func stored(_ name: String) throws -> String? {
    let file = file(name)
    guard FileManager.default.fileExists(atPath: file) else { return nil }
    return String(decoding: try InputFile.bytes(file, limit: Self.sizeLimit), as: UTF8.self)
  }

  /// - Throws: ``DescribedError`` if it cannot be written.
  func write(_ text: String, _ name: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw DescribedError("\(path) cannot be made: \(error.plainReason)")
    }
    try OutputFile.write(Data(text.utf8), to: file(name))
  }

  /// The paths of the snapshots that no step takes, in order.
  ///
  /// - Parameter names: the names that the steps of the test take.
  func obsolete(besides names: Set<String>) -> [String] {
    let found = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return found.filter { $0.hasSuffix(Self.suffix) && !names.contains(String($0.dropLast(Self.suffix.count))) }
      .sorted().map { "\(path)/\($0)" }
  }

  /// Removes snapshots, and the folders that are empty then.
  ///
  /// - Throws: ``DescribedError`` if one cannot be removed.
  static func remove(_ files: [String]) throws {
    for file in files {
      guard unlink(file) == 0 else {
        throw DescribedError("\(file) cannot be removed: \(String(cString: strerror(errno)))")
      }
      let folder = file.pathParts.folder
      // Fails for folders that still have something.
      if rmdir(folder) == 0 { _ = rmdir(folder.pathParts.folder) }
    }
  }
}
