import PageKit

/// A message of the daemon to a worker.
package enum HostMessage: Codable, Sendable {
  /// The first message.
  case setUp(WorkerSetUp)
  /// The bytes are the bundle's text.
  case open(call: UInt64, page: UInt64, PageOpening)
  case fire(call: UInt64, page: UInt64, PageFiring, PageWait, view: PageView?)
  case refresh(call: UInt64, page: UInt64, data: JSONValue, PageWait, view: PageView?)
  case show(call: UInt64, page: UInt64, PageView)
  case close(page: UInt64)
  /// Ends a page; answered after all its events were sent.
  case end(call: UInt64, page: UInt64)
  /// Requests to release unused memory.
  case releaseMemory
  /// A message of another page's `BroadcastChannel` for these pages; the bytes are the message as JSON.
  case channel(pages: [UInt64], name: String)
  /// The answer to a question; some have bytes.
  case answer(question: UInt64, PageAnswer)

  /// The caller's data, which may be large.
  var data: JSONValue? {
    switch self {
    case .open(_, _, let opening): opening.data
    case .fire(_, _, let firing, _, _): .array([firing.event, firing.changes])
    case .refresh(_, _, let data, _, _): data
    case .setUp, .show, .close, .end, .releaseMemory, .channel, .answer: nil
    }
  }
}

/// The configuration of a worker.
package struct WorkerSetUp: Codable, Sendable {
  /// Seconds for one entry into a page.
  var pageTime: Double
  /// Texts of framework files, by the type of bundles.
  var frameworks: [String: String]
  /// Texts of scripts that run in a page before its bundle, by the type of bundles.
  var preludes: [String: String]
  /// The advice for giving the framework, by the type of bundles.
  var frameworkAdvice: [String: String]
  /// The advice for preludes.
  var preludeAdvice: [String: String]
  /// The advice for using web sockets; empty for none.
  var socketAdvice: String
  /// The number of engines kept for further pages.
  var readyEngines: Int
  var environment: JSONValue
  /// The behaviour of requests that name none.
  var refreshesAlways: Bool
  /// The limit of concurrent entries into scripts.
  var entriesAtOnce: Int
  /// The limit of the worker's resident bytes.
  var memory: Int64
  /// The limit of the worker's unanswered questions.
  var questions: Int
}

/// The options of opening a page.
package struct PageOpening: Codable, Sendable {
  var url: String
  var options: PageRequestOptions
  var data: JSONValue
  var wait: PageWait
  /// The requested view of the open page.
  var view: PageView?
  /// `true` if the page ends after its first view.
  var isOnce: Bool
  /// The options of notices if a program renders the page; `nil` otherwise.
  var reporting: PageReporting?

  package init(
    url: String, options: PageRequestOptions, data: JSONValue, wait: PageWait, view: PageView?, isOnce: Bool,
    reporting: PageReporting? = nil
  ) {
    (self.url, self.options, self.data) = (url, options, data)
    (self.wait, self.view, self.isOnce, self.reporting) = (wait, view, isOnce, reporting)
  }
}

/// An event of an element.
package struct PageFiring: Codable, Hashable, Sendable {
  var ref: String
  var type: String
  /// Further members of the event.
  var event: JSONValue
  /// The user's changes of the element, `attrs` and `style`; `null` for those that devices make.
  var changes: JSONValue

  package init(ref: String, type: String, event: JSONValue?, changes: JSONValue?) {
    (self.ref, self.type) = (ref, type)
    (self.event, self.changes) = (event ?? .object([:]), changes ?? .null)
  }
}

/// The options of notices about a page that a program renders.
///
/// Such a page stays when it fails, and pages that it pushes open in its worker. Its events arrive as ``PageNotice``
/// values. Without a named view, its view is an `ElementTree.Record`.
package struct PageReporting: Codable, Hashable, Sendable {
  /// `true` to report each change of the tree.
  package var commands: Bool

  package init(commands: Bool) { self.commands = commands }
}

/// The waits before a view of a page.
package struct PageWait: Codable, Hashable, Sendable {
  /// The longest wait for pending work in seconds; 0 for none.
  package var settle: Double
  /// The longest remaining time of timers that are awaited, in seconds.
  package var timers: Double

  package init(settle: Double, timers: Double) { (self.settle, self.timers) = (settle, timers) }
}

/// The options of a page that callers may set.
package struct PageRequestOptions: Codable, Hashable, Sendable {
  /// The value of `weex.config.bundleUrl`.
  package var bundleUrl: String?
  /// `Vanilla`, `Vue`, `Rax` or `Weex`.
  package var type: String?
  /// Further members of `weex.config`.
  package var config: [String: JSONValue]?

  package init() {}
}

/// A view of a page.
package struct PageView: Codable, Hashable, Sendable {
  package enum Format: String, Codable, Hashable, Sendable, CaseIterable {
    case json
    case outline
    case html
  }

  package var format: Format
  /// `true` for an outline with styles.
  package var withStyles: Bool
  /// The prefix of URLs that elements refer to; `nil` to embed pictures and fonts.
  package var resources: String?
  /// The title of the document; `nil` for the page's URL.
  package var title: String?
  /// `true` to embed pictures and fonts if there is no prefix for them.
  package var isEmbedding = true
  /// The limit of embedded pictures and fonts in bytes.
  package var limit = 16 << 20

  package init(format: Format, withStyles: Bool = false, resources: String? = nil) {
    (self.format, self.withStyles, self.resources) = (format, withStyles, resources)
  }
}
