import HTTPTransport
import ScriptEngine
import Testing

@testable import PageRuntime

/// Two pages in one script group: one must not affect the other. Pages have groups of their own, so this matters
/// when a group is used again.
struct SharedGroupTests {
  private static let head = """
    var document = weex.document
    var body = document.createBody('div')
    document.documentElement.appendChild(body)
    function add(type, props, parent) { var e = document.createElement(type, props); (parent || body).appendChild(e); return e }

    """

  private static func modules() -> ModuleTable {
    var modules = ModuleTable()
    modules.add("echo", "back", .immediate { call, _ in call[0] })
    modules.add("later", "call", .deferred { _, _ in })
    return modules
  }

  private static func open(_ id: String, _ script: String, in group: FrameworkGroup) async throws -> EntryOutcome {
    try await group.open(
      id,
      FrameworkPool.Purpose(
        type: .vanilla, url: "\(id).js", source: head + script, modules: modules(), components: ComponentTable()),
      config: ["env": ["platform": "test"]])
  }

  private static func group() async throws -> FrameworkGroup {
    let group = try await FrameworkGroup.boot(
      FrameworkGroup.builtInSource(isSealed: true), environment: [:], components: ComponentTable.builtIn.descriptions,
      limits: ScriptLimits(time: .seconds(2)), turns: FairGate(width: 2))
    try await group.register(modules(), ComponentTable())
    return group
  }

  /// A script that uses everything of the framework.
  private static let victim = """
    var text = add('text', { attr: { value: 'a' }, style: { color: 'red' } }), other = add('div')
    text.setAttr('value', 'b'); text.setStyles({ color: 'blue' }); text.setClassStyle({ margin: 1 })
    text.addEvent('click', function (e) { text.setAttr('value', 'clicked ' + e.type) })
    body.insertBefore(other, text); body.removeChild(other, true); body.appendChild(other)
    var said = weex.requireModule('echo').back({ list: [1, 'x', new Date(0)], f: function () {} })
    weex.requireModule('later').call(function () {})
    text.setAttr('said', JSON.stringify(said)); document.close(); add('p'); document.open()
    text.setAttr('supports', weex.supports('@module/echo.back') + ' ' + typeof weex.requireModule('none'))
    document.listener.createFinish()
    """

  @Test(
    "a page cannot change the framework for another page",
    arguments: [
      // Changing objects that the framework gives to all pages.
      "document.constructor.prototype.createElement = evil", "body.constructor.prototype.appendChild = evil",
      "Object.getPrototypeOf(Object.getPrototypeOf(body)).destroy = evil",
      "document.listener.constructor.prototype.addElement = evil",
      "document.taskCenter.constructor.prototype.normalise = evil",
      "document.createComment('x').constructor.prototype.toString = evil",
      "delete body.constructor.prototype.setAttr", "Object.setPrototypeOf(body.constructor.prototype, null)",
      "document.constructor.prototype.createElement.call = evil",
      "document.constructor.prototype.createElement.apply = evil",
      "Object.defineProperty(body.constructor.prototype, 'docId', { get: evil, set: evil })",
      "body.constructor.prototype.__defineGetter__('ownerDocument', evil)",
      // The classes of the framework's own global object.
      "body.children.constructor.prototype.push = evil", "body.children.constructor.prototype.map = evil",
      "body.attr.constructor.prototype.toString = evil", "body.attr.__proto__.hasOwnProperty = evil",
      "body.attr.constructor.keys = evil", "body.attr.constructor.defineProperty = evil",
      "body.children.constructor.isArray = evil",
      "body.ref.constructor.prototype.slice = evil; weex.requireModule.constructor.prototype.call = evil",
      "weex.requireModule.__proto__.apply = evil; weex.requireModule.__proto__.bind = evil",
      "body.children[Symbol.iterator]().__proto__.next = evil", "body.attr.__proto__.__proto__ = { nodeType: 9 }",
      "body.attr.__proto__.role = 'body'; body.attr.__proto__.docId = '1'",
      "Object.defineProperty(body.attr.__proto__, 'held', { get: evil, set: evil })",
      "try { document.createElement(Symbol()) } catch (e) { e.constructor.prototype.toString = evil; e.constructor.stackTraceLimit = 0 }",
      // Objects that pages share.
      "weex.isRegisteredModule.call = evil; weex.supports = evil; weex.isRegisteredModule = evil",
      "weex.requireModule('echo').back = evil; weex.requireModule('echo').__proto__.back = evil",
      // Getters, proxies and conversions that run while a native function reads.
      "body.setAttr('x', { get y() { document.constructor.prototype.createElement = evil; return 1 } })",
      "body.setAttr('x', new Proxy({}, { ownKeys: evil, get: evil, has: evil, getPrototypeOf: evil }))",
      "weex.requireModule('echo').back(new Proxy([], { get: evil }))",
      "body.appendChild({ nodeType: 1, get ref() { return evil() }, children: body.children })",
      "document.createElement({ toString: evil }); weex.supports({ [Symbol.toPrimitive]: evil })",
      "weex.requireModule({ toString: function () { return '__proto__' } }); weex.requireModule({ [Symbol.toPrimitive]: evil })",
      "document.id = 'victim'; document.listener.id = 'victim'; document.taskCenter.id = 'victim'; add('p')",
      "document.listener.__proto__.id = 'victim'; new document.constructor('victim', '', document.taskCenter).documentElement.appendChild(document.createElement('p'))",
      "__WEEX_CALL_JAVASCRIPT__.call(null, 'victim', []); __WEEX_CALL_JAVASCRIPT__([{ method: 'fireEvent', args: ['_root', 'click', {}] }])",
      // The framework's global object.
      "weex.requireModule.constructor('return this')().callJS = evil", "body.fireEvent.constructor('return this')()",
      "(function () { return this }).call.call(weex.requireModule.constructor, null, 'return this')",
      "weex.requireModule.call(null).constructor; (0, document.createElement)('x')",
      "weex.requireModule.caller.constructor('return this')(); weex.requireModule.arguments",
      "Reflect.construct(weex.requireModule.constructor, ['return this'], Function)()",
      "weex.requireModule.bind.constructor('return this')(); weex.requireModule.constructor.constructor('return this')()",
      "(async function () {}).constructor.call.call(Object.getPrototypeOf(weex.requireModule).constructor, 0, 'return this')()",
    ])
  func isolation(_ attack: String) async throws {
    let group = try await Self.group()
    let expected = try await Self.open("alone", Self.victim, in: try await Self.group())
    let before = try await Self.open("victim", Self.victim, in: group)
    _ = try await Self.open(
      "attacker",
      """
      function evil() { throw new Error('evil') }
      try { \(attack) } catch (e) {}
      setTimeout(function () { try { \(attack) } catch (e) {} }, 1)
      """, in: group)
    _ = try? await group.fireTimer("attacker", 1)
    let after = try await Self.open("later", Self.victim, in: group)
    for outcome in [before, after] {
      #expect(outcome.failure == nil)
      #expect(outcome.exceptions == [])
      #expect(outcome.commands.map(\.shape) == expected.commands.map(\.shape))
      #expect(outcome.calls.count == expected.calls.count)
    }
    // The page that was open already answers as before.
    let clicked = try await group.call(
      "victim", [["method": "fireEvent", "args": [.string(before.textRef), "click", [:]]]])
    #expect(clicked.failure == nil)
    #expect(clicked.commands == [.updateAttributes(before.textRef, ["value": "clicked click"]), .updateFinish])
  }

  @Test("the framework's global object is out of reach")
  func frameworkGlobal() async throws {
    let group = try await Self.group()
    let outcome = try await Self.open(
      "a",
      """
      var said = []
      ;[weex.requireModule, document.createElement, body.appendChild, weex.requireModule('echo').back,
        BroadcastChannel, __WEEX_CALL_JAVASCRIPT__].forEach(function (f) {
        try { said.push(typeof f.constructor('return this')().callNativeModule) } catch (e) { said.push(e.message) }
      })
      body.setAttr('said', said.join(';'))
      """, in: group)
    let said = outcome.commands.compactMap { command in
      if case .updateAttributes(_, let changes) = command { changes["said"]?.string } else { nil }
    }
    #expect(said == [Array(repeating: "code may not be made of text here", count: 6).joined(separator: ";")])
  }

  @Test("a page's functions act for the page, whoever calls them")
  func ownership() async throws {
    let group = try await Self.group()
    // One page's timer and log, called while the other runs, as a faulty framework might.
    _ = try await Self.open("a", "document.taskCenter.registerHook('c', 't', 'h', function () {})", in: group)
    let b = try await Self.open("b", "console.log('mine'); setTimeout(function () {}, 1)", in: group)
    #expect(b.logs.map(\.text) == ["mine"])
    #expect(b.timers.count == 1)
    let a = try await group.call("a", [["method": "componentHook", "args": ["c", "t", "h", []]]])
    #expect(a.logs.isEmpty && a.timers.isEmpty)
  }

  @Test("a page that is stopped leaves the others running")
  func stopping() async throws {
    let group = try await Self.group()
    _ = try await Self.open("victim", Self.victim, in: group)
    let stopped = try await Self.open("attacker", "for (;;) { document.createElement('p') }", in: group)
    #expect(stopped.failure == .timeLimit(.seconds(2)))
    #expect(try await Self.open("later", Self.victim, in: group).failure == nil)
  }
}

extension RenderCommand {
  /// The command without refs, which count up from page to page.
  fileprivate var shape: String { short.replacing(#/\b\d+\b/#, with: "#") }
}

extension EntryOutcome {
  /// The ref of the first text.
  fileprivate var textRef: String {
    for case .addElement(_, let element, _) in commands where element.type == "text" { return element.ref }
    return ""
  }
}
