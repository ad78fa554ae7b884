/// The URLs that a rule applies to.
public enum URLPattern: Hashable, Sendable {
  case any
  /// Everything that begins so.
  case prefix(String)
  /// With `*` for any number of characters. One that begins with `/` is held against path and query, all others
  /// against the whole URL.
  case glob(String)

  public func matches(_ url: PageURL) -> Bool {
    switch self {
    case .any: return true
    case .prefix(let prefix): return url.text.hasPrefix(prefix)
    case .glob(let glob):
      return Self.matches(Array(glob.utf8), Array((glob.hasPrefix("/") ? url.pathAndQuery : url.text).utf8))
    }
  }

  /// One pass with one place to come back to: the last `*`.
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
  /// Everything behind scheme and host.
  package var pathAndQuery: String {
    guard let slashes = text.firstRange(of: "://") else { return text }
    let rest = text[slashes.upperBound...]
    return rest.firstIndex(of: "/").map { String(rest[$0...]) } ?? "/"
  }
}
