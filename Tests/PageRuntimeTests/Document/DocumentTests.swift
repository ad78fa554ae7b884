import Testing

@testable import PageRuntime

/// The document API, seen from the host's tree.
struct DocumentTests {
  /// Types of the body's children after the script.
  private static func children(_ script: String) async throws -> [String] {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(script)
      let types = await page.childTypes
      #expect(await page.exceptions == [])
      return types
    }
  }

  @Test(
    "the tree has the script's elements",
    arguments: [
      ("add('a'); add('b'); add('c')", ["a", "b", "c"]),
      ("var a = add('a'); add('b'); body.appendChild(a)", ["b", "a"]),
      ("var b = add('b'); body.insertBefore(document.createElement('a'), b)", ["a", "b"]),
      ("var a = add('a'); add('c'); body.insertAfter(document.createElement('b'), a)", ["a", "b", "c"]),
      ("var a = add('a'), b = add('b'); body.insertBefore(b, a)", ["b", "a"]),
      ("var a = add('a'), b = add('b'); body.insertAfter(a, b)", ["b", "a"]),
      ("var a = add('a'); add('b'); body.removeChild(a)", ["b"]),
      ("var a = add('a'); add('b'); body.removeChild(a, true); body.appendChild(a)", ["b", "a"]),
      ("add('a'); add('b'); body.clear(); add('c')", ["c"]),
      ("body.appendChild(document.createComment('x')); add('a'); body.appendChild(document.createComment('y'))", ["a"]),
      (
        "var c = document.createComment('x'); body.appendChild(c); add('b'); body.insertAfter(document.createElement('a'), c)",
        ["a", "b"]
      ),
      ("document.close(); add('a'); add('b'); document.open()", ["a", "b"]),
    ])
  func tree(_ script: String, _ expected: [String]) async throws {
    #expect(try await Self.children(script) == expected)
  }

  @Test("attributes and styles reach the tree")
  func attributesAndStyles() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: 'a' }, style: { color: 'red' } })
        text.setAttr('value', 'b'); text.setAttrs({ lines: 2, value: 'c' })
        text.setStyle('color', 'blue'); text.setStyles({ fontSize: 30 })
        text.setClassStyle({ color: 'green', margin: 4 })
        """)
      let text = try #require(await page.first("text"))
      #expect(text.attributes == ["value": "c", "lines": 2])
      // The element's own style wins over its class.
      #expect(text.style == ["color": "blue", "fontSize": 30, "margin": 4])
      await page.destroy()
    }
  }

  @Test(
    "a document has the properties of the document API",
    arguments: [
      (
        "tell(document.body === body); tell(body.ref); tell(document.createBody('list') === body)",
        "[true,\"_root\",true]"
      ),
      (
        "tell(document.documentElement.ref); tell(document.documentElement.children.length)", "[\"_documentElement\",1]"
      ),
      ("var a = add('a'); tell(document.getRef(a.ref) === a); tell(document.getRef('_root') === body)", "[true,true]"),
      (
        "tell(document.getRef('none')); tell(document.getRef('constructor')); tell(document.getRef())",
        "[\"-\",\"-\",\"-\"]"
      ),
      ("var c = document.createComment('x'); tell(c.type); tell(c.value); tell(c.nodeType)", "[\"comment\",\"x\",8]"),
      ("tell(document.createElement().type); tell(document.createElement('x').type)", "[\"div\",\"x\"]"),
      ("tell(document.URL.split('/').pop()); tell(typeof document.id)", "[\"page.js\",\"string\"]"),
      ("var a = add('a'); tell(a.ownerDocument === document); tell(a.docId === document.id)", "[true,true]"),
      (
        "tell(typeof document.taskCenter.send); tell(typeof document.listener.createFinish)",
        "[\"function\",\"function\"]"
      ),
      ("tell(document.createDocumentElement() === document.documentElement); tell(body.depth)", "[true,1]"),
      (
        "document.close(); tell(document.listener.batched); document.open(); tell(document.listener.batched)",
        "[true,false]"
      ),
      (
        "var a = add('a', { attr: { b: 1 } }); add('c', {}, a); tell('' + a)",
        "[\"<a attr={\\\"b\\\":1} style={}><c attr={} style={}></c></a>\"]"
      ),
    ])
  func documentProperties(_ script: String, _ expected: String) async throws {
    #expect(try await PageFixture.told(script) == expected)
  }

  @Test("changes of a closed document reach the tree at the end of the entry, also those of timers and promises")
  func closedDocument() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        add('a'); document.close(); add('b')
        setTimeout(function () { add('timer') }, 1); Promise.resolve().then(function () { add('promise') })
        """)
      await page.settle(within: .seconds(60))
      #expect(await page.childTypes == ["a", "b", "promise", "timer"])
      #expect(await page.exceptions == [])
    }
  }

  @Test("a destroyed document sends no commands")
  func destroyedDocument() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("add('a'); document.destroy(); add('b'); body.setAttr('x', 1)")
      #expect(await page.tree.count == 2)
      #expect(await page.exceptions == [])
    }
  }

  @Test(
    "the body is the first element of the document",
    arguments: [
      ("var b = d.createBody('list'); d.documentElement.appendChild(b)", "list"),
      ("d.documentElement.appendChild(d.createElement('scroller'))", "scroller"),
      ("d.createBody('list'); d.documentElement.appendChild(d.createElement('scroller'))", "scroller"),
      (
        "d.documentElement.appendChild(d.createComment('x')); d.documentElement.insertBefore(d.createBody('div'))",
        "div"
      ),
      (
        "var b = d.createBody('list'), c = d.createComment('x'); if (d.getRef('_root') !== b) throw new Error('unknown'); d.documentElement.appendChild(c); d.documentElement.insertBefore(b, c); if (d.documentElement.children[0] !== b) throw new Error('order')",
        "list"
      ),
      (
        "d.documentElement.appendChild(d.createBody('div')); d.documentElement.appendChild(d.createElement('p'))", "div"
      ),
    ])
  func body(_ script: String, _ type: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      try await page.render("// { \"framework\": \"Vanilla\" }\nvar d = weex.document; \(script)")
      #expect(await page.tree.body?.type == type)
      #expect(await page.tree.root == "_root")
      #expect(await page.tree.count == 1)
      #expect(await page.exceptions == [])
    }
  }
}
