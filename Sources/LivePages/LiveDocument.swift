import Foundation
import HTTPTransport
import PageRuntime

/// The document in which a browser shows a page that runs elsewhere, with the page's elements as they are now.
///
/// Its script is the only one that runs in it: it has a nonce, and stands before all texts of the page, so that none of them
/// can hold it.
package struct LiveDocument: Sendable {
  package let html: String
  /// The content security policy.
  package let policy: String

  /// The shown page, as ``LivePage/view`` has it. It may come from a worker that was taken over.
  private struct View: Decodable, Sendable {
    let number: Int64
    let title: String
    let styles: String
    let `class`: String
    let html: String
  }

  /// - Parameters:
  ///   - page: the page's id.
  ///   - run: another number for each run of its script.
  ///   - view: its view, as JSON.
  ///   - position: the id of the last event before the view.
  ///   - request: the request that opens the page again, as JSON.
  ///   - isShared: `true` if others have opened the page: it stays when its viewer leaves.
  ///   - nonce: a text that no page can know.
  /// - Throws: ``JSONError``, `DecodingError`.
  package init(
    page: String, run: UInt64, view: [UInt8], position: Int, request: JSONValue, isShared: Bool,
    nonce: String = Self.nonce()
  ) throws {
    let view: View = try JSONValue(reading: view).decoded()
    let facts = [
      ("page", page), ("run", "\(run)"), ("number", "\(view.number)"), ("position", "\(position)"),
      ("request", String(decoding: request.text, as: UTF8.self)), ("shared", isShared ? "yes" : ""),
    ].map { " data-\($0)=\"\($1.escaped)\"" }.joined()
    html = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8">
      <script nonce="\(nonce)"\(facts)>
      \(Self.script)</script>
      <meta name="viewport" content="width=device-width">
      <title>\(view.title.escaped)</title>
      <style>
      \(HTMLPreview.styles)
      \(Self.styles)</style>
      <style id="live-styles">\(view.styles)</style></head>
      <body class="\(view.class.escaped)">\(view.html)</body></html>

      """
    policy = [
      "default-src 'none'", "script-src 'nonce-\(nonce)'", "style-src 'unsafe-inline'", "img-src 'self' data:",
      "font-src 'self' data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'self'",
      "sandbox allow-scripts allow-same-origin",
    ].joined(separator: "; ")
  }

  private static let script = String(decoding: PackageResources.live_js, as: UTF8.self)
  private static let styles = String(decoding: PackageResources.live_css, as: UTF8.self)
  /// The styles of an error that the author of a page sees, for other documents too: those of the class `live-fault`.
  package static var faultStyles: String {
    styles.split(separator: "\n").filter { $0.contains(".live-fault") }.joined(separator: "\n")
  }

  /// 128 random bits.
  package static func nonce() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<2).map { _ in
      let digits = String(generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// The view of a page for the document's script, as JSON.
  package static func json(
    page: String, run: UInt64, view: [UInt8], position: Int, request: JSONValue, isShared: Bool
  ) -> [UInt8] {
    let members: [String: JSONValue] = [
      "page": .string(page), "run": .integer(Int64(clamping: run)), "position": .integer(Int64(position)),
      "request": request, "shared": .bool(isShared),
    ]
    // The view is JSON already, and is inserted as it is.
    return JSONValue.object(members).text.dropLast() + Array(",\"view\":".utf8) + view + Array("}".utf8)
  }
}
