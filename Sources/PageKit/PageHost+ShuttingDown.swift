import PageRuntime

extension PageHost {
  /// Ends everything that is under way, and returns when it has ended: the launch's preload, pages rendered ahead and
  /// pushed, requests, downloads, and what goes on behind answers. What is stored stays good.
  ///
  /// To be called before the process exits, after the app's own pages are destroyed and its own preloads are cancelled.
  /// The host is of no use afterwards.
  public func shutDown() async {
    preloading?.cancel()
    await prerenderer.empty()
    await stack.empty()
    await transport.shutDown()
    await resources.shutDown()
    await bundles.shutDown()
    await verifier?.shutDown()
    await pages.frameworks.shutDown()
    _ = await preloading?.report()
  }
}
