import Foundation
import PageKit

/// The result of a page of a release in a worker: what the gate decides by.
package struct GateRun: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    /// The page has a body.
    case rendered
    /// The script ran and created no body.
    case empty
    /// The page could not open, with the reason.
    case failed(String)
    /// The page exceeded its time or memory, or its process ended, with the reason.
    case stopped(String)
    /// There was no time left.
    case notRun
  }

  /// An exception of the script. Its place is not part of its identity: it moves with each change of a bundle.
  package struct Exception: Hashable, Sendable {
    package var message: String
    /// The URL, line and column; `nil` if they are unknown.
    package var place: String?
    /// The place as the engine told it, without the message and the calls.
    private var thrown: ScriptException?

    package init(message: String, place: String? = nil) { (self.message, self.place) = (message, place) }

    init(_ exception: ScriptException) {
      message = String(exception.message.prefix(GateRun.textLimit))
      var thrown = exception.located
      (thrown.message, thrown.stack) = ("", nil)
      self.thrown = thrown
      place = Self.place(thrown)
    }

    private static func place(_ exception: ScriptException) -> String? {
      guard let line = exception.line else { return nil }
      let file = exception.url.map { PageURL($0)?.readable ?? $0 } ?? "script"
      return "\(file):\(line)\(exception.column.map { ":\($0)" } ?? "")"
    }

    fileprivate mutating func map(through map: SourceMap, of url: PageURL) {
      if let thrown { place = Self.place(thrown.mapped(through: map, of: url.text)) }
    }
  }

  package var outcome: Outcome
  /// The bundle's size.
  package var bundleBytes: Int64 = 0
  /// The size with the coding `br`; `nil` if no budget asks for it.
  package var brotliBytes: Int64?
  /// In the order of their first occurrence; at most ``listLimit``.
  package var exceptions: [Exception] = []
  /// The modules, methods and components that are not registered; at most ``listLimit``.
  package var missing: [MissingPart] = []
  package var elements: Int64 = 0
  /// The number of levels of elements.
  package var depth: Int64 = 0
  /// The number of elements by their kinds, such as `text in cell`.
  package var kinds: [String: Int] = [:]
  package var requests: Int64 = 0
  /// The bytes of the responses.
  package var responseBytes: Int64 = 0
  /// The requests by method and by the file of the release or the URL, without queries, whose values may differ each time; at most ``listLimit``.
  package var asked: Set<String> = []
  /// Those of them that nothing answered.
  package var unanswered: Set<String> = []
  /// The number of the script's changes of the tree.
  package var commands: Int64 = 0
  /// The least processor time of the runs; `nil` if it was not measured.
  package var processorTime: Duration?

  /// The limit of each list.
  static let listLimit = 100
  /// The limit of kinds of elements.
  static let kindLimit = 1_000
  /// The limit of characters of texts that a page chooses.
  static let textLimit = 500

  package init(_ outcome: Outcome) { self.outcome = outcome }

  mutating func record(_ exception: ScriptException) {
    let exception = Exception(exception)
    guard exceptions.count < Self.listLimit, !exceptions.contains(where: { $0.message == exception.message }) else {
      return
    }
    exceptions.append(exception)
  }

  /// Gives the exceptions the places of a bundle's sources.
  mutating func map(through map: SourceMap, of url: PageURL) {
    for index in exceptions.indices { exceptions[index].map(through: map, of: url) }
  }

  mutating func record(_ part: MissingPart) {
    if missing.count < Self.listLimit, !missing.contains(part) { missing.append(part) }
  }

  /// Counts the elements of the page.
  mutating func record(_ tree: ElementTree) {
    elements = Int64(tree.count)
    for element in tree.elements.values {
      depth = max(depth, Int64(element.depth) + 1)
      let type = element.type.prefix(60)
      let kind = element.parent.flatMap { tree[$0] }.map { "\(type) in \($0.type.prefix(60))" } ?? String(type)
      if kinds[kind] != nil || kinds.count < Self.kindLimit { kinds[kind, default: 0] += 1 }
    }
  }

  /// Takes the processor time of another run of the same page, if that is less.
  mutating func keepLeastTime(of again: GateRun) {
    guard again.outcome == outcome, let time = again.processorTime else { return }
    processorTime = min(processorTime ?? time, time)
  }

  /// The value that a budget limits; `nil` if it was not measured.
  func value(of budget: GateRule) -> Int64? {
    switch budget {
    case .bundleBytes: bundleBytes
    case .bundleBrotli: brotliBytes
    case .elements: elements
    case .depth: depth
    case .requests: requests
    case .responseBytes: responseBytes
    case .commands: commands
    case .processorTime: processorTime.map { Int64(clamping: $0.milliseconds) }
    default: nil
    }
  }
}

/// The runs of a page in a release, and in the one before.
package struct GatePageRuns: Hashable, Sendable {
  package var name: String
  /// The bundle's file or URL.
  package var file: String
  package var new: GateRun
  /// `nil` if the release before has no such page, or is unknown.
  package var former: GateRun?

  package init(name: String, file: String, new: GateRun, former: GateRun? = nil) {
    (self.name, self.file, self.new, self.former) = (name, file, new, former)
  }
}
