import Foundation
import PageTesting
import TestSupport

/// A headless browser that measures a document.
struct Chromium {
  /// An element as the browser lays it out.
  struct Box: Decodable {
    let ref: String
    let tag: String
    /// The box, from the window's top left corner.
    let x, y, width, height: Double
    /// The part that no ancestor cuts off.
    let left, right, top, bottom: Double
    /// `true` if neither the element nor an ancestor is hidden or transparent.
    let isShown: Bool
    /// `true` if no other element lies above the middle of the box.
    let isTopmost: Bool
    /// The element's own text, without its children's.
    let text: String
    let value: String?
    let placeholder: String?
    /// The natural width of an image's picture.
    let naturalWidth: Double?
    /// `true` if the contents are wider than the box.
    let overflows: Bool
    /// Properties of the computed style.
    let style: [String: String]

    var isCutAway: Bool { right - left < 1 || bottom - top < 1 }
  }

  struct Page: Decodable {
    let boxes: [Box]
    /// Elements of the document that are not from an element of the page.
    let strangers: [String]
    /// Attributes that would run.
    let handlers: [String]
    let hasRun: Bool
    let styleSheets: Int
    let requests: [String]
    let fonts: [String]

    subscript(ref: String) -> Box? { boxes.first { $0.ref == ref } }
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private static let program = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Opens a document and measures its elements.
  ///
  /// - Parameter guarded: keeps the document's policy against scripts; without it only its escaping protects it.
  static func open(_ html: String, width: Int = 750, height: Int = 1_600, guarded: Bool = true) async throws -> Page {
    guard let program else { throw Failure(description: "there is no chromium: run scripts/setup test") }
    let folder = try TemporaryDirectory()
    var html = html
    // Before the policy, which holds for the rest of the document.
    html = html.replacing(
      "<meta charset=\"utf-8\">", with: "<meta charset=\"utf-8\"><script>\(script)</script>", maxReplacements: 1)
    if !guarded { html = html.replacing("http-equiv", with: "data-was") }
    let file = folder.file("page.html")
    try Data(html.utf8).write(to: URL(fileURLWithPath: file))
    let chromium = try RunningProgram(
      program,
      [
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
        "--disable-background-networking", "--user-data-dir=\(folder.file("profile"))",
        "--window-size=\(width),\(height)", "--dump-dom", "file://\(file)",
      ])
    let text = await chromium.result(within: .seconds(120)).output
    guard let start = text.firstRange(of: "<pre id=\"measured\">")?.upperBound,
      let end = text[start...].firstRange(of: "</pre>")?.lowerBound,
      let data = Data(base64Encoded: String(text[start..<end]))
    else { throw Failure(description: "chromium measured nothing: \(text.suffix(300))") }
    return try JSONDecoder().decode(Page.self, from: data)
  }

  private static let script = """
    addEventListener('load', function () {
      var ran = window.ran === true
      function box (e) {
        var r = e.getBoundingClientRect(), c = { left: r.left, right: r.right, top: r.top, bottom: r.bottom }
        for (var p = e.parentElement; p && p !== document.body; p = p.parentElement) {
          var s = getComputedStyle(p), q = p.getBoundingClientRect()
          if (s.overflowX !== 'visible') { c.left = Math.max(c.left, q.left); c.right = Math.min(c.right, q.right) }
          if (s.overflowY !== 'visible') { c.top = Math.max(c.top, q.top); c.bottom = Math.min(c.bottom, q.bottom) }
        }
        var own = '', style = getComputedStyle(e), kept = {}
        e.childNodes.forEach(function (n) { if (n.nodeType === 3) own += n.nodeValue })
        ;['display', 'position', 'flexDirection', 'fontFamily', 'backgroundImage', 'backgroundColor', 'color', 'fontSize', 'top', 'left',
          'overflowX', 'objectFit', 'columnCount'].forEach(function (n) { kept[n] = style[n] })
        return {
          ref: e.getAttribute('data-ref'), tag: e.tagName, x: r.left, y: r.top, width: r.width, height: r.height,
          left: c.left, right: c.right, top: c.top, bottom: c.bottom,
          isShown: e.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
          isTopmost: e.contains(document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2)),
          text: own, value: e.value === undefined ? null : e.value,
          placeholder: e.placeholder === undefined ? null : e.placeholder,
          naturalWidth: e.naturalWidth === undefined ? null : e.naturalWidth,
          overflows: e.scrollWidth > e.clientWidth + 1, style: kept
        }
      }
      var all = Array.from(document.querySelectorAll('*'))
      var handlers = []
      all.forEach(function (e) {
        Array.from(e.attributes).forEach(function (a) {
          if (/^on|^srcdoc$/i.test(a.name) || (/^(src|href|poster|action|formaction)$/.test(a.name) && /^\\s*(javascript|vbscript|data:text)/i.test(a.value))) handlers.push(e.tagName + ' ' + a.name)
        })
      })
      var strangers = Array.from(document.body.querySelectorAll('*')).filter(function (e) {
        return !e.hasAttribute('data-ref') && !(e.tagName === 'I' && e.parentElement.className === 'w-indicator')
      }).map(function (e) { return e.outerHTML.slice(0, 100) })
      var found = {
        boxes: Array.from(document.querySelectorAll('[data-ref]')).map(box), strangers: strangers, handlers: handlers,
        hasRun: ran || window.ran === true, styleSheets: document.styleSheets.length,
        requests: performance.getEntriesByType('resource').map(function (r) { return r.name.slice(0, 200) })
          .filter(function (n) { return !/^data:/.test(n) }),
        fonts: Array.from(document.fonts).map(function (f) { return f.family + ' ' + f.status })
      }
      var out = document.createElement('pre')
      out.id = 'measured'
      out.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))))
      document.documentElement.appendChild(out)
    })
    """
}
