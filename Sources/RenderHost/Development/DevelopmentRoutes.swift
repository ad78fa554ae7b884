import HTTPTypes
import Hummingbird
import LivePages
import NIOCore
import PageKit
import PageWorkers
import ServerKit

/// The documents of a host for authors: the list of its bundles, a page in several sizes, and the error of a page that has
/// never run. The pages themselves are those of ``LiveRoutes``.
struct DevelopmentRoutes: Sendable {
  let directory: PageDirectory
  let folder: WorkingFolder
  /// Has an event for each save.
  let saves: EventLog
  let reports: FaultReporter
  let sessions: BrowserSessions
  /// `true` if other machines reach the host.
  let isShared: Bool

  /// The sizes of screens that a page is shown in, in points, and the pixels of a point.
  private static let sizes = [(320, 568), (375, 812), (768, 1_024)]
  private static let scale = 2

  func add(to routes: ListenerRoutes) {
    let pages = PageRoutes(directory: directory, bodyLimit: 1 << 20)
    var live = LiveRoutes(pages: pages, sessions: sessions)
    live.opening = {
      let place = saves.lastID
      return { await failed($0, $1, after: place) }
    }
    // The app shows no ticket, and there is none for this machine alone.
    if isShared { routes.router.add(middleware: PlaygroundSocket(changes: saves)) }
    routes.add(.pages) { pages.add(to: $0) }
    routes.add(.pages, sessions: sessions) { router in
      live.add(to: router)
      live.addStream(to: router)
      router.get("/") { _, _ in index() }
      if !isShared { addBundles(to: router, pages) }
      router.get("/sizes/**") { request, context in
        try await pages.answer(context) { try sizes(request) }
      }
      StepRoutes(directory: directory, folder: folder, pages: pages).add(to: router)
      router.get("/saves") { request, _ in pages.events(of: saves, for: request) }
    }
    if isShared { routes.add(.bundles) { addBundles(to: $0, pages) } }
    InspectorRoutes(directory: directory, isSecure: false, group: .pages).add(to: routes)
  }

  private func addBundles(to router: some RouterMethods<HostRequestContext>, _ pages: PageRoutes) {
    router.get("/bundles/**") { request, context in
      try await pages.answer(context) { try bundle(request) }
    }
  }

  // MARK: Documents

  private func index() -> Response {
    let listing = folder.bundles()
    if listing.names.count == 1, let name = listing.names.first {
      return Response(
        status: .seeOther, headers: [.location: "/live/\(name.percentEncoded)", .cacheControl: "no-store"])
    }
    let rows = listing.names.map { name in
      let path = name.percentEncoded
      return
        "<li><a href=\"/live/\(path)\">\(name.escaped)</a> <a class=\"sizes\" href=\"/sizes/\(path)\">sizes</a></li>"
    }.joined(separator: "\n")
    let leftOut = listing.leftOut.map { "\n<p>\($0.escaped)</p>" }.joined()
    let steps = directory.configuration.development?.recordings == nil ? "" : "\n<p><a href=\"/steps\">steps</a></p>"
    return Self.document(
      title: "Bundles",
      """
      <h1>\(folder.path.escaped)</h1>
      <ul>
      \(rows)
      </ul>\(leftOut)\(steps)
      """)
  }

  private func sizes(_ request: Request) throws -> Response {
    let name = try Self.name(behind: "/sizes/", request)
    guard folder.url(named: name) != nil else { throw PageFailure.unknownBundle(name) }
    let frames = Self.sizes.map { width, height in
      "<figure><figcaption>\(width) × \(height)</figcaption>"
        + "<iframe src=\"/live/\(name.percentEncoded)?device=\(width)x\(height)@\(Self.scale)\" width=\"\(width)\" height=\"\(height)\"></iframe></figure>"
    }.joined(separator: "\n")
    let choice = "<p><label><input type=\"checkbox\" id=\"all\"> Do in all sizes what is done in one</label></p>"
    return Self.document(title: name, "\(choice)\n<main>\(frames)</main>", script: Self.framesScript)
  }

  /// Gives the frames one stream of patches, and each the others if its events are for all. They are documents of this origin.
  private static let framesScript = """
    window.liveFrames = (() => {
      const heard = new Map();
      let names = [], stream, timer;
      const connect = () => {
        stream?.close();
        stream = undefined;
        if (!heard.size) return;
        const of = [...heard].map(([page, { position }]) => `${page}:${position}`).join(",");
        const now = stream = new EventSource(`/patches?of=${of}`);
        const all = (act) => { if (stream === now) for (const one of [...heard.values()]) act(one); };
        for (const name of names) now.addEventListener(name, ({ data }) => {
          const { page, id, details } = JSON.parse(data), one = heard.get(page);
          if (stream !== now) return;
          if (!page) return all((one) => one.told(name, 0, {}));
          if (id && one) one.position = id;
          one?.told(name, id, details);
        });
        now.onopen = () => all((one) => one.connected(true));
        now.onerror = () => {
          all((one) => one.connected(false));
          now.close();
          if (stream === now) later(1000);
        };
      };
      const later = (time) => { clearTimeout(timer); timer = setTimeout(connect, time); };
      return {
        others(from) {
          const frames = document.getElementById("all").checked ? [...document.querySelectorAll("iframe")] : [];
          return frames.map((frame) => frame.contentWindow).filter((one) => one !== from);
        },
        listen(page, position, all, told, connected) {
          const one = { position, told, connected };
          names = all;
          heard.set(page, one);
          later(10);
          return {
            readyState: EventSource.OPEN,
            close() {
              this.readyState = EventSource.CLOSED;
              if (heard.get(page) !== one) return;
              heard.delete(page);
              later(10);
            },
          };
        },
      };
    })();
    """

  /// A bundle or another file of the folder, for devices and for the pages' own requests.
  private func bundle(_ request: Request) throws -> Response {
    let name = try Self.name(behind: "/bundles/", request)
    guard let url = folder.url(named: name), folder.isAskedFor(url) else { throw PageFailure.unknownBundle(name) }
    let bytes = try folder.load(url).bytes
    return Response(
      status: .ok,
      headers: [
        .contentType: "text/javascript; charset=utf-8", .cacheControl: "no-store", .contentLength: "\(bytes.count)",
      ],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  private static func name(behind prefix: String, _ request: Request) throws -> String {
    guard let path = request.uri.path.unescapedPath, path.hasPrefix(prefix) else {
      throw PageFailure.badRequest("the path is not UTF-8")
    }
    return String(path.dropFirst(prefix.count))
  }

  /// The document in the place of a page that does not run. It is loaded again when a file is saved.
  ///
  /// - Parameter place: the last save before it was opened.
  private func failed(_ failure: PageFailure, _ request: PageRequest, after place: Int) async -> Response {
    var report = FaultReport(message: "\(failure)")
    let location = directory.locations.location(of: request)
    let url = directory.locations.source(of: location)?.url
    if case .script(_, let fault) = failure {
      report = await reports.report(fault, url.flatMap { try? folder.load($0) }, location)
    }
    reports.tellAuthor(report, of: url, location)
    return Self.document(
      title: "Error", status: failure.status,
      "<div class=\"live-fault\">\(Self.html(report))</div>",
      script: "new EventSource('/saves?lastEventId=\(place)').addEventListener('saved', () => location.reload());")
  }

  private static func html(_ report: FaultReport) -> String {
    let lines = report.lines.map { line in
      let text = "\(line.number)  \(line.text)".escaped
      return line.number == report.line ? "<b>\(text)</b>" : text + "\n"
    }.joined()
    return "<h2>\(report.message.escaped)</h2>" + (report.place.map { "<p>\($0.escaped)</p>" } ?? "")
      + (lines.isEmpty ? "" : "<pre>\(lines)</pre>")
      + (report.stack.isEmpty ? "" : "<pre>\(report.stack.joined(separator: "\n").escaped)</pre>")
  }

  static func document(
    title: String, status: HTTPResponse.Status = .ok, _ body: String, script: String = ""
  ) -> Response {
    let nonce = LiveDocument.nonce()
    let html = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
      <title>\(title.escaped)</title>
      <style>
      body { margin: 24px; font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff }
      h1 { font-size: 18px } ul { list-style: none; padding: 0 } li { padding: 4px 0 } a { color: #0a58ca }
      .sizes { color: #777; font-size: 13px; margin-left: 12px }
      main { display: flex; flex-wrap: wrap; gap: 24px } figure { margin: 0 } figcaption { color: #777; font-size: 13px }
      iframe { border: 1px solid #ccc; border-radius: 8px }
      .steps { display: flex; flex-wrap: wrap; gap: 24px } .steps section { flex: 1 1 320px; min-width: 0 }
      .steps input { width: 100% } .steps ol { height: 560px; overflow: auto; font-size: 14px; list-style: decimal }
      .steps li { cursor: pointer } .steps .shown { background: #dbe8ff } .steps .failed { color: #b00020 }
      .steps h2 { font-size: 16px; margin: 0 0 8px; overflow-wrap: anywhere } .steps h3 { font-size: 13px; margin: 12px 0 4px }
      .steps pre { margin: 0; max-height: 260px; overflow: auto; font-size: 12px }
      \(LiveDocument.faultStyles)
      </style>
      <script nonce="\(nonce)">
      const address = new URL(location.href);
      // A ticket has no place in an address that is kept.
      address.searchParams.delete("\(BrowserSessions.parameter)");
      history.replaceState(null, "", address.pathname + address.search);
      \(script)
      </script></head>
      <body>\(body)</body></html>

      """
    let policy = [
      "default-src 'none'", "style-src 'unsafe-inline'", "script-src 'nonce-\(nonce)'", "connect-src 'self'",
      "frame-src 'self'", "base-uri 'none'", "form-action 'none'",
    ].joined(separator: "; ")
    return Response(
      status: status,
      headers: [
        .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .contentSecurityPolicy: policy,
        .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
      ], body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
  }
}
