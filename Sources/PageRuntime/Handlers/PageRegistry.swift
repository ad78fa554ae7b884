import HTTPCache
import HTTPTransport
import ScriptEngine
import Synchronization

/// The handlers, modules, components and services that an app registers for its pages.
///
/// A page copies the registry's state when it is made. A later registration is for later pages.
///
///     let token = host.pages.registry.register(ThumbnailLoader() as any ImageLoading, as: \.images)
///     token.remove()  // for pages that are made from now on
public final class PageRegistry: Sendable {
  /// A token that takes back one registration.
  public struct Registration: Sendable {
    fileprivate let id: UInt64
    fileprivate weak let registry: PageRegistry?

    /// Removes what was registered, for pages that are made from now on.
    public func remove() { registry?.remove(id) }
  }

  /// The state of the registry that one page has.
  package struct Snapshot: Sendable {
    package var handlers: PageHandlers
    var modules = ModuleTable()
    var components = ComponentTable()
    /// The services, in the order of their registration.
    var services: [(name: String, source: String)] = []
    /// The handlers of requests, and the requests that they are for, newest last.
    var requestHandlers: [(matches: @Sendable (ResourceRequest, PageURL?) -> Bool, link: ResourceHandlerLink)] = []
  }

  private let defaults: Snapshot
  private let parent: PageRegistry?
  private let state = Mutex<(changes: [(id: UInt64, apply: @Sendable (inout Snapshot) -> Void)], lastID: UInt64)>(
    ([], 0))

  /// - Parameter defaults: the handlers of the slots for which none is registered.
  package init(defaults: PageHandlers) {
    var snapshot = Snapshot(handlers: defaults)
    snapshot.modules = .builtIn
    snapshot.components = .builtIn
    self.defaults = snapshot
    parent = nil
  }

  /// A registry for some pages only. Its registrations come after those of the parent, which holds for these pages too.
  public init(parent: PageRegistry) {
    self.parent = parent
    defaults = parent.defaults
  }

  package func snapshot() -> Snapshot {
    var snapshot = parent?.snapshot() ?? defaults
    for change in state.withLock(\.changes) { change.apply(&snapshot) }
    return snapshot
  }

  /// Registers a change of the state. It is applied after the changes that were registered before it.
  @discardableResult
  func register(_ change: @escaping @Sendable (inout Snapshot) -> Void) -> Registration {
    let id = state.withLock { state in
      state.lastID += 1
      state.changes.append((state.lastID, change))
      return state.lastID
    }
    return Registration(id: id, registry: self)
  }

  /// Registers a handler, in the place of the one in its slot.
  ///
  /// - Parameters:
  ///   - handler: written `as any ImageLoading`, so that its type is that of the slot.
  ///   - slot: a key path such as `\.images`.
  @discardableResult
  public func register<Handler: Sendable>(
    _ handler: Handler, as slot: any WritableKeyPath<PageHandlers, Handler> & Sendable
  ) -> Registration {
    register { $0.handlers[keyPath: slot] = handler }
  }

  /// Registers a handler for a slot that may be empty, such as `\.monitor`.
  @discardableResult
  public func register<Handler: Sendable>(
    _ handler: Handler, as slot: any WritableKeyPath<PageHandlers, Handler?> & Sendable
  ) -> Registration {
    register { $0.handlers[keyPath: slot] = handler }
  }

  /// Registers a rewriter of the references that pages write. It gets the result of the rewriters before it.
  @discardableResult
  public func register(_ rewriter: any URLRewriting) -> Registration {
    register { $0.handlers.rewriters.append(rewriter) }
  }

  /// Registers a module, in the place of one of the same name.
  ///
  /// - Parameters:
  ///   - name: the argument of the script's `weex.requireModule`.
  ///   - build: adds the methods.
  @discardableResult
  public func registerModule(_ name: String, _ build: (inout ModuleBuilder) -> Void) -> Registration {
    var builder = ModuleBuilder()
    build(&builder)
    let methods = builder.methods
    return register { $0.modules.set(name, methods) }
  }

  /// Registers modules without methods, where there are none of these names: calls of them do nothing, and return
  /// `undefined`.
  package func registerIdleModules(_ names: [String]) {
    register { snapshot in
      for name in names where snapshot.modules.modules[name] == nil { snapshot.modules.set(name, [:]) }
    }
  }

  /// Registers a component with methods of its own. Methods that it has already stay.
  ///
  /// A call of a component's method returns nothing to the script, and runs after the script has returned:
  /// ``ModuleBuilder/callbacks(_:_:)`` gives results. An error that a method throws is an exception of the page.
  ///
  /// - Parameters:
  ///   - type: the type of its elements.
  ///   - build: adds the methods.
  @discardableResult
  public func registerComponent(_ type: String, _ build: (inout ModuleBuilder) -> Void = { _ in }) -> Registration {
    var builder = ModuleBuilder()
    build(&builder)
    let methods = builder.methods
    return register { $0.components.add(type, methods: methods) }
  }

  /// Registers a service: a script that calls `service.register(name, {create, refresh, destroy})`.
  ///
  /// It runs once for each script engine, before the page. If it throws, the page gets an exception with the service's
  /// name and opens without the service.
  @discardableResult
  public func registerService(_ name: String, source: String) -> Registration {
    register { snapshot in
      snapshot.services.removeAll { $0.name == name }
      snapshot.services.append((name, source))
    }
  }

  private func remove(_ id: UInt64) { state.withLock { $0.changes.removeAll { $0.id == id } } }
}

extension PageRegistry.Snapshot {
  /// The method of a module or of a component; `nil` if it is not registered.
  func method(of call: ModuleCall, in tree: ElementTree) -> ModuleMethod? {
    guard let ref = call.ref else { return modules[call.module, call.method] }
    return tree[ref].flatMap { components[$0.type, call.method] }
  }
}

/// Handlers of requests. Of the handlers that match a request, the newest comes first.
extension PageRegistry {
  /// Registers a handler that stands between pages and the loader.
  ///
  /// - Parameters:
  ///   - pattern: matches the request's URL.
  ///   - types: the types of requests; `nil` for all.
  @discardableResult
  public func register(
    _ pattern: URLPattern, types: Set<ResourceType>? = nil, _ handler: any ResourceRequestHandling
  ) -> Registration {
    register(passing: handler, where: Self.matching(pattern, types))
  }

  /// Registers a handler that stands between pages and the loader, for all URLs.
  ///
  /// - Parameter types: the types of requests; `nil` for all.
  @discardableResult
  public func register(types: Set<ResourceType>? = nil, _ handler: any ResourceRequestHandling) -> Registration {
    register(.any, types: types, handler)
  }

  /// Registers a handler that stands between pages and the loader, for requests of the app's choice.
  ///
  /// - Parameter matches: gets the request, and its URL if its reference has one.
  @discardableResult
  public func register(
    where matches: @escaping @Sendable (ResourceRequest, PageURL?) -> Bool, _ handler: any ResourceRequestHandling
  ) -> Registration {
    register(passing: handler, where: matches)
  }

  /// Registers a handler that answers in the place of a server.
  ///
  /// - Parameters:
  ///   - pattern: matches the request's URL.
  ///   - types: the types of requests; `nil` for all.
  @discardableResult
  public func register(
    _ pattern: URLPattern, types: Set<ResourceType>? = nil, _ handler: any ResourceAnswering
  ) -> Registration {
    register(answering: handler, where: Self.matching(pattern, types))
  }

  /// Registers a handler that answers in the place of a server, for all URLs.
  ///
  /// - Parameter types: the types of requests; `nil` for all.
  @discardableResult
  public func register(types: Set<ResourceType>? = nil, _ handler: any ResourceAnswering) -> Registration {
    register(.any, types: types, handler)
  }

  /// Registers a handler that answers in the place of a server, for requests of the app's choice.
  ///
  /// - Parameter matches: gets the request, and its URL if its reference has one.
  @discardableResult
  public func register(
    where matches: @escaping @Sendable (ResourceRequest, PageURL?) -> Bool, _ handler: any ResourceAnswering
  ) -> Registration {
    register(answering: handler, where: matches)
  }

  /// Registers the link of a handler that passes requests on.
  private func register(
    passing handler: any ResourceRequestHandling, where matches: @escaping @Sendable (ResourceRequest, PageURL?) -> Bool
  ) -> Registration {
    register {
      $0.requestHandlers.append(
        (matches, { _, _, _, next in { request in handler.updates(for: request, next: next) } }))
    }
  }

  /// Registers the link of a handler that answers requests behind the cache.
  private func register(
    answering handler: any ResourceAnswering, where matches: @escaping @Sendable (ResourceRequest, PageURL?) -> Bool
  ) -> Registration {
    register {
      let link: ResourceHandlerLink = { page, index, loader, next in
        { request in
          loader.updates(for: request, from: "\(page)/\(index)") { request in
            try await handler.response(
              to: request, ResourceExchange(page: page, request: request, loader: loader, next: next))
          }
        }
      }
      $0.requestHandlers.append((matches, link))
    }
  }

  private static func matching(
    _ pattern: URLPattern, _ types: Set<ResourceType>?
  ) -> @Sendable (ResourceRequest, PageURL?) -> Bool {
    { request, url in
      guard types?.contains(request.type) ?? true else { return false }
      // A request without a URL is matched only by a pattern that matches all.
      return url.map { pattern.matches($0) } ?? (pattern == .any)
    }
  }
}
