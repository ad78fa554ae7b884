import PageRuntime

extension PageHost {
  /// Ends all work, and returns when it has ended: the launch's preload, pages rendered ahead and pushed, requests,
  /// downloads and background revalidation. The store stays valid.
  ///
  /// Call it before the process exits, after the app has destroyed its own pages and cancelled its own preloads. The host
  /// cannot be used afterwards.
  public func shutDown() async {
    preloading?.cancel()
    await prerenderer.empty()
    await stack.empty()
    await trials?.shutDown()
    await transport.shutDown()
    await resources.shutDown()
    await bundles.shutDown()
    await verifier?.shutDown()
    await pages.frameworks.shutDown()
    _ = await preloading?.report()
  }
}
