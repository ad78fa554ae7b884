import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCaching

/// A million inputs that are almost valid, from a fixed seed: nothing crashes, and what is read keeps its promises.
struct ParserFuzzTests {
  /// Makes inputs out of pieces of valid ones; it keeps its buffer.
  struct Source {
    var random: SeededGenerator
    private let pieces: [[UInt8]]
    private var buffer: [UInt8] = []
    private var bits: UInt64 = 0

    init(seed: UInt64, _ pieces: [String]) {
      random = SeededGenerator(seed: seed)
      self.pieces = pieces.map { Array($0.utf8) }
    }

    mutating func number(below limit: Int) -> Int {
      if bits < 1 << 16 { bits = random.next() }
      defer { bits /= UInt64(limit) }
      return Int(bits % UInt64(limit))
    }

    mutating func next() -> String {
      buffer.removeAll(keepingCapacity: true)
      for _ in 0..<1 + number(below: 6) { buffer += pieces[number(below: pieces.count)] }
      // One byte in four inputs is another.
      if number(below: 4) == 0, !buffer.isEmpty { buffer[number(below: buffer.count)] = UInt8(number(below: 256)) }
      return String(decoding: buffer, as: UTF8.self)
    }
  }

  private static let odd = ["", ",", " ", "\t", "\"", "\\", "=", ";", "-", "0", "9", "é", "\u{301}", "\u{0}", "*"]

  @Test func directives() {
    var source = Source(
      seed: 1,
      ["max-age=", "max-age=60", "no-cache", "no-cache=\"a, b\"", "private", "no-store", "max-stale", "5", ", "]
        + Self.odd)
    for _ in 0..<300_000 {
      let control = CacheControl(CollectionOfOne(source.next()))
      let isInBounds = (control.maxAge ?? 0) >= 0 && (control.maxAge ?? 0) <= CacheControl.longestSeconds
      if !isInBounds || control.noCache == .fields([]) || control.isPrivate == .fields([]) {
        Issue.record("\(control)")
      }
    }
  }

  @Test func dates() {
    var source = Source(
      seed: 2,
      [
        "Sun, ", "06 Nov 1994", " 08:49:37", " GMT", "Sunday, ", "06-Nov-94", "Sun Nov  6", " 1994",
        "Sun, 06 Nov 1994 08:49:3", "Sunday, 31-Dec-9", "7 GMT", ":60",
      ] + Self.odd)
    for _ in 0..<150_000 {
      let text = source.next()
      guard let date = HTTPDate(text, now: Sample.time(0)) else { continue }
      if HTTPDate(date.description, now: Sample.time(0)) != date { Issue.record("\(text) \(date)") }
    }
  }

  @Test func ranges() {
    var source = Source(
      seed: 3,
      ["bytes=", "bytes ", "0-", "-9", "5-10", "/", "/11", "/*", "9223372036854775807", "99999999999999999999"]
        + Self.odd)
    var fields: HTTPFields = [:]
    for _ in 0..<150_000 {
      let text = source.next()
      if let range = ContentRange(text), range.range.isEmpty || ContentRange(range.description) != range {
        Issue.record("\(text) \(range)")
      }
      fields[.range] = text
      guard let range = RequestedRange(fields) else { continue }
      for size: Int64 in [0, 10, .max] {
        let bytes = range.resolved(in: size) ?? 0..<0
        if bytes.upperBound > size || bytes.isEmpty == range.isSatisfiable(in: size) && size > 0 {
          Issue.record("\(text) \(size) \(bytes)")
        }
      }
    }
  }

  @Test func entityTags() {
    var source = Source(seed: 4, ["\"a\"", "W/\"a\"", "W/", "\"a, b\"", "a", ", "] + Self.odd)
    for _ in 0..<150_000 {
      let text = source.next()
      let tags = EntityTag.list([text])
      // What was taken apart is taken apart no further; a quote without its end stays one member.
      if tags.contains(where: { EntityTag.list([$0]) != [$0] || !EntityTag.matchesWeakly($0, $0) }) {
        Issue.record("\(text) \(tags)")
      }
    }
  }

  @Test func keys() {
    var source = Source(seed: 5, ["de", "EN", ";q=0.5", ";x=\"a, B\"", "gzip", ", "] + Self.odd)
    var fields: HTTPFields = [:]
    let vary: HTTPFields = [.vary: "accept, x-a"]
    for _ in 0..<75_000 {
      let text = source.next()
      fields[.accept] = text
      guard let key = VaryKey(vary: vary, request: fields), key.matches(fields) else {
        Issue.record("\(text)")
        continue
      }
      // What it was made into stands for itself.
      fields[.accept] = (key.values["accept"] ?? nil) ?? ""
      if !key.matches(fields) { Issue.record("\(text) \(key)") }
    }
  }

  @Test func targetedFields() throws {
    let name = try #require(HTTPField.Name.cdnCacheControl)
    let policy = CachePolicy(mode: .shared)
    var source = Source(
      seed: 6,
      ["max-age=60", "max-age=", "no-store", "private=\"a\"", "?1", "60.5", ":YQ==:", "(1)", ";x", ", "] + Self.odd)
    var fields: HTTPFields = [.cacheControl: "max-age=7"]
    for _ in 0..<75_000 {
      let text = source.next()
      fields[name] = text
      let control = ResponseControl(of: fields, policy: policy)
      if !control.isTargeted, control.directives.maxAge != 7 { Issue.record("\(text)") }
      if (control.directives.maxAge ?? 0) < 0 { Issue.record("\(text)") }
    }
  }

  @Test func ages() {
    var source = Source(seed: 7, ["0", "60", "2147483648", "99999999999999999999", ", "] + Self.odd)
    var fields: HTTPFields = [:]
    let times = ExchangeTimes(request: Sample.time(0), response: Sample.time(3))
    for _ in 0..<100_000 {
      fields[.age] = source.next()
      let age = Age(of: fields, times: times).seconds(at: Sample.time(4))
      if age < 4 || age > CacheControl.longestSeconds { Issue.record("\(fields) \(age)") }
    }
  }
}
