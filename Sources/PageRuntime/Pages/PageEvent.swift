import Bundles
import Foundation
import HTTPCache
import HTTPTransport
import ScriptEngine

/// An event of a page. ``PageInstance/events`` gives all of them in order.
public enum PageEvent: Sendable {
  /// The page has moved to another phase.
  case phase(PagePhase)
  /// The page has rendered: its script called `createFinish`, or has run and made a body.
  case rendered
  /// The script has rendered new data: `refreshFinish`.
  case refreshed
  /// The elements of the page's last run are shown until the script has rendered. Further events turn them into the
  /// script's elements: commands that remove some, ``renamed(_:)``, and commands that change and add some. If they begin
  /// anew, `nil` comes first.
  case snapshot(ElementTree?)
  /// Elements of the snapshot have the script's refs from now on, which are given by the former ones. They are changed all
  /// at once: a former ref may be the new one of another element.
  case renamed([String: String])
  /// The script has changed elements; the commands are already applied to ``PageInstance/tree``. While a snapshot is shown
  /// there are none.
  case commands([RenderCommand])
  /// The picture of an image element is loading, has come or has failed; `nil` if the element no longer has one.
  case image(ref: String, ImageState?)
  /// The page or document of an `embed` or `web` element is loading, has come or has failed; `nil` if it no longer has one.
  case source(ref: String, SourceState?)
  /// The page could not open, and the fallback is shown instead.
  case fallback(PageFallback, reason: PageError)
  /// The page failed in the trial of its release, and goes on with its bundle of `release`, which is good.
  case replaced(TrialFailure, release: String)
  /// Newer bytes of the page's bundle, or another complete release, are in the store.
  /// ``PageInstance/reload(ignoringCache:)`` opens the page with them.
  case updateAvailable(BundleNews)
  /// A script threw an error; the page goes on.
  case exception(ScriptException)
  /// The script has logged a text, with the level of the `console` method: `log`, `debug`, `info`, `warn` or `error`. A text
  /// of more than 64 KiB is cut, and ends with `…`.
  case log(level: String, text: String)
  /// The page uses a part that is not registered. Each part is reported once.
  case missing(MissingPart)
  /// The script shows a message or asks a question.
  case message(PageMessage)
  /// The page could not open, or was stopped.
  case failed(PageError)
  /// The page was destroyed. This is the last event.
  case destroyed
}

/// An error because of which a page cannot open, or was stopped.
public enum PageError: Error, Sendable, CustomStringConvertible {
  /// The text is not a URL.
  case invalidURL(String)
  /// The bundle could not be loaded. The reason is a `BundleError`, a `SourceError` if the manifest is at fault, or a
  /// `StoreError`; in a page that downloads by itself it may be a `TransportError`, a `LoadError` or an `HTTPFault`.
  case bundle(any Error)
  /// The script failed before the page had rendered, or was stopped.
  case script(url: String, ScriptError)
  /// There is no framework for bundles of this type. The advice tells how to give one, in terms of the program.
  case noFramework(BundleType, url: String, advice: String)
  /// The bundle names a framework that does not exist.
  case unknownFramework(String, url: String)
  /// The text is not a bundle, with the reason in words: it is empty, HTML, JSON, an ES module, or bytes that are not UTF-8.
  case notABundle(url: String, reason: String)
  /// The script has ended the page with `instanceWrap.error`.
  case refused(String)
  /// The page was destroyed while it opened.
  case destroyed
  /// The page was opened again while it opened; the later opening counts.
  case superseded

  public var description: String {
    switch self {
    case .invalidURL(let text): "\(text.quotedForMessage) is not the URL of a page"
    case .bundle(let error): "\(error)"
    case .script(let url, let error): "\(url): \(error)"
    case .noFramework(.weex, let url, let advice):
      "\(url): the bundle does not name its framework in its first line, as // { \"framework\": \"Vue\" }, and there is none for bundles of the oldest type, Weex: \(advice)"
    case .noFramework(let type, let url, let advice):
      "\(url): the bundle is of the type \(type.rawValue), for which no framework was given: \(advice)"
    case .unknownFramework(let name, let url):
      "\(url): the bundle names the framework \(name.quotedForMessage) in its first line; known are \(BundleType.allCases.map(\.rawValue).joined(separator: ", "))"
    case .notABundle(let url, let reason): "\(url) is not a bundle: \(reason)"
    case .refused(let reason): "the page gave up: \(reason)"
    case .destroyed: "the page was destroyed"
    case .superseded: "the page was opened again meanwhile"
    }
  }
}

/// A part that a page uses and that is not registered.
public enum MissingPart: Hashable, Sendable, Codable, CustomStringConvertible {
  /// A component, by its type. It is laid out as a `div`.
  case component(String)
  /// A module, by its name.
  case module(String)
  /// A method of a module or of a component, by their names.
  case method(of: String, String)

  public var description: String {
    switch self {
    case .component(let type): "the component \(type.quotedForMessage) is not registered: it is laid out as a div"
    case .module(let name): "the module \(name.quotedForMessage) is not registered"
    case .method(let owner, let name): "\(owner.quotedForMessage) has no method \(name.quotedForMessage)"
    }
  }
}

/// A rule that a page has added with `dom.addRule`, such as a font.
package struct PageRule: Hashable, Sendable {
  /// Finds the rule again: the page may have been opened again, and then its rules are others.
  fileprivate let id = UUID()
  /// The first argument of the call, such as `fontFace`.
  package let kind: String
  /// The second argument of the call, such as `{fontFamily, src}`.
  package let values: ScriptValue
  /// The number of bytes of both, as JSON.
  fileprivate let length: Int
  /// `true` once the font's bytes are in the cache.
  package internal(set) var isLoaded = false
  /// The reason for which the font could not be loaded.
  package internal(set) var failure: String?

  init(kind: String, values: ScriptValue) {
    self.kind = kind
    self.values = values
    length = kind.utf8.count + values.jsonText.utf8.count
  }

  /// Returns `true` for a rule that another call has added with the same arguments.
  fileprivate func says(the other: PageRule) -> Bool {
    length == other.length && kind == other.kind && values == other.values
  }

  /// The reference inside `url(…)`.
  var source: String? {
    guard let text = values["src"].string, let start = text.firstRange(of: "url(")?.upperBound,
      let end = text[start...].firstIndex(of: ")")
    else { return nil }
    return text[start..<end].trimmingCharacters(in: ["'", "\"", " "])
  }

  /// The family and the file of a font that is loaded; `nil` for other rules.
  var font: (family: String, source: String)? {
    guard isLoaded, kind.lowercased() == "fontface", let family = values["fontFamily"].string, let source else {
      return nil
    }
    return (family, source)
  }
}

extension PageInstance {
  /// The largest number of rules of a page.
  private static let ruleLimit = 256
  /// The largest number of bytes that the rules of a page have together.
  private static let ruleByteLimit = 4 << 20

  /// Adds a rule. The file of a font is loaded as a request of the page. A rule that the page has already is the last one
  /// then, and does not count again: pages add the font of a component with each component.
  ///
  /// - Throws: `DescribedError` if the page has too many rules, or too many bytes in them.
  func addRule(_ kind: String, _ values: ScriptValue) async throws {
    var rule = PageRule(kind: kind, values: values)
    if let index = rules.firstIndex(where: { $0.says(the: rule) }) {
      rule = rules.remove(at: index)
      rules.append(rule)
      // A font that could not be loaded is asked for again; one that is on its way is not.
      guard !rule.isLoaded, rule.failure != nil else { return await useFonts() }
    } else {
      guard rules.count < Self.ruleLimit else {
        throw DescribedError("the page has \(rules.count) rules, which is the limit")
      }
      let bytes = rules.reduce(rule.length) { $0 + $1.length }
      guard bytes <= Self.ruleByteLimit else {
        throw DescribedError("the rules of the page would have \(bytes) bytes; the limit is \(Self.ruleByteLimit)")
      }
      rules.append(rule)
    }
    guard let source = rule.source else { return }
    for await update in counted(for: ResourceRequest(source, type: .font)) {
      change(rule) { rule in
        switch update {
        case .cached, .network, .notModified: if !rule.isLoaded { (rule.isLoaded, rule.failure) = (true, nil) }
        case .failed(let failure) where !rule.isLoaded: rule.failure = failure.description
        case .failed: break
        }
      }
    }
    await useFonts()
  }

  /// Changes a rule, if the page still has it.
  func change(_ rule: PageRule, _ change: (inout PageRule) -> Void) {
    if let index = rules.firstIndex(where: { $0.id == rule.id }) { change(&rules[index]) }
  }
}
