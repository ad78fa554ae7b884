import Foundation
import HTTPCache
import HTTPTransport
import ScriptEngine

extension ResourceLoader {
  /// Loads the source map that a script names at its end: in a `data:` URL, beside the script, or on the network.
  ///
  /// - Parameter url: the URL of the script.
  /// - Returns: `nil` if the script names no map.
  /// - Throws: ``DescribedError``, and errors of loading. They do not affect the script.
  package func sourceMap(of source: String, at url: PageURL) async throws -> SourceMap? {
    guard let reference = SourceMap.reference(in: source) else { return nil }
    let place = url.resolving(reference)
    // A script from the network must not read local files.
    if let place, place.isFile, !url.isFile {
      throw LoadError.unreadableFile(place, reason: "local files may not be read")
    }
    let loaded = try await response(for: ResourceRequest(reference, base: url, priority: .low))
    guard (200..<300).contains(loaded.status) else {
      throw DescribedError(of: "\(loaded.url ?? url)", status: loaded.status)
    }
    let bytes = try await loaded.body.collect(upTo: Int64(SourceMap.Limits().bytes))
    return try SourceMap(reading: bytes, at: loaded.url ?? url)
  }
}

extension ScriptException {
  /// The exception with places in the script's sources instead of the script.
  ///
  /// - Parameter url: the URL of the script; places in other scripts stay.
  package func mapped(through map: SourceMap, of url: String) -> ScriptException {
    var result = located
    if result.url == url, let line = result.line, let position = map.position(line: line, column: result.column) {
      result.url = position.source
      result.line = position.line
      result.column = position.column
    }
    result.stack = stack.map { stack in
      stack.split(separator: "\n", omittingEmptySubsequences: false).map { line in
        guard let call = Self.call(in: line), call.url == url,
          let position = map.position(line: call.line, column: call.column)
        else { return String(line) }
        return call.name.map { "\($0)@\(position)" } ?? position.description
      }.joined(separator: "\n")
    }
    return result
  }

  /// The exception with the place of the innermost call that has one, if the engine gave no place.
  package var located: ScriptException {
    guard line == nil, let call = stack?.split(separator: "\n").lazy.compactMap({ Self.call(in: $0) }).first else {
      return self
    }
    var result = self
    (result.url, result.line, result.column) = (call.url, call.line, call.column)
    return result
  }

  /// Reads a line of a stack as JavaScriptCore writes it: `name@url:line:column`. Returns `nil` for other lines, such as
  /// those of native functions.
  package static func call(in text: Substring) -> (name: String?, url: String, line: Int, column: Int)? {
    // A URL may have an @ in it; names have none.
    let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    guard let place = parts.last?.split(separator: ":", omittingEmptySubsequences: false), place.count > 2,
      let line = Int(place[place.count - 2]), let column = Int(place[place.count - 1]), line > 0, column > 0
    else { return nil }
    let url = place.dropLast(2).joined(separator: ":")
    return url.isEmpty ? nil : (parts.count == 2 ? String(parts[0]) : nil, url, line, column)
  }
}
