import PageCore
import PageLoading
import ScriptEngine
import Synchronization

/// What an app registers for its pages. A page copies what there is when it is made: later changes are for later pages.
public final class PageRegistry: Sendable {
  /// Takes back exactly what one registration did.
  public struct Registration: Sendable {
    fileprivate let id: UInt64
    fileprivate weak let registry: PageRegistry?

    public func remove() { registry?.remove(id) }
  }

  /// What holds for one page.
  public struct Snapshot: Sendable {
    public var handlers: PageHandlers
    public var modules = ModuleTable()
    public var components = ComponentTable()
    /// Newest last.
    var requests: [RequestHandler] = []
  }

  struct RequestHandler: Sendable {
    let matches: @Sendable (ResourceRequest, PageURL?) -> Bool
    let handler: any ResourceRequestHandling
  }

  private struct State {
    var changes: [(id: UInt64, apply: @Sendable (inout Snapshot) -> Void)] = []
    var lastID: UInt64 = 0
  }

  private let defaults: Snapshot
  private let parent: PageRegistry?
  private let state = Mutex(State())

  /// - Parameter defaults: what holds where nothing is registered.
  public init(defaults: PageHandlers) {
    var snapshot = Snapshot(handlers: defaults)
    DefaultModules.register(&snapshot.modules)
    self.defaults = snapshot
    parent = nil
  }

  /// For one page, or some: what is registered here comes after what the parent has.
  public init(parent: PageRegistry) {
    self.parent = parent
    defaults = parent.defaults
  }

  public func snapshot() -> Snapshot {
    var snapshot = parent?.snapshot() ?? defaults
    for change in state.withLock(\.changes) { change.apply(&snapshot) }
    return snapshot
  }

  /// Any change; later ones see what earlier ones did.
  @discardableResult
  public func register(_ change: @escaping @Sendable (inout Snapshot) -> Void) -> Registration {
    let id = state.withLock { state in
      state.lastID += 1
      state.changes.append((state.lastID, change))
      return state.lastID
    }
    return Registration(id: id, registry: self)
  }

  /// A handler in the place of what is there.
  @discardableResult
  public func register<Handler: Sendable>(
    _ handler: Handler, as slot: any WritableKeyPath<PageHandlers, Handler> & Sendable
  ) -> Registration {
    register { $0.handlers[keyPath: slot] = handler }
  }

  /// A handler for the requests whose URLs match; the newest that matches comes first.
  @discardableResult
  public func register(_ pattern: URLPattern, _ handler: any ResourceRequestHandling) -> Registration {
    register { snapshot in
      snapshot.requests.append(
        RequestHandler(matches: { _, url in url.map { pattern.matches($0) } ?? false }, handler: handler))
    }
  }

  /// A module in the place of one of the same name.
  @discardableResult
  public func registerModule(_ name: String, _ build: (inout ModuleBuilder) -> Void) -> Registration {
    var builder = ModuleBuilder()
    build(&builder)
    let methods = builder.methods
    return register { $0.modules.set(name, methods) }
  }

  /// A component with methods of its own; what there is of it stays.
  @discardableResult
  public func registerComponent(_ type: String, _ build: (inout ModuleBuilder) -> Void = { _ in }) -> Registration {
    var builder = ModuleBuilder()
    build(&builder)
    let methods = builder.methods
    return register { $0.components.add(type, methods: methods) }
  }

  private func remove(_ id: UInt64) { state.withLock { $0.changes.removeAll { $0.id == id } } }
}

extension PageRegistry.Snapshot {
  /// The module's method, or the component's.
  func method(of call: ModuleCall, in tree: ElementTree) -> ModuleMethod? {
    guard let ref = call.ref else { return modules[call.module, call.method] }
    return tree[ref].flatMap { components[$0.type, call.method] }
  }
}

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

  public init(
    images: any ImageLoading, exceptions: any ScriptExceptionHandling, navigator: any Navigating,
    storage: any StorageProviding,
    modals: any ModalPresenting, monitor: (any Monitoring)? = nil
  ) {
    self.images = images
    self.exceptions = exceptions
    self.navigator = navigator
    self.storage = storage
    self.modals = modals
    self.monitor = monitor
  }
}

/// Components that have methods, with what they do.
public struct ComponentTable: Sendable {
  public private(set) var methods: [String: [String: ModuleMethod]] = [:]
  /// What frameworks are told of: the methods of each component.
  private(set) var names: [String: ScriptValue] = [:]

  public init() {}

  public subscript(type: String, method: String) -> ModuleMethod? { methods[type]?[method] }

  public mutating func add(_ type: String, methods added: [String: ModuleMethod] = [:]) {
    methods[type, default: [:]].merge(added) { $1 }
    names[type] = .array((methods[type] ?? [:]).keys.sorted().map { .string($0) })
  }

  /// As `registerComponents` takes them.
  var descriptions: ScriptValue {
    .array(names.sorted { $0.key < $1.key }.map { ["type": .string($0), "methods": $1] })
  }
}
