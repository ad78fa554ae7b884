import HTTPCache

/// The handlers of a page, each for one job.
public struct PageHandlers: Sendable {
  /// Default: logs.
  public var exceptions: any ScriptExceptionHandling
  /// Default: ``DefaultImageLoader``.
  public var images: any ImageLoading
  /// Default: nobody.
  public var monitor: (any Monitoring)?
  /// Default: refuses, and says so to the script.
  public var navigator: any Navigating
  /// Default: a region of the response cache.
  public var storage: any StorageProviding
  /// Default: answers at once, as though somebody had agreed.
  public var modals: any ModalPresenting
  /// Default: a host's own connect; without a host none is opened, and the script is told.
  public var sockets: any WebSocketing
  /// Change what a page wrote into what is asked for, in order, before handlers see the request. Default: none; those
  /// of the loader come behind them.
  public var rewriters: [any URLRewriting]
  /// What the page learns of the device and the app. Default: what all of the host's pages learn.
  public var configuration: (any ConfigurationProviding)?
  /// Tells where elements are. Default: nobody.
  public var layout: (any LayoutProviding)?

  package init(
    images: any ImageLoading, exceptions: any ScriptExceptionHandling, navigator: any Navigating,
    storage: any StorageProviding, modals: any ModalPresenting, sockets: any WebSocketing = NoWebSockets(),
    monitor: (any Monitoring)? = nil, rewriters: [any URLRewriting] = [],
    configuration: (any ConfigurationProviding)? = nil, layout: (any LayoutProviding)? = nil
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
