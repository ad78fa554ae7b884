import HTTPTransport
import ScriptEngine

extension PageInstance {
  /// Loads the sources of new elements and of those whose `src` has changed, and drops those of removed elements.
  func followSources(_ commands: [RenderCommand]) {
    var hasRemovals = false
    for command in commands {
      switch command {
      case .createBody(let element), .addElement(_, let element, _): load(element)
      case .updateAttributes(let ref, let changes):
        if changes["src"] != nil { loadSource(of: ref) }
        // The script's later data replaces what methods have made of the former.
        if changes["listData"] != nil { listData[ref] = nil }
      case .removeElement: hasRemovals = true
      default: break
      }
    }
    if hasRemovals { forgetSources() }
    followComponents()
  }

  /// Loads the sources of a description's elements, parents first, without recursion.
  private func load(_ description: ElementDescription) {
    var waiting = [description]
    while let next = waiting.popLast() {
      if Self.sourceTypes.contains(next.type) { loadSource(of: next.ref) }
      if !registry.components.has(next.type) { note(.component(next.type)) }
      if next.attributes["@templateId"] != nil { hasCellComponents = true }
      waiting += next.children
    }
  }

  /// The largest number of parts that are reported: a script may make up names.
  private static let missingLimit = 200

  /// Reports a part that is not registered, once.
  func note(_ part: MissingPart) {
    guard missing.count < Self.missingLimit, missing.insert(part).inserted else { return }
    feed.send(.missing(part))
  }

  private static let sourceTypes: Set<String> = ["image", "img", "embed", "web"]

  private func loadSource(of ref: String) {
    switch tree[ref]?.type {
    case "image", "img": loadImage(of: ref)
    case "embed": loadEmbedded(of: ref)
    case "web": loadDocument(of: ref)
    default: break
    }
  }

  private func forgetSources() {
    for (ref, task) in sourceTasks where tree[ref] == nil {
      task.cancel()
      sourceTasks[ref] = nil
    }
    for ref in documents.keys where tree[ref] == nil { documents[ref] = nil }
    if let focusedInput, tree[focusedInput] == nil { self.focusedInput = nil }
    for (ref, page) in embedded where tree[ref] == nil {
      embedded[ref] = nil
      Task { await page.destroy() }
    }
  }

  /// The element's new source, as the page wrote it; `nil` if there is nothing to load.
  func newSource(of ref: String) -> String? {
    guard let element = tree[ref] else { return nil }
    let source = element.attributes["src"]?.string ?? ""
    guard element.source?.url != source else { return nil }
    sourceTasks.removeValue(forKey: ref)?.cancel()
    if source.isEmpty { setSource(nil, of: ref) }
    return source.isEmpty ? nil : source
  }

  func setSource(_ state: SourceState?, of ref: String) {
    tree.setSource(state, of: ref)
    if snapshot == nil { feed.send(.source(ref: ref, state)) }
  }

  /// Fires an event on an element, if the script listens to it.
  func tell(_ ref: String, _ type: String, _ event: ScriptValue) async {
    guard tree[ref]?.events.contains(type) == true else { return }
    try? await fireEvent(ref, type, event)
  }
}
