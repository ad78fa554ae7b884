import Foundation
import LivePages
import PageKit
import PageTesting
import Testing

/// A page of this process as its viewers see it.
struct LivePageTests {
  /// A page of a script, its live page, and the patches that were posted, as texts.
  ///
  /// - Parameter former: a former run of the page, whose pictures it takes over.
  @PageActor private static func following(
    _ script: String, after former: PageInstance? = nil,
    _ body: (PageInstance, LivePage, Monitor<[String]>) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    let host = try PageHost(HostConfiguration(store: StoreDirectory(folder.file("store"))))
    let page = host.page()
    if let former { page.takePictures(of: former) }
    let source =
      "// { \"framework\": \"Vanilla\" }\nvar d = weex.document, b = d.createBody('div')\n"
      + "d.documentElement.appendChild(b)\n" + script
    try await page.render(source, at: try #require(PageURL("http://127.0.0.1:9/b/page.js")))
    let patches = Monitor<[String]>([])
    let live = LivePage(page, resources: "/r?url=") { patch in
      patches.change { $0.append(String(decoding: patch, as: UTF8.self)) }
    } room: {
    }
    try await body(page, live, patches)
    live.stop()
    await page.destroy()
    await host.shutDown()
  }

  @PageActor private static func view(of live: LivePage) -> String { String(decoding: live.view, as: UTF8.self) }

  private static let counter = """
    var n = 0, t = d.createElement('text', { attr: { value: 'clicks: 0' } })
    t.addEvent('click', function () { n += 1; t.setAttr('value', 'clicks: ' + n) })
    b.appendChild(t)
    """

  @Test("a view has the page as HTML, and an event is followed by one patch")
  @PageActor func patches() async throws {
    try await Self.following(Self.counter) { page, live, patches in
      let view = try JSONValue(reading: live.view)
      guard case .object(let members) = view, case .string(let html)? = members["html"] else {
        Issue.record("the view is \(view)")
        return
      }
      #expect(html.contains("clicks: 0") && members["number"] == .integer(0))
      let ref = try #require(page.tree.first(.type("text"))).ref
      try await page.fireEvent(inPreview: ref, "click", [:], changes: .undefined)
      try await patches.wait(within: .seconds(20)) { !$0.isEmpty }
      #expect(patches.read(\.self) == [#"{"number":1,"steps":[["text","\#(ref)","clicks: 1"]]}"#])
    }
  }

  @Test("another run of a page begins with a patch of what differs, which has its number")
  @PageActor func otherRun() async throws {
    try await Self.following(Self.counter) { former, live, patches in
      let field = "b.appendChild(d.createElement('input'))\n"
      try await Self.following(field + Self.counter.replacing("clicks: 0", with: "taps: 0")) { page, _, _ in
        let next = LivePage(page, after: live, run: 7) { patch in
          patches.change { $0.append(String(decoding: patch, as: UTF8.self)) }
        } room: {
        }
        let (text, input) = (
          try #require(page.tree.first(.type("text"))), try #require(page.tree.first(.type("input")))
        )
        let patch = try #require(patches.read(\.first))
        #expect(patches.read(\.count) == 1 && patch.contains(#""number":1,"run":7,"#), "\(patch)")
        #expect(patch.contains(#"["text","\#(text.ref)","taps: 0"]"#), "\(patch)")
        #expect(patch.contains(#"data-ref=\"\#(input.ref)\""#) && !patch.contains("remove"), "\(patch)")
        #expect(Self.view(of: next).contains(#""number":1,"#))
        // What becomes of the former run is told to no viewer.
        let ref = try #require(former.tree.first(.type("text"))).ref
        try await former.fireEvent(inPreview: ref, "click", [:], changes: .undefined)
        try await page.fireEvent(inPreview: text.ref, "click", [:], changes: .undefined)
        try await patches.wait(within: .seconds(20)) { $0.count == 2 }
        #expect(patches.read(\.last) == #"{"number":2,"steps":[["text","\#(text.ref)","clicks: 1"]]}"#)
        next.stop()
      }
    }
  }

  @Test("a picture that cannot be loaded stays away in another run, and its viewers are told when it comes")
  @PageActor func failedPicture() async throws {
    let origin = try await FaultOrigin.start()
    let script = "b.appendChild(d.createElement('image', { attr: { src: '\(origin.url(for: "/a.png"))' } }))\n"
    try await Self.following(script) { former, live, patches in
      try await patches.wait(within: .seconds(20)) { $0.contains { $0.contains("data-failed") } }
      let changed = script + "b.appendChild(d.createElement('text', { attr: { value: 'new' } }))"
      try await Self.following(changed, after: former) { page, _, _ in
        let count = patches.read(\.count)
        let next = LivePage(page, after: live, run: 7) { patch in
          patches.change { $0.append(String(decoding: patch, as: UTF8.self)) }
        } room: {
        }
        let patch = try #require(patches.read { $0.dropFirst(count).first })
        #expect(patch.contains("new") && !patch.contains("remove") && !patch.contains("w-image"), "\(patch)")
        let picture: [UInt8] =
          [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [0, 0, 0, 3, 0, 0, 0, 2]
        origin.serve("/a.png", picture)
        page.askForFailedPictures()
        try await patches.wait(within: .seconds(20)) { $0.last?.contains("<img") == true }
        next.stop()
      }
    }
    try await origin.stop()
  }

  @Test("changes that come together are one patch, and a view has the number of the last one")
  @PageActor func together() async throws {
    try await Self.following(Self.counter) { page, live, patches in
      let ref = try #require(page.tree.first(.type("text"))).ref
      for _ in 0..<5 { try await page.fireEvent(inPreview: ref, "click", [:], changes: .undefined) }
      let view = Self.view(of: live)
      let count = patches.read(\.count)
      #expect(view.contains("clicks: 5") && view.contains("\"number\":\(count)") && (1...5).contains(count))
      #expect(patches.read { $0.last?.contains("clicks: 5") } == true)
      // What was viewed is not posted again.
      let later = Self.view(of: live)
      #expect(!later.contains("\"number\":\(count + 1)"))
    }
  }

  @Test("URLs in elements lead to the host")
  @PageActor func resources() async throws {
    let script = "b.appendChild(d.createElement('image', { attr: { src: 'a.png' } }))"
    try await Self.following(script) { _, live, _ in
      let view = Self.view(of: live)
      #expect(view.contains("/r?url=http%3A%2F%2F127.0.0.1%3A9%2Fb%2Fa.png"))
    }
  }

  @Test("a picture that has come changes nothing for viewers, and one that cannot be loaded does")
  func pictures() {
    let url = "a.png"
    #expect(!PageEvent.image(ref: "1", .loaded(url: url, "png", nil, .none)).changesPreview)
    #expect(PageEvent.image(ref: "1", .failed(url: url, reason: "404")).changesPreview)
    #expect(PageEvent.image(ref: "1", .loading(url: url)).changesPreview)
  }

  @Test("contents of a page come after the document's script, and do not have its nonce")
  func document() throws {
    let view = Array(
      #"{"number":3,"title":"</title><script>","styles":"</style><i>","class":"a\"b","html":"<p>hello</p>"}"#.utf8)
    let document = try LiveDocument(
      page: "p1", run: 5, view: view, position: 7, request: .object(["name": .string("ho\"me")]), isShared: false,
      nonce: "abc")
    #expect(
      document.html.contains(#"<script nonce="abc" data-page="p1" data-run="5" data-number="3" data-position="7""#))
    #expect(document.html.contains(#"data-request="{&quot;name&quot;:&quot;ho\&quot;me&quot;}" data-shared="""#))
    #expect(document.html.contains("&lt;/title&gt;&lt;script&gt;") && document.html.contains(#"class="a&quot;b""#))
    #expect(document.html.ranges(of: "abc").count == 1)
    #expect(document.policy.contains("script-src 'nonce-abc';") && document.policy.contains("form-action 'none'"))
    let script = try #require(document.html.firstRange(of: "</script>"))
    #expect(!document.html[..<script.lowerBound].contains("hello"))
    #expect(LiveDocument.nonce() != LiveDocument.nonce())
  }
}
