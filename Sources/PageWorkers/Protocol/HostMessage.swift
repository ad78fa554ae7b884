import PageKit

/// What the daemon says to a worker.
package enum HostMessage: Codable, Sendable {
  /// Comes first.
  case setUp(WorkerSetUp)
  /// With the bundle's text.
  case open(call: UInt64, page: UInt64, PageOpening)
  case fire(call: UInt64, page: UInt64, ref: String, type: String, event: JSONValue, PageWait, view: PageView?)
  case refresh(call: UInt64, page: UInt64, data: JSONValue, PageWait, view: PageView?)
  case show(call: UInt64, page: UInt64, PageView)
  case close(page: UInt64)
  /// Ends a page; answered once everything that happened to it was told.
  case end(call: UInt64, page: UInt64)
  /// What no page is using is to be let go of.
  case releaseMemory
  /// To what the worker asked; some come with bytes.
  case answer(question: UInt64, PageAnswer)

  /// What a caller has given along, which may be large.
  var data: JSONValue? {
    switch self {
    case .open(_, _, let opening): opening.data
    case .fire(_, _, _, _, let event, _, _): event
    case .refresh(_, _, let data, _, _): data
    case .setUp, .show, .close, .end, .releaseMemory, .answer: nil
    }
  }
}

/// What a worker runs pages with.
package struct WorkerSetUp: Codable, Sendable {
  /// Seconds for one entry into a page.
  var pageTime: Double
  /// Texts of framework files, by the type of bundles.
  var frameworks: [String: String]
  /// Texts of scripts that run in a page before its bundle, in the same way.
  var preludes: [String: String]
  /// How to give the framework for a type of bundles, by the types.
  var frameworkAdvice: [String: String]
  /// The same for preludes.
  var preludeAdvice: [String: String]
  /// How to have web sockets; empty where there is no way.
  var socketAdvice: String
  /// Engines that are kept ready for the next page.
  var readyEngines: Int
  var environment: JSONValue
  /// How the daemon's loader treats what says nothing of it.
  var refreshesAlways: Bool
  /// Entries into scripts that run at once.
  var entriesAtOnce: Int
  /// Resident bytes that the worker may have.
  var memory: Int64
}

/// How a page is opened.
package struct PageOpening: Codable, Sendable {
  var url: String
  var options: PageRequestOptions
  var data: JSONValue
  var wait: PageWait
  /// What is wanted of the page when it is open.
  var view: PageView?
  /// It is shown once, and ends.
  var isOnce: Bool
  /// How the page is told of, if it is opened for a program that renders it; `nil` if not.
  var reporting: PageReporting?

  package init(
    url: String, options: PageRequestOptions, data: JSONValue, wait: PageWait, view: PageView?, isOnce: Bool,
    reporting: PageReporting? = nil
  ) {
    (self.url, self.options, self.data) = (url, options, data)
    (self.wait, self.view, self.isOnce, self.reporting) = (wait, view, isOnce, reporting)
  }
}

/// How a page is told of that is opened for a program that renders it.
///
/// Such a page stays when it fails, as one of a program's own would; what happens to it comes as ``PageNotice`` values;
/// pages that it goes to open in its worker. Where no view is named, its tree is seen, as an `ElementTree.Record`.
package struct PageReporting: Codable, Hashable, Sendable {
  /// Whether each change of the tree is told.
  package var commands: Bool

  package init(commands: Bool) { self.commands = commands }
}

/// How long a page is waited for before it is looked at.
package struct PageWait: Codable, Hashable, Sendable {
  /// Seconds to wait for what the page is busy with; 0 for none.
  package var settle: Double
  /// Seconds that a timer may have to go to be waited for.
  package var timers: Double

  package init(settle: Double, timers: Double) { (self.settle, self.timers) = (settle, timers) }
}

/// What callers may say of a page besides its data.
package struct PageRequestOptions: Codable, Hashable, Sendable {
  /// What scripts see as `weex.config.bundleUrl`.
  package var bundleUrl: String?
  /// `Vanilla`, `Vue`, `Rax` or `Weex`.
  package var type: String?
  /// More members of `weex.config`.
  package var config: [String: JSONValue]?

  package init() {}
}

/// A way to look at a page.
package struct PageView: Codable, Hashable, Sendable {
  package enum Format: String, Codable, Hashable, Sendable, CaseIterable {
    case json
    case outline
    case html
  }

  package var format: Format
  /// Whether the outline has styles.
  package var withStyles: Bool
  /// Where a browser asks for what elements refer to; nil for pictures and fonts in the document itself.
  package var resources: String?
  /// Of the document; `nil` for the page's URL.
  package var title: String?
  /// Whether pictures and fonts are put into the document, if no address is given for them.
  package var isEmbedding = true
  /// Bytes of pictures and fonts that are put into the document.
  package var limit = 16 << 20

  package init(format: Format, withStyles: Bool = false, resources: String? = nil) {
    (self.format, self.withStyles, self.resources) = (format, withStyles, resources)
  }
}
