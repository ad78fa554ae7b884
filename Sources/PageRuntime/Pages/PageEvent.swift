import Bundles
import HTTPTransport
import ScriptEngine

/// What happens to a page, in order.
public enum PageEvent: Sendable {
  case phase(PagePhase)
  /// The script has rendered: `createFinish`.
  case rendered
  /// The page's data was refreshed: `refreshFinish`.
  case refreshed
  /// Its elements changed.
  case commands([RenderCommand])
  /// An image element's picture has come, or failed.
  case image(ref: String, ImageState?)
  /// An element shows another page, or a document; or cannot.
  case source(ref: String, SourceState?)
  /// The page could not open, and this is shown instead.
  case fallback(PageFallback, reason: PageError)
  /// Newer bytes of the page's bundle, or a newer complete release, are in the store; ``PageInstance/reload(ignoringCache:)``
  /// takes them.
  case updateAvailable(BundleNews)
  /// A script threw; the page goes on.
  case exception(ScriptException)
  case log(level: String, text: String)
  /// The page wants something that nobody registered. Said once for each.
  case missing(MissingPart)
  /// The script shows a message, or asks something.
  case message(PageMessage)
  case failed(PageError)
  case destroyed
}

/// Why a page cannot open, or was stopped.
public enum PageError: Error, Sendable, CustomStringConvertible {
  case invalidURL(String)
  /// The bundle cannot be had.
  case bundle(any Error)
  /// Its script failed before the page had rendered.
  case script(url: String, ScriptError)
  /// No framework was given that runs bundles of this type. The advice says how to give one, in the words of the
  /// program.
  case noFramework(BundleType, url: String, advice: String)
  /// The bundle names a framework that is none of those that there are.
  case unknownFramework(String, url: String)
  /// The text is no bundle.
  case notABundle(url: String, BundleFault)
  /// Its script says that it cannot go on.
  case refused(String)
  /// The page was destroyed meanwhile.
  case destroyed
  /// The page was opened again meanwhile: that opening counts.
  case superseded

  public var description: String {
    switch self {
    case .invalidURL(let text): "\(text.quotedForMessage) is no URL of a page"
    case .bundle(let error): "\(error)"
    case .script(let url, let error): "\(url): \(error)"
    case .noFramework(.weex, let url, let advice):
      "\(url): the bundle does not name its framework in its first line, as // { \"framework\": \"Vue\" }, and there is none for bundles of the oldest type, Weex: \(advice)"
    case .noFramework(let type, let url, let advice):
      "\(url): the bundle is of the type \(type.rawValue), for which no framework was given: \(advice)"
    case .unknownFramework(let name, let url):
      "\(url): the bundle names the framework \(name.quotedForMessage) in its first line, which is none of \(BundleType.allCases.map(\.rawValue).joined(separator: ", "))"
    case .notABundle(let url, let fault): "\(url) is no bundle: \(fault)"
    case .refused(let reason): "the page gave up: \(reason)"
    case .destroyed: "the page was destroyed"
    case .superseded: "the page was opened again meanwhile"
    }
  }
}
