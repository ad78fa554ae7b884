import ArgumentParser
import PageKit

extension CommandConfiguration {
  /// The same configuration with examples at the end of its discussion.
  func with(examples: String...) -> CommandConfiguration {
    var configuration = self
    let lines = examples.map { "  " + $0 }.joined(separator: "\n")
    let text = (examples.count == 1 ? "Example:\n" : "Examples:\n") + HelpText.unbroken(lines)
    configuration.discussion += discussion.isEmpty ? text : "\n\n" + text
    return configuration
  }
}

/// Formatting of help and usage.
enum HelpText {
  /// A space at which the parser does not break lines.
  private static let unbreakable = "\u{A0}"

  /// Examples and formats, for a command's discussion: their lines stay as they are, so that they can be copied.
  static func unbroken(_ lines: String) -> String { lines.replacing(" ", with: unbreakable) }

  /// A message of the parser, ready for printing.
  static func finished(_ text: String, width: Int) -> String {
    var text = text.replacing(unbreakable, with: " ")
    if text.hasPrefix("Error: ") { text = "bundlectl: " + expecting(text.dropFirst("Error: ".count)) }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.lowercased().hasPrefix("usage: ") ? wrapped(String(line), width) : String(line)
    }.joined(separator: "\n")
  }

  /// Adds the accepted forms to the parser's error for an invalid time or size.
  private static func expecting(_ text: Substring) -> String {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for (name, form) in [
      ("time", TimeArgument.form), ("size", SizeArgument.form), ("screen", PictureOptions.Screen.form),
      ("moment", MomentArgument.form),
      ("report", TestCommand.Report.form),
    ]
    where lines.first?.hasPrefix("The value '") == true && lines.first?.hasSuffix("<\(name)>'") == true {
      lines[0] += ": write \(form)"
    }
    return lines.joined(separator: "\n")
  }

  /// A command's usage, with a reference to its help.
  static func usage(of command: any ParsableCommand.Type, in root: any ParsableCommand.Type) -> String {
    let path = path(to: command, in: root) ?? [name(of: root)]
    return
      "Usage: \(root.usageString(for: command))\n  See '\(path.joined(separator: " ")) --help' for more information."
  }

  static func name(of command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? "\(command)".lowercased()
  }

  private static func path(to command: any ParsableCommand.Type, in root: any ParsableCommand.Type) -> [String]? {
    if command == root { return [name(of: root)] }
    for next in root.configuration.subcommands {
      if let rest = path(to: command, in: next) { return [name(of: root)] + rest }
    }
    return nil
  }

  /// A usage line that is wrapped only between options.
  private static func wrapped(_ line: String, _ width: Int) -> String {
    var lines: [String] = []
    var current = ""
    for piece in pieces(of: line) {
      if !current.isEmpty, Formatting.columns(current) + 1 + Formatting.columns(piece) > width {
        lines.append(current)
        current = "       " + piece
      } else {
        current += current.isEmpty ? piece : " " + piece
      }
    }
    return (lines + [current]).joined(separator: "\n")
  }

  /// The words; a pair of brackets is one word.
  private static func pieces(of line: String) -> [String] {
    var pieces: [String] = []
    var depth = 0
    for word in line.split(separator: " ") {
      if depth > 0, let last = pieces.popLast() {
        pieces.append("\(last) \(word)")
      } else {
        pieces.append(String(word))
      }
      depth += word.count { $0 == "[" } - word.count { $0 == "]" }
    }
    return pieces
  }

  /// The message for an unknown command, with the most similar known one; `nil` if the arguments name a known command,
  /// or none.
  static func unknownCommand(in arguments: [String], of root: any ParsableCommand.Type) -> String? {
    var (subcommands, path) = (root.configuration.subcommands, [name(of: root)])
    var rest = arguments[...]
    while let next = subcommands.first(where: { name(of: $0) == rest.first }) {
      subcommands = next.configuration.subcommands
      path.append(rest.removeFirst())
    }
    guard !subcommands.isEmpty, let unknown = rest.first, !unknown.hasPrefix("-"), unknown != "help" else { return nil }
    let known = subcommands.map { name(of: $0) }
    let whole = path.joined(separator: " ")
    let meant =
      suggestion(for: unknown, among: known).map { ": did you mean \($0.quotedForMessage)?" }
      ?? "; it has \(known.joined(separator: ", "))"
    return
      "Error: \(whole) has no command \(unknown.quotedForMessage)\(meant)\n  See '\(whole) --help' for more information."
  }

  /// The most similar name, if few letters differ.
  private static func suggestion(for name: String, among known: [String]) -> String? {
    let near = known.map { ($0, edits(from: name.lowercased(), to: $0)) }.min { $0.1 < $1.1 }
    if let near, near.1 <= max(1, min(name.count, near.0.count) / 3) { return near.0 }
    let longer = known.filter { $0.hasPrefix(name.lowercased()) }
    return longer.count == 1 ? longer.first : nil
  }

  /// The number of insertions, deletions, substitutions and swaps of neighbours between two names. Only the first 64
  /// characters are compared.
  private static func edits(from first: String, to second: String) -> Int {
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
