import HTTPCache

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
  public var rewriters: [any URLRewriting]
  /// Describes the device and the app to the page. The default is the description that all of the host's pages get.
  public var configuration: DefaultConfiguration?
  /// Gives the places of elements. The default is none: `dom.getComponentRect` answers with an error, and for the whole
  /// page with the size of the device.
  public var layout: (any LayoutProviding)?

  package init(
    images: any ImageLoading, exceptions: any ScriptExceptionHandling, navigator: any Navigating,
    storage: any StorageProviding, modals: any ModalPresenting, sockets: any WebSocketing = NoWebSockets(),
    monitor: (any Monitoring)? = nil, rewriters: [any URLRewriting] = [],
    configuration: DefaultConfiguration? = nil, layout: (any LayoutProviding)? = nil
  ) {
    self.images = images
    self.exceptions = exceptions
    self.navigator = navigator
    self.storage = storage
    self.modals = modals
    self.sockets = sockets
    self.monitor = monitor
    self.rewriters = rewriters
    self.configuration = configuration
    self.layout = layout
  }
}
