import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCaching

/// A million inputs that are almost valid, from a fixed seed: nothing crashes, and what is read keeps its promises.
struct ParserFuzzTests {
  /// Makes inputs out of valid ones by a few edits; it keeps its buffer.
  struct Source {
    private var random: SeededGenerator
    private let valid: [[UInt8]]
    private var buffer: [UInt8] = []
    private var bits: UInt64 = 0

    private static let odd: [[UInt8]] = [
      ",", " ", "\t", "\"", "\\", "=", ";", "-", "/", ":", "*", "0", "9", "99999999999999999999", "é", "\u{301}",
      "\u{0}",
    ].map { Array($0.utf8) }

    init(seed: UInt64, _ valid: String...) {
      random = SeededGenerator(seed: seed)
      self.valid = valid.map { Array($0.utf8) }
    }

    private mutating func number(below limit: Int) -> Int {
      if bits < 1 << 16 { bits = random.next() }
      defer { bits /= UInt64(limit) }
      return Int(bits % UInt64(limit))
    }

    mutating func next() -> String {
      buffer.removeAll(keepingCapacity: true)
      buffer += valid[number(below: valid.count)]
      for _ in 0..<number(below: 4) {
        let place = number(below: buffer.count + 1)
        switch number(below: 5) {
        case 0: buffer.insert(contentsOf: Self.odd[number(below: Self.odd.count)], at: place)
        case 1: buffer.insert(contentsOf: valid[number(below: valid.count)], at: place)
        case 2: buffer.removeLast(buffer.count - place)
        case 3 where place < buffer.count: buffer.remove(at: place)
        case 4 where place < buffer.count: buffer[place] = UInt8(number(below: 256))
        default: break
        }
      }
      return String(decoding: buffer, as: UTF8.self)
    }
  }

  @Test("any directives are parsed without a crash, and their values keep their limits")
  func directives() async {
    var source = Source(
      seed: 1, "max-age=60", "no-cache=\"a, b\"", "no-cache", "private=\"a\"", "no-store, max-stale", ", ")
    for round in 0..<200_000 {
      await giveWay(round)
      let control = CacheControl(CollectionOfOne(source.next()))
      let isInBounds = (control.maxAge ?? 0) >= 0 && (control.maxAge ?? 0) <= CacheControl.longestSeconds
      if !isInBounds || control.noCache == .fields([]) || control.isPrivate == .fields([]) {
        Issue.record("\(control)")
      }
    }
  }

  @Test("any date is parsed without a crash, and is written as it was read")
  func dates() async {
    var source = Source(
      seed: 2, "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "Sunday, 31-Dec-99 23:59:60 GMT")
    var count = 0
    for round in 0..<150_000 {
      await giveWay(round)
      let text = source.next()
      guard let date = HTTPDate(text, now: Sample.time(0)) else { continue }
      count += 1
      if HTTPDate(date.description, now: Sample.time(0)) != date { Issue.record("\(text) \(date)") }
    }
    #expect(count > 10_000)
  }

  @Test("any range is parsed without a crash, and lies within the size")
  func ranges() async {
    var source = Source(
      seed: 3, "bytes=0-9", "bytes=5-", "bytes=-5", "bytes 0-9/10", "bytes 5-9/*",
      "bytes 0-9223372036854775806/9223372036854775807")
    var fields: HTTPFields = [:]
    var (parts, wishes) = (0, 0)
    for round in 0..<200_000 {
      await giveWay(round)
      let text = source.next()
      if let range = ContentRange(text) {
        parts += 1
        if range.range.isEmpty || ContentRange(range.description) != range { Issue.record("\(text) \(range)") }
      }
      fields[.range] = text
      guard let range = RequestedRange(fields) else { continue }
      wishes += 1
      for size: Int64 in [0, 10, .max] {
        let bytes = range.resolved(in: size) ?? 0..<0
        if bytes.upperBound > size || bytes.isEmpty == range.isSatisfiable(in: size) && size > 0 {
          Issue.record("\(text) \(size) \(bytes)")
        }
      }
    }
    #expect(parts > 10_000 && wishes > 10_000)
  }

  @Test("any list of entity tags is parsed without a crash")
  func entityTags() async {
    var source = Source(seed: 4, "\"a\"", "W/\"a\"", "\"a, b\", W/\"c\"", "*", "a, b")
    for round in 0..<175_000 {
      await giveWay(round)
      let text = source.next()
      let tags = EntityTag.list([text])
      // What was taken apart is taken apart no further; a quote without its end stays one member.
      if tags.contains(where: { EntityTag.list([$0]) != [$0] || !EntityTag.matchesWeakly($0, $0) }) {
        Issue.record("\(text) \(tags)")
      }
    }
  }

  @Test("any Vary is parsed without a crash, and matches its own request")
  func keys() async {
    var source = Source(seed: 5, "de, EN;q=0.5", "text/html;x=\"a, B\"", "gzip", "a;Q=1")
    var fields: HTTPFields = [:]
    let vary: HTTPFields = [.vary: "accept, x-a"]
    for round in 0..<50_000 {
      await giveWay(round)
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

  @Test("any targeted field is parsed without a crash")
  func targetedFields() async throws {
    let name = try #require(HTTPField.Name.cdnCacheControl)
    let policy = CachePolicy(mode: .shared)
    var source = Source(
      seed: 6, "max-age=60", "no-store, max-age=5", "private=\"a\"", "x=?1", "a=60.5", "b=:YQ==:", "c=(1 2);x", ", ")
    var fields: HTTPFields = [.cacheControl: "max-age=7"]
    var count = 0
    for round in 0..<75_000 {
      await giveWay(round)
      let text = source.next()
      fields[name] = text
      let control = policy.control(of: fields)
      if control.isTargeted { count += 1 }
      if !control.isTargeted, control.directives.maxAge != 7 { Issue.record("\(text)") }
      if (control.directives.maxAge ?? 0) < 0 { Issue.record("\(text)") }
    }
    #expect(count > 10_000)
  }

  @Test("any Age is parsed without a crash, and is never negative")
  func ages() async {
    var source = Source(seed: 7, "0", "60", "2147483648", "7, 9")
    var fields: HTTPFields = [:]
    let times = ExchangeTimes(request: Sample.time(0), response: Sample.time(3))
    for round in 0..<150_000 {
      await giveWay(round)
      fields[.age] = source.next()
      let age = Age(of: fields, times: times).seconds(at: Sample.time(4))
      if age < 4 || age > CacheControl.longestSeconds { Issue.record("\(fields) \(age)") }
    }
  }
}
