import ScriptEngine
import Testing

@testable import PageRuntime

/// The cells of `recycle-list` elements.
struct RecycleListTests {
  private static func element(
    _ ref: String, _ type: String, _ attributes: [String: ScriptValue] = [:], _ children: [ElementDescription] = [],
    style: [String: ScriptValue] = [:], eventArguments: [String: ScriptValue] = [:]
  ) -> ElementDescription {
    ElementDescription(
      ref: ref, type: type, attributes: attributes, style: style, events: Set(eventArguments.keys), children: children,
      eventArguments: eventArguments)
  }

  private static func binding(_ expression: String) -> ScriptValue { ["@binding": .string(expression)] }

  /// Returns the outline of a list with one slot, without the body and the list.
  private static func cells(
    _ data: ScriptValue, _ slots: [ElementDescription], _ attributes: [String: ScriptValue] = [:]
  ) throws -> [String] {
    var tree = ElementTree()
    let given: [String: ScriptValue] = ["listData": data, "alias": "item", "index": "i"]
    try tree.apply(
      .createBody(
        element("_root", "div", [:], [element("list", "recycle-list", given.merging(attributes) { $1 }, slots)])))
    return tree.outline.split(separator: "\n").dropFirst(2).map {
      String($0.drop { $0 == " " })
    }
  }

  private static let items: ScriptValue = [
    ["type": "A", "name": "one", "tags": ["x", "y"]], ["type": "B", "name": "two", "price": 3], ["name": "three"],
  ]

  @Test(
    "a number of repetitions that is none makes nothing, and an endless one as many as a list may have",
    arguments: [("0 / 0", 0), ("item.missing + 1", 0), ("0 - 1", 0), ("1 / 0", 10_000), ("2.9", 2)])
  func numbers(_ expression: String, _ count: Int) throws {
    let repeated = Self.element("t", "text", ["[[repeat]]": ["@expression": .string(expression), "@alias": "n"]])
    let found = try Self.cells([[:]], [Self.element("a", "cell-slot", [:], [repeated])])
    #expect(found.filter { $0.hasPrefix("text ") }.count == count)
  }

  @Test("templates that make nothing are not looked at without end")
  func steps() throws {
    let none = Self.element(
      "t", "text", ["[[repeat]]": ["@expression": "10000", "@alias": "n"], "[[match]]": "i == 19"])
    let found = try Self.cells(
      .array([ScriptValue](repeating: [:], count: 20)), [Self.element("a", "cell-slot", [:], [none])])
    #expect(!found.contains { $0.hasPrefix("text ") })
    // Each repetition counts when it is made and when it is looked at: five times 20,000 are the limit.
    #expect(found.filter { $0.hasPrefix("cell ") }.count == 5)
  }

  @Test("bindings give a list 16 MiB of text at most")
  func texts() throws {
    let text = ScriptValue.string(String(repeating: "s", count: 9 << 20))
    var tree = ElementTree()
    let slot = Self.element("a", "cell-slot", [:], [Self.element("t", "text", ["value": Self.binding("item.s")])])
    let joined = Self.element(
      "b", "cell-slot", ["case": "b"],
      [
        Self.element("u", "text", ["value": Self.binding("item.s + item.s")])
      ])
    let data: ScriptValue = [["s": text], ["s": text], ["s": text, "kind": "b"], ["s": "short"]]
    try tree.apply(
      .createBody(
        Self.element(
          "_root", "div", [:],
          [
            Self.element(
              "list", "recycle-list", ["listData": data, "alias": "item", "switch": "kind"], [slot, joined])
          ])))
    let cells = tree.expanded
    #expect(cells["t@0"]?.attributes["value"] == text)
    #expect(cells["t@1"]?.attributes["value"] == .undefined)
    #expect(cells["u@2"]?.attributes["value"] == .undefined)
    #expect(cells["t@3"]?.attributes["value"] == "short")
  }

  @Test("each item has the cell of its case, or of the default slot, or of the first")
  func cases() throws {
    func slot(_ ref: String, _ attributes: [String: ScriptValue]) -> ElementDescription {
      Self.element(
        ref, "cell-slot", attributes, [Self.element("t\(ref)", "text", ["value": Self.binding("item.name")])])
    }
    let slots = [slot("a", ["case": "A"]), slot("b", ["case": "B"])]
    func refs(_ slots: [ElementDescription], _ attributes: [String: ScriptValue]) throws -> [String] {
      try Self.cells(Self.items, slots, attributes).filter { $0.hasPrefix("cell ") }
        .compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
    }
    #expect(try refs(slots, ["switch": "type"]) == ["#a@0", "#b@1", "#a@2"])
    #expect(try refs(slots, ["switch": "item.type"]) == ["#a@0", "#b@1", "#a@2"])
    #expect(try refs(slots + [slot("c", ["default": ""])], ["switch": "type"]) == ["#a@0", "#b@1", "#c@2"])
    #expect(try refs([slot("a", ["case": "A"])], ["switch": "type"]) == ["#a@0", "#a@2"])
    #expect(try refs(slots, [:]) == ["#a@0", "#a@1", "#a@2"])
    #expect(
      try Self.cells(Self.items, slots, ["switch": "type"]).filter { $0.hasPrefix("text ") }
        == [#"text #ta@0 value="one""#, #"text #tb@1 value="two""#, #"text #ta@2 value="three""#])
  }

  @Test(
    "bindings are evaluated over the item and its index",
    arguments: [
      ("item.name", "one"), ("item['name']", "one"), ("i", "0"), ("i + 1", "1"), ("item.tags[1]", "y"),
      ("item.tags.length", "2"), ("item.name.length * 2 - 1", "5"), ("item.price || 'free'", "free"),
      ("item.type === 'A' ? 'first' : 'other'", "first"), ("!item.price && item.tags.length >= 2", "true"),
      ("(1 + 2) * 3 % 4", "1"), ("-i - 1 < 0", "true"), ("'a' + 1 + \"b\"", "a1b"), ("null == item.none", "true"),
      ("item.none.deep", nil), ("item.name(", nil), ("item.name()", nil), ("", nil), ("item.", nil), ("1 2", nil),
      (String(repeating: "(", count: 400), nil), (String(repeating: "!", count: 400) + "1", nil),
      (String(repeating: "i+", count: 900) + "1", "1"), (String(repeating: "1+", count: 1_500) + "1", nil),
    ] as [(String, String?)])
  func expressions(_ expression: String, _ expected: String?) throws {
    let text = Self.element("t", "text", ["value": Self.binding(expression)])
    let cells = try Self.cells([Self.items.array?[0] ?? [:]], [Self.element("s", "cell-slot", [:], [text])])
    #expect(cells == ["cell #s@0", "text #t@0" + (expected.map { " value=\"\($0)\"" } ?? "")])
  }

  @Test("texts in pieces, styles, repetitions and conditions are filled")
  func templates() throws {
    let pieces: ScriptValue = [
      "No. ", Self.binding("i"), ": ", Self.binding("item.name"), Self.binding("item.none"),
    ]
    let slot = Self.element(
      "s", "cell-slot", [:],
      [
        Self.element("t", "text", ["value": pieces], style: ["color": Self.binding("i ? 'red' : 'blue'"), "width": 5]),
        Self.element(
          "r", "div", ["[[repeat]]": ["@expression": "item.tags", "@alias": "tag", "@index": "k"]],
          [Self.element("q", "text", ["value": [Self.binding("k"), Self.binding("tag")]])]),
        Self.element("m", "image", ["[[match]]": "item.price", "src": Self.binding("item.name")]),
      ])
    #expect(
      try Self.cells(Self.items, [slot]) == [
        "cell #s@0", #"text #t@0 value="No. 0: one""#, "div #r@0.0", #"text #q@0.0 value="0x""#, "div #r@0.1",
        #"text #q@0.1 value="1y""#, "cell #s@1", #"text #t@1 value="No. 1: two""#, #"image #m@1 src="two""#,
        "cell #s@2", #"text #t@2 value="No. 2: three""#,
      ])
    var tree = ElementTree()
    try tree.apply(
      .createBody(Self.element("_root", "recycle-list", ["listData": Self.items, "index": "i"], [slot])))
    #expect(tree.expanded["t@1"]?.style == ["color": "red", "width": 5])
    // The tree itself has the templates.
    #expect(tree["t@1"] == nil && tree["t"] != nil && tree.expanded["t"] == nil)
  }

  @Test("a component in a template sees its properties only")
  func components() throws {
    let root = Self.element(
      "c", "div", ["@isComponentRoot": true, "@componentProps": ["label": Self.binding("item.name"), "size": 2]],
      [Self.element("t", "text", ["value": [Self.binding("label"), Self.binding("size"), Self.binding("item.name")]])])
    #expect(
      try Self.cells(Self.items, [Self.element("s", "cell-slot", [:], [root])])
        .filter { $0.hasPrefix("text") } == [
          #"text #t@0 value="one2""#, #"text #t@1 value="two2""#, #"text #t@2 value="three2""#,
        ])
  }

  @Test("other children of the list stay, and a list without slots or data is as the script made it")
  func otherChildren() throws {
    let slot = Self.element("s", "cell-slot")
    let cells = try Self.cells(
      [1, 2], [Self.element("h", "header"), slot, Self.element("l", "loading")])
    #expect(cells == ["header #h", "cell #s@0", "cell #s@1", "loading #l"])
    #expect(try Self.cells([1, 2], [Self.element("x", "cell")]) == ["cell #x"])
    #expect(try Self.cells("none", [slot]) == ["cell-slot #s"])
  }

  @Test("the number of cells is bounded, however many a template repeats")
  func bounds() throws {
    let inner = Self.element("b", "text", ["[[repeat]]": ["@expression": "10000"]])
    let outer = Self.element("a", "div", ["[[repeat]]": ["@expression": "10000"]], [inner])
    let data = ScriptValue.array((0..<100_000).map { .number(Double($0)) })
    #expect(try Self.cells(data, [Self.element("s", "cell-slot", [:], [outer])]).count <= 20_000)
    #expect(try Self.cells(data, [Self.element("s", "cell-slot")]).count == 20_000)
  }

  @Test("an event of a cell reaches the template's handler with the arguments of its binding")
  func events() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        """
        var list = document.createElement('recycle-list', { attr: { listData: [{ id: 7 }, { id: 8 }], alias: 'item' } })
        var slot = document.createElement('cell-slot'), button = document.createElement('div')
        button.addEvent('click', function (id, e) { say([id, e.type, this === button]) }, [{ '@binding': 'item.id' }])
        slot.appendChild(button); list.appendChild(slot); body.appendChild(list)
        """)
      let refs = await page.tree.expanded.elements.values.filter { $0.events == ["click"] }.map(\.ref).sorted()
      #expect(refs.count == 2)
      for ref in refs { try await page.fireEvent(ref, "click") }
      #expect(await page.shown == #"[[7,"click",true],[8,"click",true]]"#)
      #expect(await page.exceptions == [])
    }
  }

  @Test("the preview and the JSON have the cells")
  func views() async throws {
    var tree = ElementTree()
    let text = Self.element("t", "text", ["value": Self.binding("item.name")])
    try tree.apply(
      .createBody(
        Self.element(
          "_root", "div", [:],
          [
            Self.element(
              "list", "recycle-list", ["listData": Self.items, "alias": "item"],
              [Self.element("s", "cell-slot", [:], [text])], style: ["height": 400])
          ])))
    let html = HTMLPreview(tree, title: "").html
    #expect(html.contains(">one</div>") && html.contains(">three</div>") && html.contains("data-ref=\"s@2\""))
    #expect(String(decoding: tree.jsonText, as: UTF8.self) == String(decoding: tree.json.text, as: UTF8.self))
    #expect(String(decoding: tree.jsonText, as: UTF8.self).contains("\"value\":\"three\""))
  }

  // MARK: Methods

  @Test(
    "the methods of a list change its items",
    arguments: [
      ("list.appendData({ n: 9 })", "1,2,3,9"), ("list.appendData([{ n: 8 }, { n: 9 }])", "1,2,3,8,9"),
      ("list.appendRange([{ n: 8 }, { n: 9 }])", "1,2,3,8,9"), ("list.appendRange(1, [{ n: 8 }])", "1,8,2,3"),
      ("list.insertRange(0, [{ n: 8 }, { n: 9 }])", "8,9,1,2,3"), ("list.insertData(3, { n: 9 })", "1,2,3,9"),
      ("list.insertData('1', { n: 9 })", "1,9,2,3"), ("list.updateData(1, { n: 9 })", "1,9,3"),
      ("list.removeData(0, 2)", "3"), ("list.removeData(1)", "1,3"), ("list.removeData(1, 99)", "1"),
      ("list.moveData(0, 2)", "2,3,1"), ("list.setListData([{ n: 7 }])", "7"), ("list.setListData([])", ""),
      ("list.appendData({ n: 4 }); list.removeData(0, 1); list.insertData(0, { n: 5 })", "5,2,3,4"),
      // A place that the list does not have, and arguments that are nothing.
      ("list.insertData(4, { n: 9 })", "1,2,3"), ("list.insertData(-1, { n: 9 })", "1,2,3"),
      ("list.updateData(3, { n: 9 }); list.updateData(0, null)", "1,2,3"), ("list.removeData(3, 1)", "1,2,3"),
      ("list.moveData(0, 3)", "1,2,3"), ("list.appendData(null); list.setListData('x')", "1,2,3"),
      ("list.removeData(0, 9007199254740991)", ""),
    ])
  func methods(_ script: String, _ expected: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await Self.listPage(fixture, script)
      #expect(await Self.numbers(of: page) == expected)
      #expect(await page.exceptions == [])
    }
  }

  /// A page with a list of the items `{n: 1}`, `{n: 2}` and `{n: 3}`, which has run a script.
  private static func listPage(_ fixture: PageFixture, _ script: String) async throws -> PageInstance {
    let page = try await fixture.speakingPage(
      """
      var list = document.createElement('recycle-list', {
        attr: { listData: [{ n: 1 }, { n: 2 }, { n: 3 }], alias: 'item' }
      })
      var slot = document.createElement('cell-slot')
      var part = document.createElement('text', { attr: { value: { '@binding': 'item.n' }, part: 'number' } })
      slot.appendChild(part); list.appendChild(slot); body.appendChild(list)
      \(script)
      """)
    await page.settle(within: .seconds(20))
    return page
  }

  private static func numbers(of page: PageInstance) async -> String {
    let tree = await page.tree.expanded
    let cells = tree.elements.values.first { $0.type == "recycle-list" }?.children ?? []
    return cells.compactMap { tree[$0]?.children.first.flatMap { tree[$0]?.attributes["value"]?.plainText } }
      .joined(separator: ",")
  }

  @Test("many changes of one entry are one command, and the number of items is bounded")
  func manyChanges() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await Self.listPage(fixture, "for (var n = 4; n <= 3000; n++) list.appendData({ n: n })")
      let list = try #require(await page.first("recycle-list"))
      #expect(list.attributes["listData"]?.array?.count == 3_000)
      let full = try await Self.listPage(
        fixture,
        """
        var many = []
        for (var n = 0; n < 60000; n++) many[n] = n
        list.appendData(many); list.appendData(many); list.appendData({ n: 9 })
        """)
      #expect(await full.first("recycle-list")?.attributes["listData"]?.array?.count == 100_000)
      #expect(await full.exceptions.count == 2)
    }
  }

  @Test("a list scrolls to a cell, and finds elements of cells by their attributes")
  func queries() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await Self.listPage(
        fixture,
        """
        list.scrollTo(1)
        function refs(found) { say([].concat(found).map(function (one) { return one.type + ' ' + one.ref })) }
        list.queryElement(slot.ref + '@0', '[part=number]', refs)
        list.queryElementAll(slot.ref + '@0', '[part="number"]', refs)
        list.queryElementAll(slot.ref + '@0', '[none]', refs)
        list.closest(part.ref + '@2', '[alias]', refs)
        """)
      let tree = await page.tree
      let slot = try #require(tree.elements.values.first { $0.type == "cell-slot" })
      let (list, part) = (try #require(slot.parent), try #require(slot.children.first))
      #expect(await page.scrollTarget == "\(slot.ref)@1")
      #expect(
        await page.shown
          == #"[["text \#(part)@0"],["text \#(part)@0"],[],["recycle-list \#(list)"]]"#)
      #expect(await page.exceptions == [])
    }
  }

  @Test("taps on cells find them among those that the page has made")
  func taps() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await Self.listPage(
        fixture,
        """
        part.setAttr('id', 'part')
        slot.addEvent('click', function () { tapped++ })
        var tapped = 0
        body.addEvent('ask', function () { body.setAttr('tapped', tapped) })
        """)
      for _ in 1...3 { try await page.click(.id("part")) }
      await page.settle(within: .seconds(20))
      #expect(await page.expansionCount == 1)
      try await page.fireEvent("_root", "ask")
      await page.settle(within: .seconds(20))
      #expect(await page.tree.first(.ref("_root"))?.attributes["tapped"] == 3)
      #expect(await page.exceptions == [])
    }
  }

  @Test("cells are made once for several calls of methods, and anew after a change of the data")
  func expansions() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await Self.listPage(
        fixture,
        """
        function ignore() {}
        body.addEvent('ask', function () {
          list.scrollTo(list.count || 0); list.queryElementAll(slot.ref + '@0', '[part]', ignore)
          list.queryElement(slot.ref + '@1', '[part]', ignore); list.closest(part.ref + '@0', '[alias]', ignore)
        })
        body.addEvent('add', function () { list.count = 3; list.appendData({ n: 4 }) })
        """)
      func fire(_ type: String) async throws {
        try await page.fireEvent("_root", type)
        await page.settle(within: .seconds(20))
      }
      let slot = try #require(await page.first("cell-slot")).ref
      try await fire("ask")
      let first = await page.expansionCount
      try await fire("ask")
      #expect(await page.expansionCount == first)
      #expect(await page.scrollTarget == "\(slot)@0")
      try await fire("add")
      try await fire("ask")
      let second = await page.expansionCount
      try await fire("ask")
      #expect(second > first)
      #expect(await page.expansionCount == second)
      // The new cell is found.
      #expect(await page.scrollTarget == "\(slot)@3")
      #expect(await page.exceptions == [])
    }
  }

  // MARK: Components with data of their own

  /// A script that does what the Vue framework does for a component of a cell: its template's id, and the hooks.
  static let counter = """
    var center = document.taskCenter, counters = {}
    function root(id, text) {
      var root = document.createElement('div', { attr: {
        '@isComponentRoot': true, '@templateId': id, '@componentProps': { start: { '@binding': 'item.n' } }
      } })
      var part = document.createElement('text', { attr: { value: text, ref: 'label' } })
      root.appendChild(part)
      return root
    }
    center.registerHook('counter', 'lifecycle', 'create', function (id, props) {
      var data = counters[id] = { count: props.start * 10 }
      center.registerHook(id, 'lifecycle', 'attach', function (place) {
        say(['attach', place.position, place.refs.label.length])
        center.updateData(id, { label: 'no. ' + place.position }, function () { say('updated') })
      })
      center.registerHook(id, 'lifecycle', 'syncState', function (id, props) {
        say(['sync', props.start]); return { count: props.start * 100 }
      })
      center.registerHook(id, 'lifecycle', 'detach', function () { delete counters[id]; say('detach') })
      return data
    })
    var list = document.createElement('recycle-list', { attr: { listData: [{ n: 1 }, { n: 2 }], alias: 'item' } })
    var slot = document.createElement('cell-slot')
    var counter = root('counter', [{ '@binding': 'label' }, ': ', { '@binding': 'count' }])
    counter.addEvent('click', function (event) {
      var data = counters[event.componentId]
      data.count++
      center.updateData(event.componentId, data)
    })
    slot.appendChild(counter); list.appendChild(slot); body.appendChild(list)
    """

  static func labels(of page: PageInstance) async -> [String] {
    await page.settle(within: .seconds(20))
    let tree = await page.tree.expanded
    let cells = tree.elements.values.first { $0.type == "recycle-list" }?.children ?? []
    return cells.flatMap { tree.preorder(from: $0) }.compactMap { $0.attributes["value"]?.plainText }
  }

  @Test("a component in a cell has data of its own, which the script makes and changes")
  func statefulComponents() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(Self.counter)
      #expect(await Self.labels(of: page) == ["no. 0: 10", "no. 1: 20"])
      let shown = try #require(await page.shown)
      #expect(shown.contains(#"["attach",0,1]"#) && shown.contains(#"["attach",1,1]"#) && shown.contains("updated"))
      let second = try #require(
        await page.tree.expanded.elements.values.first { $0.events == ["click"] && $0.ref.hasSuffix("@1") })
      try await page.fireEvent(second.ref, "click")
      #expect(await Self.labels(of: page) == ["no. 0: 10", "no. 1: 21"])
      #expect(await page.exceptions == [])
      // The outline has no data of components among the list's attributes.
      #expect(await !page.tree.outline.contains(CellComponent.dataAttribute))
    }
  }

  @Test("a component gets its new properties, and ends with its cell")
  func componentsFollowData() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        Self.counter + "; body.addEvent('next', function () { list.setListData([{ n: 5 }]) })")
      #expect(await Self.labels(of: page).count == 2)
      try await page.fireEvent("_root", "next")
      #expect(await Self.labels(of: page) == ["no. 0: 500"])
      let shown = try #require(await page.shown)
      #expect(shown.contains(#"["sync",5]"#) && shown.contains("detach"))
      #expect(await page.exceptions == [])
    }
  }

  @Test("a component whose hooks throw or are missing is shown with its properties, and reported")
  func brokenComponents() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        """
        \(Self.counter)
        center.registerHook('bad', 'lifecycle', 'create', function () { throw new Error('no data') })
        slot.appendChild(root('bad', { '@binding': 'start' })); slot.appendChild(root('none', { '@binding': 'start' }))
        """)
      #expect(
        await Self.labels(of: page) == ["no. 0: 10", "1", "1", "no. 1: 20", "2", "2"])
      #expect(await page.exceptions.count { $0.contains("no data") } == 2)
    }
  }
}
