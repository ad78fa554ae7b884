import HTTPTypes

/// The names by which an origin groups responses, to purge them together: those of `Surrogate-Key`, separated by
/// spaces, and those of `Cache-Tag`, separated by commas. They are case-sensitive. No RFC defines them.
package enum CacheTags {
  /// The number of tags of a response; further ones are ignored.
  package static let limit = 256
  /// The length of a tag in bytes; longer ones are ignored.
  package static let lengthLimit = 256

  private static let surrogateKey = HTTPField.Name("Surrogate-Key")
  private static let cacheTag = HTTPField.Name("Cache-Tag")

  /// Returns the tags in order, without repetitions.
  package static func of(_ fields: HTTPFields) -> [String] {
    var (tags, known): ([String], Set<String>) = ([], [])
    func add(_ names: [Substring]) {
      for name in names where tags.count < limit {
        guard let tag = accepted(name), known.insert(tag).inserted else { continue }
        tags.append(tag)
      }
    }
    for value in values(of: surrogateKey, in: fields) { add(value.split { $0 == " " || $0 == "\t" }) }
    for value in values(of: cacheTag, in: fields) { add(value.split(separator: ",")) }
    return tags
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
