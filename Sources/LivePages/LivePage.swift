import HTTPTransport
import PageRuntime
import ScriptEngine

/// Follows a page that runs in this process: gives it as HTML, and then what changes in it.
///
/// A view and each patch have a number; a patch changes the view, or the patch, with the number before its own.
@PageActor package final class LivePage {
  /// The time in which changes become one patch.
  package nonisolated static let interval: Duration = .milliseconds(4)

  private let page: PageInstance
  private let resources: String
  private let post: @Sendable ([UInt8]) -> Void
  private var shown: LiveView
  private let wakes: AsyncStream<Void>
  private let wake: AsyncStream<Void>.Continuation
  private let listener: PageListener
  private var work: Task<Void, Never>?

  /// - Parameters:
  ///   - resources: the text before the percent-encoded URL of a picture or a font.
  ///   - post: takes a patch as JSON. It is called in the order of the patches.
  ///   - room: returns when there is room for another patch. Changes until then are in the next one.
  package convenience init(
    _ page: PageInstance, resources: String, post: @escaping @Sendable ([UInt8]) -> Void,
    room: @escaping @Sendable () async -> Void
  ) {
    let shown = LiveView(page.linkedPreview(resources: resources))
    self.init(page, shown, resources: resources, post: post, room: room)
  }

  /// Goes on with another run of a page: the first patch turns what the viewers have seen of the former one into it. The
  /// former one is no longer followed.
  ///
  /// - Parameter run: the number of the run, which viewers name in their events.
  package convenience init(
    _ page: PageInstance, after former: LivePage, run: UInt64, post: @escaping @Sendable ([UInt8]) -> Void,
    room: @escaping @Sendable () async -> Void
  ) {
    former.stop()
    var shown = former.shown
    post(shown.update(page.linkedPreview(resources: former.resources), ofRun: run))
    self.init(page, shown, resources: former.resources, post: post, room: room)
  }

  private init(
    _ page: PageInstance, _ shown: LiveView, resources: String, post: @escaping @Sendable ([UInt8]) -> Void,
    room: @escaping @Sendable () async -> Void
  ) {
    (self.page, self.shown, self.resources, self.post) = (page, shown, resources, post)
    (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    listener = PageListener(page) { [wake] _, event in
      if event.changesPreview { wake.yield() }
    }
    work = Task { [weak self, wakes] in
      for await _ in wakes {
        try? await Task.sleep(for: Self.interval)
        guard let self, !Task.isCancelled else { return }
        update()
        await room()
      }
    }
  }

  /// The view of the page as it is now, as JSON. Patches up to its number were posted before.
  package var view: [UInt8] {
    update()
    return shown.json
  }

  /// Ends following.
  package func stop() {
    listener.stop()
    wake.finish()
    work?.cancel()
  }

  private func update() {
    listener.renew()
    if let patch = shown.update(page.linkedPreview(resources: resources)) { post(patch) }
  }
}

/// Listens to a page and to those that it embeds, from now on.
@PageActor package final class PageListener {
  private let page: PageInstance
  private let hear: @Sendable (PageInstance, PageEvent) async -> Void
  /// The listeners by the pages' ids.
  private var listeners: [String: Task<Void, Never>] = [:]

  /// - Parameter hear: called with each event of a page, in order.
  package init(_ page: PageInstance, hear: @escaping @Sendable (PageInstance, PageEvent) async -> Void) {
    (self.page, self.hear) = (page, hear)
    renew()
  }

  /// Listens to the pages that are there now.
  package func renew() {
    var present: [String: PageInstance] = [:]
    var waiting = [page]
    while let next = waiting.popLast() {
      present[next.id] = next
      waiting += next.embedded.values
    }
    for id in listeners.keys where present[id] == nil { listeners.removeValue(forKey: id)?.cancel() }
    for (id, page) in present where listeners[id] == nil {
      listeners[id] = Task { [hear, events = page.laterEvents, weak page] in
        for await event in events {
          guard let page else { return }
          await hear(page, event)
        }
      }
    }
  }

  package func stop() {
    for listener in listeners.values { listener.cancel() }
    listeners = [:]
  }
}

/// A page as its viewers see it. A pure value.
struct LiveView {
  private var nodes: PreviewNodes
  private var title: String
  private var styles: String
  private var bodyClass: String
  /// The number of the latest patch.
  private(set) var number: Int64 = 0

  init(_ preview: HTMLPreview) {
    nodes = PreviewNodes(preview)
    (title, styles, bodyClass) = (preview.title, preview.ownStyles, preview.bodyClass)
  }

  /// Takes over what has changed.
  ///
  /// - Returns: the patch as JSON; `nil` if a viewer sees no change.
  mutating func update(_ preview: HTMLPreview) -> [UInt8]? {
    let members = changes(to: preview) { $0.steps(from: $1) }
    return members.isEmpty ? nil : patch(members)
  }

  /// Takes over what differs in another run of the page, whose elements have other refs.
  ///
  /// - Returns: the patch as JSON, with the number of the run.
  mutating func update(_ preview: HTMLPreview, ofRun run: UInt64) -> [UInt8] {
    var members = changes(to: preview) { $0.steps(fromOtherRun: $1) }
    members["run"] = .integer(Int64(clamping: run))
    return patch(members)
  }

  private mutating func changes(
    to preview: HTMLPreview, _ steps: (_ new: PreviewNodes, _ old: PreviewNodes) -> [PreviewStep]
  ) -> [String: JSONValue] {
    let new = PreviewNodes(preview, reusing: nodes)
    let steps = steps(new, nodes)
    nodes = new
    var members: [String: JSONValue] = [:]
    if !steps.isEmpty { members["steps"] = .array(steps.map(\.json)) }
    func take(_ name: String, _ value: String, over known: inout String) {
      guard value != known else { return }
      known = value
      members[name] = .string(value)
    }
    take("title", preview.title, over: &title)
    take("styles", preview.ownStyles, over: &styles)
    take("class", preview.bodyClass, over: &bodyClass)
    return members
  }

  private mutating func patch(_ members: [String: JSONValue]) -> [UInt8] {
    number += 1
    return JSONValue.object(members.merging(["number": .integer(number)]) { $1 }).text
  }

  var json: [UInt8] {
    let members: [String: JSONValue] = [
      "number": .integer(number), "title": .string(title), "styles": .string(styles), "class": .string(bodyClass),
      "html": .string(nodes.html),
    ]
    return JSONValue.object(members).text
  }
}

extension PageEvent {
  /// `false` for an event after which a preview of the page looks as before.
  package var changesPreview: Bool {
    switch self {
    case .log, .message, .exception, .missing, .updateAvailable: false
    // A browser loads the picture by itself.
    case .image(_, .loaded): false
    default: true
    }
  }
}

extension PageInstance {
  /// The HTML of the page, with other URLs in place of the ones that its elements refer to.
  ///
  /// - Parameter prefix: the text before a percent-encoded URL.
  package func linkedPreview(resources prefix: String) -> HTMLPreview {
    let url = url
    return HTMLPreview(
      tree, title: url?.text ?? "page", rules: rules,
      embedded: embedded.mapValues { $0.linkedPreview(resources: prefix) }, viewport: viewport
    ) { reference in
      if reference.isDataURL { return reference }
      guard let target = url.map({ $0.resolving(reference) }) ?? PageURL(reference) else { return nil }
      return prefix + target.text.percentEncoded
    }
  }

  /// Fires an event on an element of a preview: of the page, or of one that it embeds.
  ///
  /// - Parameter ref: the ref in the document: for an embedded page, after those of the elements around it.
  /// - Throws: as `fireEvent`.
  package func fireEvent(inPreview ref: String, _ type: String, _ event: ScriptValue, changes: ScriptValue) async throws
  {
    if let (page, _, inner) = embeddedPage(of: ref) {
      return try await page.fireEvent(inPreview: inner, type, event, changes: changes)
    }
    try await fireEvent(ref, type, event, changes: changes)
  }
}
