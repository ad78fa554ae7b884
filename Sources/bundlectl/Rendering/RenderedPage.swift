import PageKit
import PageWorkers

/// A page that is rendered, in this process or in a worker. Its notices go to a ``NoticeListener``.
protocol RenderedPage: Sendable {
  /// Opens the page, and waits for its pending work.
  ///
  /// - Returns: the error, if neither a notice nor the page's state reports it.
  /// - Throws: ``CommandError`` if there is no engine or worker for its script.
  func open() async throws -> RenderFault?
  /// Fires an event, and waits for the page's pending work.
  ///
  /// - Returns: the reason why it could not be fired; `nil` if it was.
  func fire(_ event: FiredEvent) async -> RenderFault?
  /// The current state.
  func look() async -> PageLook
  /// The page as an HTML document.
  ///
  /// - Throws: ``RenderFault``.
  func html(title: String, embedding: Bool) async throws -> String
  /// The bundle's text, for the lines of errors.
  func source() async -> String?
  /// Ends the page after all its notices were delivered.
  ///
  /// - Returns: the reason why the page's process ended before that; `nil` if it did not, or if the reason was returned
  ///   before.
  func end() async -> RenderFault?
}

/// The state of a page.
struct PageLook: Sendable {
  var phase = PagePhase.idle
  /// The reason why the page could not open, or was stopped.
  var failure: PageFailureNotice?
  /// `true` if the script ran when the page was opened, so that events may be fired.
  var hasRun = false
  var tree = ElementTree()
  var timings = PageTimings()
  var messages: [PageMessage] = []
  /// The page's pending work.
  var pending = PendingWork()
  /// `nil` for a file, and if the bundle was not available.
  var bundle: LoadedBundle?
}

extension Rendering.Request {
  /// The text of the file to render.
  ///
  /// - Throws: ``RenderFault`` if it cannot be read or is not a bundle.
  func fileBytes(at path: String) throws -> [UInt8] {
    let bytes: [UInt8]
    do {
      bytes = try InputFile.bundle(path)
    } catch {
      throw RenderFault("\(url.readable) cannot be read: \(error.sentence)", url: url.text)
    }
    if let fault = BundleFault(in: bytes) {
      throw RenderFault("\(url.readable) is not a bundle: \(fault)", url: url.text)
    }
    return bytes
  }
}
