import HTTPTypes

/// Names that an origin gives a response so that it can be purged together with others: those of `Surrogate-Key`, which
/// are separated by spaces, and those of `Cache-Tag`, separated by commas. No RFC has them; their case counts.
public enum CacheTags {
  /// What is more, or longer (in bytes), is left out.
  public static let limit = 256
  public static let lengthLimit = 256

  private static let surrogateKey = HTTPField.Name("Surrogate-Key")
  private static let cacheTag = HTTPField.Name("Cache-Tag")

  /// In order, each once.
  public static func of(_ fields: HTTPFields) -> [String] {
    let keys = values(of: surrogateKey, in: fields).lazy.flatMap { $0.split { $0 == " " || $0 == "\t" } }
    let members = values(of: cacheTag, in: fields).lazy.flatMap { $0.split(separator: ",") }
    var (tags, known): ([String], Set<String>) = ([], [])
    for tag in [AnySequence(keys), AnySequence(members)].joined() where tags.count < limit {
      guard let tag = accepted(tag), known.insert(tag).inserted else { continue }
      tags.append(tag)
    }
    return tags
  }

  /// A tag as it is looked for; nil for what no response can have.
  public static func accepted(_ text: some StringProtocol) -> String? {
    let tag = text.trimmingSpaces
    return tag.isEmpty || tag.utf8.count > lengthLimit || tag.utf8.contains(0) ? nil : tag
  }

  private static func values(of name: HTTPField.Name?, in fields: HTTPFields) -> [String] {
    guard let name else { return [] }
    return fields[values: name]
  }
}
