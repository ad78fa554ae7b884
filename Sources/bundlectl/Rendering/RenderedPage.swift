import PageKit
import PageWorkers

/// A page that is rendered, wherever its script runs. What happens in it comes to a ``NoticeListener``.
protocol RenderedPage: Sendable {
  /// Opens it, and waits for what it is busy with.
  ///
  /// - Returns: what was wrong, where no notice says it.
  /// - Throws: ``CommandError`` if there is nothing that its script could run in.
  func open() async throws -> RenderFault?
  /// Fires an event, and waits for what the page is busy with then.
  ///
  /// - Returns: why it could not be fired.
  func fire(_ event: FiredEvent) async -> RenderFault?
  /// How it is now.
  func look() async -> PageLook
  /// What it shows, as a document for a browser.
  ///
  /// - Throws: ``RenderFault``.
  func html(title: String, embedding: Bool) async throws -> String
  /// The bundle's text, for the lines that errors are in.
  func source() async -> String?
  /// Ends it, once everything that happened to it was told.
  func end() async
}

/// How a page is.
struct PageLook: Sendable {
  var phase = PagePhase.idle
  /// Its script had run when it was opened, so that events may be fired.
  var hasRun = false
  var tree = ElementTree()
  var timings = PageTimings()
  var messages: [PageMessage] = []
  /// What the page was still busy with.
  var pending = PendingWork()
  /// Nil for a file, and where it could not be had.
  var bundle: LoadedBundle?
}

extension Rendering.Request {
  /// The text of the file that is to be rendered.
  ///
  /// - Throws: ``RenderFault`` if it cannot be read, or is no bundle.
  func fileBytes(at path: String) throws -> [UInt8] {
    let bytes: [UInt8]
    do {
      bytes = try LocalFile.read(path)
    } catch {
      throw RenderFault("\(url.readable) cannot be read: \(error)", url: url.text)
    }
    if let fault = BundleFault(in: bytes) {
      throw RenderFault("\(url.readable) is no bundle: \(fault)", url: url.text)
    }
    return bytes
  }
}
