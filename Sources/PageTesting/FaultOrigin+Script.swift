import HTTPTypes

// MARK: - What is served

extension FaultOrigin {
  /// Serves bytes at a path, in place of what was served there before.
  ///
  /// `GET` and `HEAD` are answered, `If-None-Match`, `If-Modified-Since` (the very date), `Range` with one range of
  /// bytes, and `If-Range`. A response that has begun keeps its bytes.
  ///
  /// - Parameters:
  ///   - etag: with its quotes, and `W/` for a weak one.
  ///   - lastModified: as HTTP writes dates.
  ///   - headers: more fields, which win over the others.
  public func serve(
    _ path: String, _ bytes: some Sequence<UInt8>, contentType: String = "text/javascript", etag: String? = nil,
    lastModified: String? = nil, headers: HTTPFields = [:]
  ) {
    let content = OriginContent(
      Array(bytes), contentType: contentType, etag: etag, lastModified: lastModified, headers: headers)
    monitor.change { $0.routes[path] = .content(content) }
  }

  /// Answers requests for a path with what a handler returns; 500 when it throws.
  ///
  /// The handler's task is cancelled when the client leaves.
  public func respond(
    _ path: String, with handler: @escaping @Sendable (OriginRequest) async throws -> OriginResponse
  ) {
    monitor.change { $0.routes[path] = .handler(handler) }
  }

  /// Takes away what ``serve(_:_:contentType:etag:lastModified:headers:)`` or ``respond(_:with:)`` put at exactly
  /// this path.
  public func remove(_ path: String) {
    monitor.change { $0.routes[path] = nil }
  }
}

// MARK: - What is answered early

extension FaultOrigin {
  /// Answers requests for a path as soon as their head has come. Their bodies are read and thrown away, and no `100` is
  /// sent.
  public func answerHeads(_ path: String) {
    monitor.change { _ = $0.headPatterns.insert(path) }
  }
}

// MARK: - What goes wrong

extension FaultOrigin {
  /// Spoils the next requests for a path, one fault each, in the order in which they come.
  ///
  /// Replaces what is left of an earlier script. Afterwards ``always(_:_:)`` holds again.
  public func script(_ path: String, _ faults: [Fault]) {
    monitor.change { $0.scripts[path] = faults.isEmpty ? nil : faults[...] }
  }

  /// Spoils every request for a path that no script is for; `.normal` ends that.
  public func always(_ path: String, _ fault: Fault) {
    monitor.change { $0.standingFaults[path] = fault == .normal ? nil : fault }
  }

  /// What holds for every response from now on.
  public var baseline: Baseline {
    get { monitor.read(\.baseline) }
    set { monitor.change { $0.baseline = newValue } }
  }
}

// MARK: - What has to wait

extension FaultOrigin {
  /// Makes responses for a path wait for ``release(_:)``. What they say is decided when their request arrives.
  public func hold(_ path: String) {
    monitor.change { _ = $0.heldPatterns.insert(path) }
  }

  /// Lets the held responses go, in the order of their requests, and later ones at once.
  public func release(_ path: String) {
    monitor.change { _ = $0.heldPatterns.remove(path) }
  }
}
