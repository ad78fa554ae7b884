/// A pattern for the URLs that a rule applies to.
public enum URLPattern: Hashable, Sendable {
  /// Every URL.
  case any
  /// URLs that begin with this text.
  case prefix(String)
  /// URLs that match this text, in which `*` stands for any number of characters. A pattern that begins with `/` is
  /// compared with path and query, any other one with the whole URL.
  case glob(String)

  /// Returns `true` if the URL matches.
  package func matches(_ url: PageURL) -> Bool {
    switch self {
    case .any: return true
    case .prefix(let prefix): return url.text.hasPrefix(prefix)
    case .glob(let glob):
      return Self.matches(Array(glob.utf8), Array((glob.hasPrefix("/") ? url.pathAndQuery : url.text).utf8))
    }
  }

  /// Matches in one pass, with the last `*` as the only place to continue from.
  private static func matches(_ glob: [UInt8], _ text: [UInt8]) -> Bool {
    var (index, position) = (0, 0)
    var star: (index: Int, position: Int)?
    while position < text.count {
      if index < glob.count, glob[index] == UInt8(ascii: "*") {
        star = (index, position)
        index += 1
      } else if index < glob.count, glob[index] == text[position] {
        index += 1
        position += 1
      } else if let last = star {
        star = (last.index, last.position + 1)
        index = last.index + 1
        position = last.position + 1
      } else {
        return false
      }
    }
    return glob[index...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}

extension PageURL {
  /// The URL without scheme and authority.
  package var pathAndQuery: String {
    guard let slashes = text.firstRange(of: "://") else { return text }
    let rest = text[slashes.upperBound...]
    return rest.firstIndex(of: "/").map { String(rest[$0...]) } ?? "/"
  }
}
