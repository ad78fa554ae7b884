import HTTPCache
import HTTPTransport
import PageLayout
import ScriptEngine

/// The handlers of a page, each for one job. An app registers its own by key path:
///
///     host.pages.registry.register(ThumbnailLoader() as any ImageLoading, as: \.images)
public struct PageHandlers: Sendable {
  /// Receives scripts' errors. The default writes them to the host's log.
  public var exceptions: any ScriptExceptionHandling
  /// Loads pictures. The default is ``DefaultImageLoader``.
  public var images: any ImageLoading
  /// Receives the times of openings. The default is none.
  public var monitor: (any Monitoring)?
  /// Pushes and pops pages. The default is the host's ``PageStack``.
  public var navigator: any Navigating
  /// Stores the texts of the module `storage`. The default is a region of the response cache.
  public var storage: any StorageProviding
  /// Shows messages and questions. The default shows nothing and chooses the first button.
  public var modals: any ModalPresenting
  /// Opens web sockets. The default connects to the server.
  public var sockets: any WebSocketing
  /// Change the references that pages write, in this order, before handlers see the request. The loader's own rewriters
  /// come after them. The default is none.
  public var rewriters: [any URLRewriting] = []
  /// Describes the device and the app to the page. The default is the description that all of the host's pages get.
  public var configuration: DefaultConfiguration?
  /// Gives the places of elements, in the place of ``PageInstance/layout``: for an app that lays pages out by itself. Such an
  /// app also scrolls them, and fires the events that follow from places. ``PageInstance/layout``,
  /// ``PageInstance/layoutChanges`` and ``PageInstance/tap(x:y:)`` go by PageKit's layout also then. The default is none.
  public var layout: (any LayoutProviding)?
  /// Measures texts for ``PageInstance/layout``. By default Pango does with the system's fonts, or `FixedAdvances` where its
  /// libraries are missing; it has no fonts: all characters of one script have the same width.
  public var measurer: (any TextMeasuring)?

  package init(
    images: any ImageLoading, exceptions: any ScriptExceptionHandling, navigator: any Navigating,
    storage: any StorageProviding, modals: any ModalPresenting, sockets: any WebSocketing
  ) {
    self.images = images
    self.exceptions = exceptions
    self.navigator = navigator
    self.storage = storage
    self.modals = modals
    self.sockets = sockets
  }
}

/// Receives the errors of pages' scripts.
public protocol ScriptExceptionHandling: Sendable {
  /// Receives one error. It is also an event of the page.
  ///
  /// - Parameters:
  ///   - exception: the error, with its place in the script if the engine knows it.
  ///   - page: the page's id.
  ///   - url: the page's URL; `nil` for a page of text alone.
  func handle(_ exception: ScriptException, page: String, url: PageURL?)
}

/// Receives the times of pages' openings.
public protocol Monitoring: Sendable {
  /// Receives the times of one opening, when the page has rendered.
  ///
  /// - Parameters:
  ///   - timings: the stages up to the page's rendering.
  ///   - page: the page's id.
  ///   - url: the page's URL; `nil` for a page of text alone.
  func record(_ timings: PageTimings, page: String, url: PageURL?)
}

/// Opens the pages that scripts go to with the module `navigator`.
public protocol Navigating: Sendable {
  /// Opens a page on top of another.
  ///
  /// - Parameters:
  ///   - url: the target, resolved against the URL of the page that asks.
  ///   - options: the argument of the script's call.
  ///   - page: the page that asks.
  /// - Throws: an error that is logged as one of the page. The script has had its answer, as in the SDK.
  @PageActor func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws
  /// Goes back from a page to the one below it.
  ///
  /// - Parameters:
  ///   - options: the argument of the script's call.
  ///   - page: the page that asks.
  /// - Throws: an error that is logged as one of the page. The script has had its answer, as in the SDK.
  @PageActor func pop(options: ScriptValue, from page: PageInstance) async throws
}

/// Stores the texts of the module `storage`, by key.
///
/// A script gets an error that a method throws as the result `failed`, with the error as text.
public protocol StorageProviding: Sendable {
  /// Returns the value of a key, or `nil` if there is none.
  func value(for key: String) async throws -> String?
  /// Stores a value, in the place of an earlier one.
  func setValue(_ value: String, for key: String) async throws
  /// Removes a value.
  ///
  /// - Returns: `false` if there was no value.
  func removeValue(for key: String) async throws -> Bool
  /// Returns all keys.
  func keys() async throws -> [String]
  /// Returns the storage of one user's pages. The default is one storage for all users.
  func values(of partition: CachePartition) -> any StorageProviding
}

extension StorageProviding {
  /// Returns this storage, for every user.
  public func values(of partition: CachePartition) -> any StorageProviding { self }
}

/// Shows the messages and questions of the module `modal`.
public protocol ModalPresenting: Sendable {
  /// Shows a message that goes by itself.
  ///
  /// - Parameter seconds: how long the script wants it shown.
  @PageActor func toast(_ message: String, seconds: Double, from page: PageInstance) async
  /// Shows a message with a button, and returns when it is closed.
  ///
  /// - Parameter button: the button's title.
  @PageActor func alert(_ message: String, button: String, from page: PageInstance) async
  /// Asks a question.
  ///
  /// - Parameter buttons: the titles of the buttons, the one that agrees first.
  /// - Returns: the title of the button that was chosen.
  @PageActor func confirm(_ message: String, buttons: [String], from page: PageInstance) async -> String
  /// Asks for a text.
  ///
  /// - Parameters:
  ///   - preset: the text that is filled in beforehand.
  ///   - buttons: the titles of the buttons, the one that agrees first.
  /// - Returns: the title of the button that was chosen, and the text.
  @PageActor func prompt(_ message: String, preset: String, buttons: [String], from page: PageInstance) async
    -> (button: String, text: String)
}

/// Gives the places of elements: a renderer that lays pages out by itself.
public protocol LayoutProviding: Sendable {
  /// Returns an element's place on the page, in units of the design, or `nil` if it has none.
  ///
  /// - Parameter ref: the element's ref in ``PageInstance/tree``, or that of a cell of a `recycle-list`, which
  ///   ``PageInstance/layout`` has.
  @PageActor func rect(of ref: String, in page: PageInstance) async -> LayoutRect?
  /// Returns the place of the whole page, or `nil` for the size of the device. The default is `nil`.
  @PageActor func viewport(of page: PageInstance) async -> LayoutRect?
}

extension LayoutProviding {
  /// Returns `nil`.
  @PageActor public func viewport(of page: PageInstance) async -> LayoutRect? { nil }
}
