import HTTPTypes

/// The names by which an origin groups responses, to purge them together: those of `Surrogate-Key`, separated by
/// spaces, and those of `Cache-Tag`, separated by commas. They are case-sensitive. No RFC defines them. A shared cache
/// does not store a response with more or longer tags than the limits, since a purge by one of them would miss it.
public enum CacheTags {
  /// The number of tags that are kept of a response.
  public static let limit = 256
  /// The length of a tag in bytes; longer ones are not kept.
  public static let lengthLimit = 256

  private static let surrogateKey = HTTPField.Name("Surrogate-Key")
  private static let cacheTag = HTTPField.Name("Cache-Tag")

  /// Returns the tags that are kept, in order, without repetitions.
  public static func of(_ fields: HTTPFields) -> [String] { read(fields).tags }

  /// Returns `true` if all tags of a response are kept. A purge by one that is not would miss the response.
  public static func areAllKept(_ fields: HTTPFields) -> Bool { read(fields).areAll }

  private static func read(_ fields: HTTPFields) -> (tags: [String], areAll: Bool) {
    var (tags, known): ([String], Set<String>) = ([], [])
    var areAll = true
    func add(_ names: [Substring]) {
      for name in names where areAll || tags.count < limit {
        guard let tag = accepted(name) else {
          if !name.trimmingSpaces.isEmpty { areAll = false }
          continue
        }
        guard !known.contains(tag) else { continue }
        guard tags.count < limit else {
          areAll = false
          continue
        }
        known.insert(tag)
        tags.append(tag)
      }
    }
    for value in values(of: surrogateKey, in: fields) { add(value.split { $0 == " " || $0 == "\t" }) }
    for value in values(of: cacheTag, in: fields) { add(value.split(separator: ",")) }
    return (tags, areAll)
  }

  /// Returns the tag without surrounding spaces; `nil` if no response can have it.
  package static func accepted(_ text: some StringProtocol) -> String? {
    let tag = text.trimmingSpaces
    return tag.isEmpty || tag.utf8.count > lengthLimit || tag.utf8.contains(0) ? nil : tag
  }

  private static func values(of name: HTTPField.Name?, in fields: HTTPFields) -> [String] {
    guard let name, fields.contains(name) else { return [] }
    return fields[values: name]
  }
}
