import Foundation
import HTTPTransport
import ScriptEngine

extension ComponentTable {
  /// The largest number of items that the methods make a list of.
  fileprivate static let itemLimit = 100_000

  /// The methods of `recycle-list`. Where both SDKs differ, both forms of a call have their effect.
  static let recycleListMethods: [String: ModuleMethod] = [
    "resetLoadmore": ComponentTable.resetLoadmore,
    "setListData": changing { items, call in items = call[0].array ?? items },
    // Android takes several items, iOS one.
    "appendData": changing { items, call in items += call[0].array ?? call.items(at: 0) },
    // iOS has no index.
    "appendRange": changing { items, call in
      if let range = call[0].array { items += range } else { insert(call[1].array ?? [], into: &items, at: call[0]) }
    },
    "insertRange": changing { items, call in insert(call[1].array ?? [], into: &items, at: call[0]) },
    "insertData": changing { items, call in insert(call.items(at: 1), into: &items, at: call[0]) },
    "updateData": changing { items, call in
      guard let index = call.index(at: 0), items.indices.contains(index), let item = call.items(at: 1).first
      else { return }
      items[index] = item
    },
    "removeData": changing { items, call in
      guard let index = call.index(at: 0), items.indices.contains(index) else { return }
      let count = min(max(1, call.index(at: 1) ?? 1), items.count - index)
      items.removeSubrange(index..<(index + count))
    },
    "moveData": changing { items, call in
      guard let from = call.index(at: 0), let to = call.index(at: 1), items.indices.contains(from),
        items.indices.contains(to)
      else { return }
      items.insert(items.remove(at: from), at: to)
    },
    "scrollTo": scroll, "scrollToElement": scroll,
    "queryElement": query { $0.first ?? [:] },
    "queryElementAll": query { .array($0) },
    "closest": .answering(at: 2) { call, page in
      let tree = page.expandedTree.tree
      var next = call[0].reference.flatMap { tree[$0] }?.parent.flatMap { tree[$0] }
      let matches = selector(call[1].string ?? "")
      while let element = next, !matches(element) {
        next = element.type == "recycle-list" ? nil : element.parent.flatMap { tree[$0] }
      }
      return next?.queryResult ?? [:]
    },
  ]

  private static func changing(
    _ change: @escaping @Sendable (inout [ScriptValue], ModuleCall) -> Void
  ) -> ModuleMethod {
    .deferred { call, page in try await page.changeListData(of: call.ref ?? "") { change(&$0, call) } }
  }

  /// Inserts items. An index that the list does not have changes nothing.
  private static func insert(_ added: [ScriptValue], into items: inout [ScriptValue], at place: ScriptValue) {
    guard let index = place.wholeNumber, (0...items.count).contains(index) else { return }
    items.insert(contentsOf: added, at: index)
  }

  /// Scrolls to the cell of an index, or to an element of a cell, as `dom.scrollToElement` does.
  private static let scroll = ModuleMethod.deferred { call, page in
    guard let ref = call.ref else { return }
    if let index = call.index(at: 0) {
      let tree = page.expandedTree.tree
      let cells = tree[ref]?.children.filter { tree[$0]?.type == "cell" } ?? []
      if cells.indices.contains(index) { page.scroll(to: cells[index], call[1], isAnimated: false) }
    } else if let target = call[0].string, page.expandedTree.tree[target] != nil {
      page.scroll(to: target, call[1])
    }
  }

  /// Answers with the elements below one of a cell that a selector names.
  private static func query(_ answer: @escaping @Sendable ([ScriptValue]) -> ScriptValue) -> ModuleMethod {
    .answering(at: 2) { call, page in
      let below = page.expandedTree.tree.preorder(from: call[0].reference ?? "").dropFirst()
      return answer(below.filter(selector(call[1].string ?? "")).map(\.queryResult))
    }
  }

  /// Reads `[name]` or `[name=value]`: all that both SDKs know of selectors. Other texts match no element.
  private static func selector(_ text: String) -> (ElementTree.Element) -> Bool {
    let parts = text.dropFirst().dropLast().split(separator: "=", maxSplits: 1)
    guard text.hasPrefix("["), text.hasSuffix("]"), let name = parts.first.map(String.init) else {
      return { _ in false }
    }
    let value = parts.dropFirst().first.map { $0.filter { $0 != "\"" && $0 != "'" } }
    return { element in
      guard let found = element.attributes[name] else { return false }
      return value == nil || found.plainText == value
    }
  }
}

extension ElementTree.Element {
  fileprivate var queryResult: ScriptValue {
    ["attrs": .object(attributes), "type": .string(type), "ref": .string(ref)]
  }
}

extension ModuleCall {
  fileprivate func index(at place: Int) -> Int? { self[place].wholeNumber }

  /// An item; none if the argument is nothing, which frameworks write as an empty text.
  fileprivate func items(at place: Int) -> [ScriptValue] {
    self[place].isNothing || self[place] == "" ? [] : [self[place]]
  }
}

extension ScriptValue {
  /// A whole number that is written as a number or as text.
  fileprivate var wholeNumber: Int? { int ?? string.flatMap { Int($0) } }
}

extension PageInstance {
  /// Changes the items of a list. The changes of one entry of the script are one command.
  ///
  /// - Throws: ``DescribedError`` if the items become too many; the last ones are left out.
  fileprivate func changeListData(of ref: String, _ change: (inout [ScriptValue]) -> Void) async throws {
    let isFirst = listData[ref] == nil
    var items = listData.removeValue(forKey: ref) ?? tree[ref]?.attributes["listData"]?.array ?? []
    let limit = max(items.count, ComponentTable.itemLimit)
    change(&items)
    let isTooLong = items.count > limit
    if isTooLong { items.removeSubrange(limit...) }
    listData[ref] = items
    if isFirst {
      // The other calls of the entry come first.
      await Task.yield()
      if let items = listData.removeValue(forKey: ref), tree[ref] != nil {
        apply([.updateAttributes(ref, ["listData": .array(items)])])
        followLayout()
      }
    }
    if isTooLong { throw DescribedError("a list has at most \(limit) items: the last ones are left out") }
  }

  // MARK: Cells

  /// The tree with cells, and the components in them. It is made once after each change of the tree.
  var expandedTree: (tree: ElementTree, components: [CellComponent]) {
    if let expansion { return expansion }
    // A tree without cells is not kept: its next change would copy it.
    guard let made = working({ tree.expansion }) else { return (tree, []) }
    (expansion, expansionCount) = (made, expansionCount + 1)
    return made
  }

  /// The ref of a cell's template, with the arguments that the template binds to an event, and the id of the component
  /// that the cell's element belongs to.
  typealias EventTarget = (ref: String, arguments: ScriptValue?, component: String?)

  /// The target of an event as of now.
  ///
  /// - Parameter ref: the ref of an element, or of a cell.
  func eventTarget(_ ref: String, _ type: String) -> EventTarget {
    guard tree[ref] == nil, let template = ref.split(separator: "@", maxSplits: 1).first.map(String.init),
      tree[template] != nil
    else { return (ref, tree[ref]?.eventArguments[type], nil) }
    let cell = expandedTree.tree[ref]
    return (template, cell?.eventArguments[type], cell?.component)
  }

  // MARK: Components in cells

  /// Makes, updates and ends the components that are in cells, one step at a time, until they are those of the tree.
  func followComponents() {
    guard rerun == nil, hasCellComponents, componentTask == nil else { return }
    let key = UUID()
    componentTask = key
    let task = Task { @PageActor [weak self] in
      defer {
        self?.calls[key] = nil
        if self?.componentTask == key { self?.componentTask = nil }
      }
      while let self, !Task.isCancelled, case let hooks = dueHooks(), !hooks.isEmpty {
        do {
          try await enter(.hooks(hooks))
        } catch {
          // The page has ended, or its failure is reported.
          return
        }
      }
    }
    // Waited for as other calls are.
    calls[key] = (task, false)
  }

  /// The hooks that are due, after which the components are those of the tree: removed ones are detached, new ones are
  /// created, and attached when their data is there, and changed properties are passed on.
  func dueHooks() -> [FrameworkGroup.ComponentHook] {
    let (cells, components) = expandedTree
    var hooks: [FrameworkGroup.ComponentHook] = []
    let present = Set(components.map(\.id))
    let gone = cellComponents.keys.sorted().filter { !present.contains($0) }
    for id in gone {
      cellComponents[id] = nil
      hooks.append((target: id, name: "detach", arguments: [[:]], component: id))
    }
    for component in components {
      let id = component.id
      switch cellComponents[id] {
      case nil:
        cellComponents[id] = (component, false)
        hooks.append(
          (
            target: component.template, name: "create", arguments: [.string(id), .object(component.properties)],
            component: id
          ))
      case (let former, false)?:
        // Properties that have changed meanwhile are told in the next step.
        cellComponents[id] = (former, true)
        hooks.append(
          (
            target: id, name: "attach",
            arguments: [
              [
                "virtualComponentId": .string(id), "listRef": .string(component.list),
                "position": .number(Double(component.position)), "refs": cells.references(in: id),
              ]
            ], component: id
          ))
      case (let former, true)? where former.properties != component.properties:
        cellComponents[id] = (component, true)
        hooks.append(
          (
            target: id, name: "syncState", arguments: [.string(id), .object(component.properties)], component: id
          ))
      default: break
      }
    }
    if !gone.isEmpty { forgetComponentData(of: gone) }
    return hooks
  }

  /// Takes over the data of a component that is in a cell. The changes of one entry of the script are one command.
  func update(_ data: [String: ScriptValue], ofComponent id: String) async {
    guard cellComponents[id] != nil else { return }
    let isFirst = changedComponents.isEmpty
    changedComponents[id, default: [:]].merge(data) { $1 }
    guard isFirst else { return }
    await Task.yield()
    let changed = changedComponents
    changedComponents = [:]
    setComponentData(changed)
    followLayout()
  }

  /// Takes over the data of components, of those that are in cells. Other members of their data stay.
  func setComponentData(_ data: [String: [String: ScriptValue]]) {
    var lists: [String: [String: ScriptValue]] = [:]
    for (id, members) in data {
      guard let list = cellComponents[id]?.component.list, let element = tree[list] else { continue }
      var all = lists[list] ?? element.attributes[CellComponent.dataAttribute]?.object ?? [:]
      all[id] = .object((all[id]?.object ?? [:]).merging(members) { $1 })
      lists[list] = all
    }
    apply(
      lists.sorted { $0.key < $1.key }.map { list, all in
        .updateAttributes(list, [CellComponent.dataAttribute: .object(all)])
      })
  }

  /// Forgets the data of components that have gone: another one may get the place.
  private func forgetComponentData(of ids: [String]) {
    let lists = Set(ids.compactMap { $0.split(separator: "@", maxSplits: 1).first.map(String.init) })
    apply(
      lists.sorted().compactMap { list in
        guard let all = tree[list]?.attributes[CellComponent.dataAttribute]?.object else { return nil }
        let kept = all.filter { cellComponents[$0.key] != nil }
        return .updateAttributes(list, [CellComponent.dataAttribute: .object(kept)])
      })
  }
}

extension ElementTree {
  /// The elements of a component that have an attribute `ref`, by its value.
  fileprivate func references(in component: String) -> ScriptValue {
    var found: [String: [ScriptValue]] = [:]
    // A component's root has the ref of its template with the indexes: `5@9@0.1` is of the element `9@0.1`.
    let root = component.split(separator: "@", maxSplits: 1).dropFirst().first.map(String.init) ?? ""
    for element in preorder(from: root) where element.component == component {
      if let name = element.attributes["ref"]?.plainText { found[name, default: []].append(element.queryResult) }
    }
    return .object(found.mapValues { .array($0) })
  }
}
