import ArgumentParser
import PageKit

/// An unknown command, with the most similar known one.
struct UnknownCommand: CustomStringConvertible {
  let name: String
  let path: [String]
  let known: [String]

  /// Returns `nil` if the arguments name a known command, or none.
  init?(_ arguments: [String], of root: any ParsableCommand.Type) {
    var (subcommands, path) = (root.configuration.subcommands, [HelpText.name(of: root)])
    var rest = arguments[...]
    while let next = subcommands.first(where: { HelpText.name(of: $0) == rest.first }) {
      subcommands = next.configuration.subcommands
      path.append(rest.removeFirst())
    }
    guard !subcommands.isEmpty, let name = rest.first, !name.hasPrefix("-"), name != "help" else { return nil }
    self.name = name
    self.path = path
    known = subcommands.map { HelpText.name(of: $0) }
  }

  /// The most similar name, if few letters differ.
  var suggestion: String? {
    let near = known.map { ($0, EditDistance.between(name.lowercased(), $0)) }.min { $0.1 < $1.1 }
    if let near, near.1 <= max(1, min(name.count, near.0.count) / 3) { return near.0 }
    let longer = known.filter { $0.hasPrefix(name.lowercased()) }
    return longer.count == 1 ? longer.first : nil
  }

  var description: String {
    let whole = path.joined(separator: " ")
    let meant =
      suggestion.map { ": did you mean \($0.quotedForMessage)?" } ?? "; it has \(known.joined(separator: ", "))"
    return
      "Error: \(whole) has no command \(name.quotedForMessage)\(meant)\n  See '\(whole) --help' for more information."
  }
}

/// The number of edits between two names.
enum EditDistance {
  /// The number of insertions, deletions, substitutions and swaps of neighbours. Only the first 64 characters are
  /// compared.
  static func between(_ first: String, _ second: String) -> Int {
    let (a, b) = (Array(first.prefix(64)), Array(second.prefix(64)))
    var rows = [Array(0...b.count)]
    for i in 0..<a.count {
      var row = [i + 1]
      for j in 0..<b.count {
        var least = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, rows[i - 1][j - 1] + 1) }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
