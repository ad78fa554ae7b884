/// An outline for a terminal, with highlighted types and dimmed refs.
enum OutlineText {
  static func styled(_ outline: String, for terminal: Terminal) -> String {
    guard terminal.isColoured else { return outline }
    return outline.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let indentation = line.prefix { $0 == " " }
      let parts = line.dropFirst(indentation.count).split(
        separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count >= 2 else { return String(line) }
      let rest = parts.count == 3 ? " \(parts[2])" : ""
      return
        "\(indentation)\(terminal.styled(String(parts[0]), .bold)) \(terminal.styled(String(parts[1]), .dim))\(rest)"
    }.joined(separator: "\n")
  }
}
