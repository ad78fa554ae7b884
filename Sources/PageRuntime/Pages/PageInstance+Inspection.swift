import HTTPTransport
import PageLayout
import ScriptEngine
import Synchronization

/// A question of a debugger to a page.
package enum PageInspection: Codable, Hashable, Sendable {
  /// The elements, with the cells of each `recycle-list` and the elements of embedded pages, whose refs are those of the
  /// page's HTML. The answer is `ElementTree.record`.
  case tree
  /// The place of an element. The answer is an ``InspectedBox``, or `null`.
  case box(ref: String)
  /// Sets attributes of an element and properties of its style, and takes away those that are `null`, as a change that does
  /// not come from the script. The answer is `{}`, or `{"refused": …}` with a sentence.
  case edit(ref: String, attributes: [String: JSONValue], style: [String: JSONValue])
  /// Evaluates an expression in the page's context, as an entry of its script. The answer is `{"result": …}`, or
  /// `{"thrown": …}` with a ``ScriptException``.
  ///
  /// - Parameters:
  ///   - session: the id of the debugger's session, which keeps the objects that it was shown.
  ///   - group: the name under which it releases them together.
  ///   - byValue: `true` if an object is described by its JSON.
  ///   - preview: `true` if an object is described with its first members.
  case evaluate(session: String, String, group: String, byValue: Bool, preview: Bool)
  /// Calls a function in the page's context, as an entry of its script. The answer is that of `evaluate`, or `null` if an
  /// object is not kept.
  ///
  /// - Parameters:
  ///   - on: the handle of the object that is its `this`; `nil` for the global one.
  ///   - arguments: a list of objects with a `value`, an `unserializableValue`, or the handle of an object, `objectId`.
  ///   - group: the group of the result; `nil` for that of the object.
  case call(
    session: String, String, on: String?, arguments: JSONValue, group: String?, byValue: Bool, preview: Bool)
  /// The properties of an object of the session. The answer is `{"result": …}`, or `null` if it is not kept.
  ///
  /// - Parameter withIndexes: `false` to leave out those whose names are indexes, as an array's elements.
  case properties(session: String, handle: String, preview: Bool, withIndexes: Bool)
  /// Releases one of the session's objects, or those of a group, or all.
  case release(session: String, handle: String?, group: String?)
}

/// The place of an element for debuggers, in units of the design.
package struct InspectedBox: Codable, Hashable, Sendable {
  /// The border box on the page.
  package let x, y, width, height: Double
  /// The widths of the borders, and the paddings: top, right, bottom, left.
  package let border, padding: [Double]

  package init(x: Double, y: Double, width: Double, height: Double, border: [Double], padding: [Double]) {
    (self.x, self.y, self.width, self.height) = (x, y, width, height)
    (self.border, self.padding) = (border, padding)
  }

  init(_ box: LayoutBox) {
    func sides(_ insets: LayoutInsets) -> [Double] { [insets.top, insets.right, insets.bottom, insets.left] }
    self.init(
      x: box.pageFrame.x, y: box.pageFrame.y, width: box.pageFrame.width, height: box.pageFrame.height,
      border: sides(box.border), padding: sides(box.padding))
  }

  fileprivate var json: JSONValue {
    .object([
      "x": .number(x), "y": .number(y), "width": .number(width), "height": .number(height),
      "border": .array(border.map { .number($0) }), "padding": .array(padding.map { .number($0) }),
    ])
  }
}

extension PageInstance {
  /// Answers a debugger's question.
  ///
  /// - Returns: JSON.
  /// - Throws: ``ScriptError`` if the page has no script, or its script is stopped.
  package func answer(_ inspection: PageInspection) async throws -> [UInt8] {
    switch inspection {
    case .tree: return inspectedTree.record
    case .box(let ref): return (inspectedBox(ref)?.json ?? .null).text
    case .edit(let ref, let attributes, let style):
      let refusal = edit(ref, attributes.mapValues { ScriptValue($0) }, style.mapValues { ScriptValue($0) })
      if let recorder { await recorder.flush(tree) }
      return JSONValue.object(refusal.map { ["refused": .string($0)] } ?? [:]).text
    case .evaluate, .call, .properties, .release: break
    }
    let id = id
    let answer = Mutex([UInt8]())
    try await enter(nil) { group in
      let (outcome, text) = try await group.inspect(id, inspection)
      answer.withLock { $0 = text }
      return outcome
    }
    if let failure { throw failure }
    return answer.withLock(\.self)
  }

  /// The elements as debuggers see them.
  private var inspectedTree: ElementTree {
    var shown = expandedTree.tree
    for (ref, page) in embedded { shown.embed(page.inspectedTree, in: ref) }
    return shown
  }

  /// The embedded page of an element's ref in the HTML of this page; `nil` for an element of this page itself.
  ///
  /// - Returns: the page, the ref of the element that shows it, and the ref in its own HTML.
  package func embeddedPage(of ref: String) -> (page: PageInstance, element: String, ref: String)? {
    guard tree[ref] == nil, let (element, page) = embedded.first(where: { ref.hasPrefix($0.key + "/") }) else {
      return nil
    }
    return (page, element, String(ref.dropFirst(element.count + 1)))
  }

  private func inspectedBox(_ ref: String) -> InspectedBox? {
    guard let (page, element, inner) = embeddedPage(of: ref) else { return layout.box(ref).map { InspectedBox($0) } }
    guard let frame = layout.box(element)?.pageFrame, let box = page.inspectedBox(inner) else { return nil }
    let scale = 1 / page.unitsPerUnitAround
    return InspectedBox(
      x: frame.x + box.x * scale, y: frame.y + box.y * scale, width: box.width * scale, height: box.height * scale,
      border: box.border.map { $0 * scale }, padding: box.padding.map { $0 * scale })
  }

  /// The largest number of attributes, or of properties of its style, that an edited element has.
  private static let editLimit = 1_000

  /// Changes an element for a debugger. Its script does not hear of it; a recording has it as a change that does not come
  /// from the script.
  ///
  /// - Returns: the reason for which nothing was changed; `nil` if it was.
  private func edit(
    _ ref: String, _ attributes: [String: ScriptValue], _ style: [String: ScriptValue]
  ) -> String? {
    if let (page, _, inner) = embeddedPage(of: ref) { return page.edit(inner, attributes, style) }
    guard let element = tree[ref] else {
      return expandedTree.tree[ref] == nil
        ? "the page no longer has the element"
        : "the element is of a cell, which its list makes of a template: edit that"
    }
    for (kind, present, changes) in [
      ("attributes", element.attributes, attributes), ("properties of its style", element.style, style),
    ] {
      let count = present.count + changes.keys.count { present[$0] == nil }
      guard count <= Self.editLimit else {
        return "the element would have \(count) \(kind), and the limit is \(Self.editLimit)"
      }
    }
    var commands: [RenderCommand] = []
    if !attributes.isEmpty { commands.append(.updateAttributes(ref, attributes)) }
    if !style.isEmpty { commands.append(.updateStyle(ref, style)) }
    apply(commands)
    followLayout()
    return nil
  }
}
