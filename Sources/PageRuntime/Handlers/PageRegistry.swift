import HTTPCache
import HTTPTransport
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
  package struct Snapshot: Sendable {
    package var handlers: PageHandlers
    var modules = ModuleTable()
    var components = ComponentTable()
    var services = ServiceTable()
    var requests = ResourceHandlerChain()
  }

  private struct State {
    var changes: [(id: UInt64, apply: @Sendable (inout Snapshot) -> Void)] = []
    var lastID: UInt64 = 0
  }

  private let defaults: Snapshot
  private let parent: PageRegistry?
  private let state = Mutex(State())

  /// - Parameter defaults: what holds where nothing is registered.
  package init(defaults: PageHandlers) {
    var snapshot = Snapshot(handlers: defaults)
    DefaultModules.register(&snapshot.modules)
    snapshot.components = DefaultComponents.table
    self.defaults = snapshot
    parent = nil
  }

  /// For one page, or some: what is registered here comes after what the parent has.
  public init(parent: PageRegistry) {
    self.parent = parent
    defaults = parent.defaults
  }

  package func snapshot() -> Snapshot {
    var snapshot = parent?.snapshot() ?? defaults
    for change in state.withLock(\.changes) { change.apply(&snapshot) }
    return snapshot
  }

  /// Any change; later ones see what earlier ones did.
  @discardableResult
  func register(_ change: @escaping @Sendable (inout Snapshot) -> Void) -> Registration {
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

  /// The same where there need not be one.
  @discardableResult
  public func register<Handler: Sendable>(
    _ handler: Handler, as slot: any WritableKeyPath<PageHandlers, Handler?> & Sendable
  ) -> Registration {
    register { $0.handlers[keyPath: slot] = handler }
  }

  /// A rewriter of the references that pages write; it gets what those registered before it made.
  @discardableResult
  public func register(_ rewriter: any URLRewriting) -> Registration {
    register { $0.handlers.rewriters.append(rewriter) }
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

  /// A service for every page: a script that calls `service.register(name, {create, refresh, destroy})`.
  ///
  /// It runs once for each group of scripts, before the page. One that throws is reported to the page that was about
  /// to open, by the service's name, and is left out.
  @discardableResult
  public func registerService(_ name: String, source: String) -> Registration {
    register { $0.services.set(name, source: source) }
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
