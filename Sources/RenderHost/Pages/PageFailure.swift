import Hummingbird
import PageKit
import PageWorkers
import ServerKit

/// The error of a request about a page.
enum PageFailure: Error, CustomStringConvertible {
  case badRequest(String)
  case unknownPage(String)
  /// An event is of an earlier run of the page's script, whose elements are no longer there.
  case earlierRun
  /// An event's element does not exist, or a tap reaches none.
  case unknownElement(url: String, reason: String)
  case unknownBundle(String)
  /// The resource is not available at its URL.
  case bundle(status: Int, reason: String)
  case notPermitted(String, rule: String)
  case barred(BarredBundles.Entry, LimitHints = LimitHints())
  /// The limit of open pages is reached.
  case full(limit: Int, LimitHints = LimitHints())
  case busy(String)
  case script(url: String, ScriptException)
  case killed(url: String, KillReason, LimitHints = LimitHints())
  /// The host draws no pages.
  case noPictures(LimitHints = LimitHints())
  /// A library for pictures is missing.
  case cannotDraw(String)
  /// The view of a page is larger than it may be, or cannot be made.
  case noView(url: String, reason: String)
  /// Making the view took longer than it may.
  case slowView(url: String, reason: String)

  /// The number of seconds after which the client may try again.
  private static let pause = 1

  var status: HTTPResponse.Status {
    switch self {
    case .badRequest: .badRequest
    case .unknownPage, .unknownElement, .unknownBundle: .notFound
    case .earlierRun: .conflict
    case .bundle(let status, _): HTTPResponse.Status(code: status)
    case .notPermitted, .barred: .forbidden
    case .full, .busy: .serviceUnavailable
    case .script, .noView: .unprocessableContent
    case .killed, .slowView: .gatewayTimeout
    case .noPictures, .cannotDraw: .notImplemented
    }
  }

  var description: String {
    switch self {
    case .badRequest(let reason): reason
    case .unknownPage(let id): "there is no page \"\(id)\": it has expired, was closed, or never was"
    case .earlierRun: "the page's script runs anew, and the event is of the run before"
    case .unknownElement(let url, let reason), .noView(let url, let reason), .slowView(let url, let reason):
      "\(url): \(reason)"
    case .unknownBundle(let name): "the current release has no bundle \"\(name)\""
    case .bundle(_, let reason): reason
    case .notPermitted(let reason, _): reason
    case .barred(let entry, let hints): entry.text(hints)
    case .full(let limit, let hints): "\(limit) pages are open, which is the limit\(hints.pages)"
    case .busy(let reason): reason
    case .script(let url, let fault): "\(url): \(fault.message)"
    case .killed(let url, let reason, let hints): "\(url): \(reason.told(hints))"
    case .noPictures(let hints): "this host draws no pages\(hints.pictures)"
    case .cannotDraw(let reason): reason
    }
  }

  /// The same failure, with the public names of this machine's paths in place of the paths.
  func withoutPaths(_ locations: PublicLocations) -> PageFailure {
    switch self {
    case .bundle(let status, let reason): .bundle(status: status, reason: locations.withoutPaths(reason))
    case .notPermitted(let reason, let rule): .notPermitted(locations.withoutPaths(reason), rule: rule)
    default: self
    }
  }

  var response: Response {
    var members: [String: JSONValue] = ["error": .string(description)]
    if case .script(_, let fault) = self { members["exception"] = fault.json }
    if case .notPermitted(_, let rule) = self { members["rule"] = .string(rule) }
    var response = Response.json(members, status: status)
    if status == .serviceUnavailable { response.headers[.retryAfter] = String(Self.pause) }
    return response
  }

  /// - Parameters:
  ///   - url: the page's.
  ///   - hints: name what the reader of its message can change.
  init(_ error: any Error, url: String, _ hints: LimitHints = LimitHints()) {
    switch error {
    case let failure as PageFailure: self = failure
    case let refusal as AccessRefusal: self = .notPermitted("\(refusal)", rule: refusal.name)
    case let fault as PageFault: self = PageFailure(fault, url: url, hints)
    case let error as WorkerError: self = PageFailure(error, url: url, hints)
    case BundleError.failed(_, _, let cause): self = PageFailure(cause: cause, text: "\(error)")
    case BundleError.disabled: self = .bundle(status: 403, reason: "\(error)")
    case let error as BundleError: self = .bundle(status: 502, reason: "\(error)")
    default: self = PageFailure(cause: error, text: error.sentence)
    }
  }

  private init(_ fault: PageFault, url: String, _ hints: LimitHints) {
    switch fault {
    case .script(let fault): self = .script(url: url, fault)
    case .stopped(let reason): self = .killed(url: url, reason, hints)
    case .refused(let reason): self = .script(url: url, ScriptException(message: reason))
    case .busy(let reason): self = .busy(reason)
    case .cannotDraw(let reason): self = .cannotDraw(reason)
    case .noView(let reason): self = .noView(url: url, reason: reason)
    case .slowView(let reason): self = .slowView(url: url, reason: reason)
    case .unknownPage: self = .unknownPage(url)
    case .unknownElement(let reason): self = .unknownElement(url: url, reason: reason)
    }
  }

  private init(_ error: WorkerError, url: String, _ hints: LimitHints) {
    switch error {
    case .ended(let reason, .thisPage): self = .killed(url: url, reason, hints)
    case .ended, .noWorker, .noMemory, .cannotStart, .cannotRun, .full, .late: self = .busy(error.told(hints))
    case .barred(let entry): self = .barred(entry, hints)
    }
  }

  private init(cause: any Error, text: String) {
    switch cause {
    case let refusal as AccessRefusal: self = .notPermitted("\(refusal)", rule: refusal.name)
    case TransportError.notPermitted(_, _, let reason): self = .notPermitted(reason, rule: "address")
    // 404 and 410 of the server become 404, all other errors 502.
    case let fault as HTTPFault where [404, 410].contains(fault.status): self = .bundle(status: 404, reason: text)
    default: self = .bundle(status: 502, reason: text)
    }
  }
}
