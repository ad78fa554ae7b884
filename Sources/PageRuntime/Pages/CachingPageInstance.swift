import Bundles
import HTTPTransport
import ScriptEngine

/// A page that opens from the local store if the server's MD5 confirms the stored bytes.
///
/// It overrides the step that downloads: the store is asked first, and a download is checked and stored before it runs.
/// The script sees the page's remote URL in both cases.
///
///     final class BuiltInPage: CachingPageInstance {
///       override func renderByURL(_ text: String, options: PageOptions, data: ScriptValue) async throws {
///         if let source = packaged[text] { return try await render(source, options: options, data: data) }
///         try await super.renderByURL(text, options: options, data: data)
///       }
///     }
@PageActor open class CachingPageInstance: PageInstance {
  /// Opens the page from the store or the server, by the policy of its opening.
  ///
  /// - Throws: ``PageError``; the page is then in the phase `failed`.
  open override func renderByURL(
    _ text: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    var open = OpenOptions(policy: options.policy, view: inheritedView)
    open.timeWaited = options.timeWaited
    try await self.open(text, options: options, data: data, open)
  }

  /// Opens the page again, with the newest bytes that its policy allows.
  ///
  /// - Parameter ignoringCache: `true` takes the server's bundle whatever is stored.
  /// - Throws: ``PageError``; the page is then in the phase `failed`.
  open override func reload(ignoringCache: Bool = false) async throws {
    guard let url else { return }
    let open = OpenOptions(policy: lastOptions.policy, ignoresStore: ignoringCache, view: inheritedView)
    try await self.open(url.text, options: lastOptions, data: lastData, open)
  }

  private func open(
    _ text: String, options: PageOptions, data: ScriptValue, _ open: OpenOptions
  ) async throws {
    guard let bundles = environment.bundles else {
      return try await super.renderByURL(text, options: options, data: data)
    }
    guard let url = PageURL(text) else { throw fail(.invalidURL(text)) }
    try begin(url)
    let news = bundles.news
    try await orFallBack(options: options, data: data) {
      let loaded = try await loading { try await bundles.load(url, options: open) }
      bundle = loaded
      follow(news, since: loaded)
      var options = options
      options.bundleURL = options.bundleURL ?? text
      let opening = began
      await showSnapshot(of: loaded, options: options, data: data)
      let trial = await environment.trials?.begin(loaded)
      // Another opening may have begun meanwhile.
      guard phase == .loading, began == opening else { throw superseded }
      guard let trial else { return try await show(loaded, options: options, data: data) }
      self.trial = trial
      try await self.try(loaded, options: options, data: data, trial)
    }
  }

  private func show(_ loaded: LoadedBundle, options: PageOptions, data: ScriptValue) async throws {
    try await render(String(decoding: loaded.bytes, as: UTF8.self), options: options, data: data)
  }

  private func follow(_ news: AsyncStream<BundleNews>, since shown: LoadedBundle) {
    newsTask = Task { [feed] in
      for await item in news where item.concerns(shown) { feed.send(.updateAvailable(item)) }
    }
  }

  // MARK: Releases on trial

  /// Runs a bundle whose release is on trial. If it fails, the opening goes on with a good release.
  private func `try`(
    _ loaded: LoadedBundle, options: PageOptions, data: ScriptValue, _ trial: OpeningTrial
  ) async throws {
    do {
      survivesFailures = true
      defer { if self.trial === trial { survivesFailures = false } }
      try await show(loaded, options: options, data: data)
    } catch {
      guard self.trial === trial, let error = error as? PageError else { throw error }
      try await goOn(after: error, trial, options: options, data: data)
      return
    }
    guard phase == .empty, self.trial === trial else { return }
    guard underway(at: .now).contains(where: { $0.item.isWaitedFor(timers: trial.patience) }) else {
      return try await goOn(afterEmptyPage: trial, options: options, data: data)
    }
    // The page may make its elements when its requests have ended.
    Task { [weak self] in
      await self?.settle(within: trial.patience, timers: trial.patience)
      guard let self, phase == .empty, self.trial === trial else { return }
      try? await orFallBack(options: options, data: data) {
        try await goOn(afterEmptyPage: trial, options: options, data: data)
      }
    }
  }

  private func goOn(after error: PageError, _ trial: OpeningTrial, options: PageOptions, data: ScriptValue) async throws
  {
    guard let failure = TrialFailure(error, page: trial.url) else {
      trial.abandon()
      switch error {
      case .destroyed, .superseded: throw error
      default: throw fail(error)
      }
    }
    guard try await goOn(after: failure, trial, options: options, data: data) else { throw fail(error) }
    if case .script(_, .exception(let exception)) = error { report(exception) }
  }

  /// A page that stays empty without a good release is left as it is.
  private func goOn(afterEmptyPage trial: OpeningTrial, options: PageOptions, data: ScriptValue) async throws {
    let failure = TrialFailure(.emptyPage, page: trial.url.text, message: "the page stayed empty")
    _ = try await goOn(after: failure, trial, options: options, data: data)
  }

  /// - Returns: `false` if there is no good release with the page.
  private func goOn(
    after failure: TrialFailure, _ trial: OpeningTrial, options: PageOptions, data: ScriptValue
  ) async throws -> Bool {
    let good = await trial.failed(failure)
    guard self.trial === trial, phase != .destroyed else { throw superseded }
    // A page within another one stays in that one's release.
    guard inheritedView == nil, let good, let bundles = environment.bundles else { return false }
    let (url, began) = (trial.url, began)
    let open = OpenOptions(view: good, reason: "\(failure)")
    let loaded: LoadedBundle
    do {
      loaded = try await loading { try await bundles.load(url, options: open) }
    } catch let error as PageError {
      throw error
    } catch {
      return false
    }
    let news = bundles.news
    try begin(url)
    self.began = began
    bundle = loaded
    follow(news, since: loaded)
    feed.send(.replaced(failure, release: good.release.name))
    try await show(loaded, options: options, data: data)
    return true
  }
}

/// A replacement for a page that cannot open.
///
///     configuration.pages.fallback = { url, error in
///       if case .bundle(BundleError.disabled(_, let message)) = error { return .placeholder(message) }
///       return nil
///     }
public enum PageFallback: Hashable, Sendable {
  /// A web page, which the app shows in a web view.
  case html(PageURL)
  /// The text of a bundle that came with the app. It runs as the page.
  case bundle(String)
  /// A text that the app shows.
  case placeholder(String)
}

/// Chooses a fallback by the page's URL and the error, or returns `nil` if there is none.
public typealias FallbackChoice = @Sendable (PageURL?, PageError) -> PageFallback?

extension PageInstance {
  /// Shows the fallback, if there is one.
  ///
  /// - Throws: `error`, unless a bundle runs as the fallback.
  func fallBack(from error: PageError, options: PageOptions, data: ScriptValue) async throws {
    guard phase == .failed, let choice = options.fallback ?? environment.fallback(url, error) else { throw error }
    shownFallback = (choice, error)
    feed.send(.fallback(choice, reason: error))
    guard case .bundle(let source) = choice else { throw error }
    var packaged = options
    packaged.bundleURL = packaged.bundleURL ?? url?.text
    packaged.type = nil
    do {
      try await render(source, options: packaged, data: data)
    } catch {
      // The page's own error is the one to be fixed, not that of its fallback.
      throw shownFallback?.reason ?? error
    }
    lastOptions = options
  }
}
