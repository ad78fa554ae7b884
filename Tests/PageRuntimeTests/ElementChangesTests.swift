import Foundation
import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// The elements of a page for another process, which gets what has changed.
@Suite(.timeLimit(.minutes(5))) struct ElementChangesTests {
  /// A page whose taps do what a list of functions says, one after the other.
  private static func source(_ script: String) -> String {
    """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div', { attr: {} }), n = 0, all = []
    d.documentElement.appendChild(b)
    function add(parent, type, props) { var e = d.createElement(type, props || {}); parent.appendChild(e); all.push(e); return e }
    \(script)
    """
  }

  private static func follow(_ page: PageInstance, _ followed: inout FollowedElements) async throws -> Int {
    let record = await page.takeRecord(upTo: .max)
    try followed.follow(try await ElementRecord(reading: record))
    return record.count
  }

  /// The next record of a page, and all its elements, at one moment.
  @PageActor private static func records(_ page: PageInstance) -> (next: [UInt8], whole: [UInt8]) {
    (page.takeRecord(upTo: .max), page.tree.record)
  }

  @Test("elements that are followed by their changes are those that a whole record has, also of values that JSON lacks")
  func following() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      try await page.render(
        Self.source(
          """
          var seed = 1
          function random(count) { seed = (seed * 48271) % 2147483647; return seed % count }
          function one() { return all[random(all.length)] }
          for (var i = 0; i < 5; i++) add(b, 'div')
          b.addEvent('click', function () {
            for (var i = 0; i < 4; i++) {
              var e = one()
              switch (random(9)) {
                case 0: case 1: add(random(2) ? b : e, 'text', { attr: { value: 'n' + n, gone: undefined } }); break
                case 2: e.setAttr('title', random(3) ? { a: [n, undefined, NaN] } : undefined); break
                case 3: e.setStyle('color', random(2) ? 'red' : undefined); break
                case 4: e.addEvent('click', function () {}); break
                case 5: e.removeEvent('click'); break
                case 6: add(b, 'image', { attr: { src: 'nothing-' + n + '.png' } }); break
                case 7: if (all.length > 8) { b.removeChild(b.children[0]); all = b.children.slice() } break
                default: b.insertBefore(b.children[b.children.length - 1], b.children[0])
              }
              n++
            }
          })
          """))
      var followed = FollowedElements()
      let whole = try await Self.follow(page, &followed)
      let root = try #require(await page.tree.root)
      var lengths: [Int] = []
      for count in 0..<300 {
        try await page.fireEvent(root, "click")
        if count % 10 == 0 { await page.settle(within: .seconds(30)) }
        // Several events may be one record.
        if count % 3 == 0 { continue }
        let (record, whole) = await Self.records(page)
        lengths.append(record.count)
        try followed.follow(try await ElementRecord(reading: record))
        let same = try await ElementTree.read(record: whole)
        try #require(followed.tree == same, "\(count): \(followed.tree.outline(withStyles: true))")
      }
      #expect(followed.tree.count > 20)
      #expect(lengths.contains { $0 < whole })
      await page.destroy()
    }
  }

  @Test("the changes of a few elements among many are short, however often they change")
  func lengths() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      try await page.render(
        Self.source(
          """
          for (var i = 0; i < 400; i++) add(b, 'text', { attr: { value: 'line ' + i } })
          b.addEvent('click', function () { all[7].setAttr('value', 'taps: ' + ++n) })
          """))
      var followed = FollowedElements()
      let whole = try await Self.follow(page, &followed)
      let root = try #require(await page.tree.root)
      var (changes, wholes) = (0, 0)
      for _ in 0..<2_000 {
        try await page.fireEvent(root, "click")
        let length = try await Self.follow(page, &followed)
        if length > 1_000 { wholes += 1 } else { changes += length }
      }
      #expect(followed.tree.outline.contains("taps: 2000"))
      // The elements come as a whole again only after as many bytes of changes.
      #expect(wholes > 0 && wholes * whole <= changes, "\(wholes) of \(whole), and \(changes)")
      await page.destroy()
    }
  }

  @Test("a record that was too long to be sent is not counted, and another opening begins with all elements")
  func whole() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      let source = Self.source(
        "var t = add(b, 'text'); t.addEvent('click', function () { t.setAttr('value', 'x'.repeat(++n * 1000)) })")
      try await page.render(source)
      let text = try #require(await page.first("text")?.ref)
      var followed = FollowedElements()
      _ = try await Self.follow(page, &followed)
      try await page.fireEvent(text, "click")
      #expect(await page.takeRecord(upTo: 100).count > 100)
      try await page.fireEvent(text, "click")
      _ = try await Self.follow(page, &followed)
      #expect(followed.tree[text]?.attributes["value"]?.string?.count == 2_000)
      try await page.render(source)
      _ = try await Self.follow(page, &followed)
      #expect(followed.tree.count == 2)
      #expect(followed.tree.first(.type("text"))?.attributes["value"]?.string == nil)
      // More changes than the elements have bytes are not kept.
      let again = try #require(await page.first("text")?.ref)
      for _ in 0..<50 { try await page.fireEvent(again, "click") }
      let length = try await Self.follow(page, &followed)
      #expect(length < 60_000)
      #expect(followed.tree[again]?.attributes["value"]?.string?.count == 50_000)
      await page.destroy()
    }
  }

  @Test(
    "changes that do not fit the elements are refused",
    arguments: [
      #"{"changes":[1]}"#, #"{"changes":[{}]}"#, #"{"changes":[{"ref":"a"}]}"#,
      #"{"changes":[{"ref":"none","image":null}]}"#, #"{"changes":[{"method":"fly","args":[]}]}"#,
      #"{"changes":[{"method":"updateAttrs"}]}"#, #"{"changes":[{"method":"updateAttrs","args":["none",{}]}]}"#,
      #"{"changes":[{"method":"removeElement","args":["a"]}]}"#,
      #"{"changes":[{"method":"createBody","args":[{"ref":"b","type":"div"}]}]}"#, #"{}"#, "[]", "",
    ])
  func refused(_ text: String) async throws {
    var followed = FollowedElements()
    let body = #"{"changes":[{"method":"createBody","args":[{"ref":"a","type":"div"}]}]}"#
    try followed.follow(try await ElementRecord(reading: Array(body.utf8)))
    await #expect(throws: (any Error).self) {
      try followed.follow(try await ElementRecord(reading: Array(text.utf8)))
    }
    #expect(followed.tree.count == 1)
  }

  @Test("a process that sends ever more changes is refused before they are more than a page's elements can be")
  func bounds() async throws {
    var followed = FollowedElements()
    let body = #"{"changes":[{"method":"createBody","args":[{"ref":"a","type":"div"}]}]}"#
    try followed.follow(try await ElementRecord(reading: Array(body.utf8)))
    var refused: Int?
    for count in 0..<100 where refused == nil {
      let value = String(repeating: "x", count: 2_000)
      let change = #"{"changes":[{"method":"updateAttrs","args":["a",{"a\#(count)":"\#(value)"}]}]}"#
      let record = try await ElementRecord(reading: Array(change.utf8))
      do { try followed.follow(record) } catch { refused = count }
    }
    #expect(refused == 31)
  }
}
