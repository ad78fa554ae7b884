import Testing

@testable import PageRuntime

/// The commands that a script's changes of elements send to the host. Refs are named by the elements' types here.
struct ElementTests {
  /// Elements `a`, `b`, `c` in the body, whose refs become their types.
  private static let setUp = """
    function make(type, children) {
      var e = document.createElement(type); e.ref = type
      ;(children || []).forEach(function (child) { e.appendChild(child) })
      return e
    }
    var a = make('a'), b = make('b'), c = make('c'), d = make('d')
    ;[a, b, c].forEach(function (e) { body.appendChild(e) })

    """
  private static let setUpCommands = ["add a to _root", "add b to _root", "add c to _root"]

  @Test(
    "changes of children are sent to the host",
    arguments: [
      // A new element.
      ("body.appendChild(d)", ["add d to _root"]), ("body.insertBefore(d, b)", ["add d to _root at 1"]),
      ("body.insertBefore(d)", ["add d to _root"]), ("body.insertAfter(d, a)", ["add d to _root at 1"]),
      ("body.insertAfter(d, c)", ["add d to _root"]), ("body.insertAfter(d)", ["add d to _root at 0"]),
      // Within its parent: the index counts the element where it was.
      ("body.appendChild(a)", ["move a to _root at 3"]), ("body.appendChild(c)", []),
      ("body.insertBefore(a, c)", ["move a to _root at 2"]), ("body.insertBefore(c, a)", ["move c to _root at 0"]),
      ("body.insertBefore(a, b)", []), ("body.insertBefore(a, a)", []),
      ("body.insertAfter(a, b)", ["move a to _root at 2"]),
      ("body.insertAfter(c, a)", ["move c to _root at 1"]), ("body.insertAfter(b, a)", []),
      ("body.insertAfter(c)", ["move c to _root at 0"]),
      // From one parent to another.
      ("b.appendChild(a)", ["move a to b at 0"]),
      ("b.appendChild(d); body.insertBefore(d, b)", ["add d to b", "move d to _root at 1"]),
      // Out of a tree that is not in the document.
      ("var x = make('x', [d]); body.appendChild(d)", ["add d to _root"]),
      ("var x = make('x'); x.appendChild(a)", ["remove a"]),
      // Again after it was removed, with the elements below it.
      ("a.appendChild(d); body.removeChild(a, true); c.appendChild(a)", ["add d to a", "remove a", "add a to c"]),
      ("body.removeChild(a)", ["remove a"]), ("body.removeChild(d)", []), ("body.removeChild()", []),
      ("a.removeChild(b)", []), ("body.clear()", ["remove a", "remove b", "remove c"]), ("a.clear()", []),
      // Below itself, nothing, and a value that is not a node.
      ("a.appendChild(a)", []), ("a.appendChild(d); d.appendChild(a)", ["add d to a"]),
      ("a.appendChild(d); d.insertBefore(a)", ["add d to a"]), ("body.appendChild(null)", []),
      ("body.appendChild({})", []),
      ("body.appendChild({ nodeType: 1, ref: 'x', children: [] })", []), ("body.insertBefore(d, make('x'))", []),
      ("body.insertAfter(d, {})", []),
      // The body.
      ("a.appendChild(body)", []), ("make('x').appendChild(body)", []),
      ("document.documentElement.removeChild(body)", []),
      ("document.documentElement.clear()", []), ("document.documentElement.insertAfter(d)", []),
      ("document.documentElement.appendChild(d)", []),
      // Comments are not shown.
      ("body.appendChild(document.createComment('x'))", []),
      (
        "var x = document.createComment('x'); body.insertBefore(x, b); body.insertBefore(d, x)", ["add d to _root at 1"]
      ),
      ("var x = document.createComment('x'); body.insertBefore(x, b); body.insertAfter(d, x)", ["add d to _root at 1"]),
      ("var x = document.createComment('x'); body.appendChild(x); body.appendChild(d)", ["add d to _root"]),
      ("var x = document.createComment('x'); body.appendChild(x); body.insertBefore(x, a); body.removeChild(x)", []),
    ])
  func childCommands(_ script: String, _ expected: [String]) async throws {
    #expect(try await PageFixture.commands(Self.setUp + script) == Self.setUpCommands + expected)
  }

  @Test(
    "changes of properties are sent to the host",
    arguments: [
      ("a.setAttr('x', 1)", ["attrs a {\"x\":1}"]), ("a.setAttr('x', 1); a.setAttr('x', 1)", ["attrs a {\"x\":1}"]),
      ("a.setAttr('x', 1); a.setAttr('x', 1, false)", ["attrs a {\"x\":1}", "attrs a {\"x\":1}"]),
      ("a.setAttr('x', 1, true)", []), ("a.setAttrs({ x: 1, y: 2 })", ["attrs a {\"x\":1,\"y\":2}"]),
      ("a.setAttr('x', 1); a.setAttrs({ x: 1, y: 2 })", ["attrs a {\"x\":1}", "attrs a {\"y\":2}"]),
      ("a.setAttrs({}); a.setAttrs(); a.setAttrs({ x: 1 }, true)", []),
      ("a.setStyle('x', 1)", ["style a {\"x\":1}"]), ("a.setStyle('x', 1, true)", []),
      ("a.setStyles({ x: 1 }); a.setStyles({ x: 1 })", ["style a {\"x\":1}"]), ("a.setStyles({ x: 1 }, true)", []),
      ("a.setClassStyle({ x: 1 })", ["style a {\"x\":1}"]),
      ("a.setClassStyle({ x: 1 }); a.setClassStyle({ y: 2 })", ["style a {\"x\":1}", "style a {\"x\":\"\",\"y\":2}"]),
      (
        "a.setClassStyle({ x: 1 }); a.setClassStyle({}); a.setClassStyle({ y: 2 })",
        ["style a {\"x\":1}", "style a {\"x\":\"\"}", "style a {\"x\":\"\",\"y\":2}"]
      ),
      ("a.setStyle('x', 5); a.setClassStyle({ x: 1 })", ["style a {\"x\":5}", "style a {\"x\":5}"]),
      ("a.addEvent('click', function () {})", ["listen a click"]),
      ("a.addEvent('click', function () {}); a.addEvent('click', function () {})", ["listen a click"]),
      ("a.addEvent('click'); a.addEvent()", []),
      ("a.addEvent('click', function () {}); a.removeEvent('click')", ["listen a click", "unlisten a click"]),
      ("a.removeEvent('click')", []),
      // Names that every object inherits.
      ("a.addEvent('toString', function () {})", ["listen a toString"]), ("a.removeEvent('constructor')", []),
      ("a.setAttr('constructor', 1)", ["attrs a {\"constructor\":1}"]),
      ("a.setAttrs(JSON.parse('{\"__proto__\":{\"x\":1}}'))", ["attrs a {\"__proto__\":{\"x\":1}}"]),
      // An element in no document.
      ("d.setAttr('x', 1); d.setStyle('x', 1); d.setClassStyle({}); d.addEvent('click', function () {})", []),
      ("body.removeChild(a, true); a.setAttr('x', 1)", ["remove a"]), ("a.destroy(); a.setAttr('x', 1)", []),
    ])
  func propertyCommands(_ script: String, _ expected: [String]) async throws {
    #expect(try await PageFixture.commands(Self.setUp + script) == Self.setUpCommands + expected)
  }

  @Test(
    "an element has the properties of the document API",
    arguments: [
      ("tell(body.children.length); tell(body.pureChildren.length)", "[3,3]"),
      (
        "body.appendChild(document.createComment('x')); tell(body.children.length); tell(body.pureChildren.length)",
        "[4,3]"
      ),
      (
        "tell(a.nextSibling === b); tell(b.previousSibling === a); tell(c.nextSibling); tell(a.previousSibling)",
        "[true,true,null,null]"
      ),
      (
        "var x = document.createComment('x'); body.insertAfter(x, a); tell(a.nextSibling === x); tell(b.previousSibling === x)",
        "[true,true]"
      ),
      (
        "tell(a.parentNode === body); tell(body.parentNode === document.documentElement); tell(d.parentNode)",
        "[true,true,null]"
      ),
      ("tell(a.type); tell(a.nodeType); tell(document.createComment('x').nodeType)", "[\"a\",1,8]"),
      (
        "tell(document.createElement('p').ref !== document.createElement('p').ref); tell(typeof d.ref)",
        "[true,\"string\"]"
      ),
      (
        "body.removeChild(a, true); tell(a.parentNode); tell(document.getRef('a')); tell(a.nextSibling)",
        "[null,\"-\",null]"
      ),
      ("a.appendChild(d); body.removeChild(a); tell(a.children.length); tell(d.parentNode)", "[0,null]"),
      ("a.appendChild(d); body.removeChild(a, true); tell(a.children.length); tell(document.getRef('d'))", "[1,\"-\"]"),
      ("a.appendChild(d); a.destroy(); tell(document.getRef('a')); tell(document.getRef('d'))", "[\"-\",\"-\"]"),
      ("d.setAttr('x', 1); d.setStyle('y', 2); tell(d.attr.x); tell(d.style.y)", "[1,2]"),
      ("d.setClassStyle({ x: 1, y: 1 }); d.setStyle('x', 2); tell(d.toStyle())", "[{\"x\":2,\"y\":1}]"),
      (
        "d.addEvent('click', function () {}); tell(typeof d.event.click.handler); d.removeEvent('click'); tell(d.event.click)",
        "[\"function\",\"-\"]"
      ),
      ("d.appendChild(make('e')); tell(d.toJSON().children.length); tell(d.toJSON(true).children)", "[1,\"-\"]"),
      (
        "d.addEvent('x', tell); d.addEvent('y', tell, [1]); tell(d.toJSON().event)",
        "[[\"x\",{\"type\":\"y\",\"params\":[1]}]]"
      ),
      (
        "d.setAttr('x', 1); tell(JSON.parse(JSON.stringify(d)))",
        "[{\"ref\":\"d\",\"type\":\"d\",\"attr\":{\"x\":1},\"style\":{}}]"
      ),
      (
        "var e = document.createElement('p', { attr: { x: 1 }, style: { y: 2 }, classStyle: { z: 3 } }); tell(e.attr); tell(e.toStyle())",
        "[{\"x\":1},{\"z\":3,\"y\":2}]"
      ),
      (
        "a.appendChild(d); make('x').appendChild(a); tell(document.getRef('a')); tell(document.getRef('d'))",
        "[\"-\",\"-\"]"
      ),
      ("tell(a.depth); a.appendChild(d); tell(d.depth); body.appendChild(d); tell(d.depth)", "[2,3,2]"),
      ("var x = make('x', [make('y', [make('z')])]); body.appendChild(x); tell(document.getRef('z').depth)", "[4]"),
      ("tell(String(a)); tell(String(document.createComment('x')))", "[\"<a attr={} style={}></a>\",\"<!-- x -->\"]"),
    ])
  func elementProperties(_ script: String, _ expected: String) async throws {
    #expect(try await PageFixture.told(Self.setUp + script) == expected)
  }

  /// A detached tree that is deep reaches the host whole.
  @Test(
    "a deep tree reaches the host whole",
    arguments: [
      "body.appendChild(top)",
      "var next = document.createElement('div'); next.appendChild(top); body.appendChild(next)",
    ])
  func deepTree(_ script: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var top = document.createElement('div'), at = top
        for (var i = 0; i < 900; i++) { var e = document.createElement('div'); at.appendChild(e); at = e }
        \(script)
        """)
      #expect(await page.tree.elements.values.map(\.depth).max() ?? 0 >= 901)
      #expect(await page.exceptions == [])
    }
  }
}
