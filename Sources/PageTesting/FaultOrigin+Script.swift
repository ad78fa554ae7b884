import HTTPTypes

// MARK: - Contents

extension FaultOrigin {
  /// Serves bytes at a path, in place of its previous content.
  ///
  /// The origin supports `GET` and `HEAD`, `If-None-Match`, `If-Modified-Since` (with the exact date), `Range` with one
  /// range of bytes, and `If-Range`. A response that has begun keeps its bytes.
  ///
  /// - Parameters:
  ///   - path: the path.
  ///   - bytes: the body.
  ///   - contentType: the value of `Content-Type`.
  ///   - etag: the value of `ETag`, with quotes, and with `W/` for a weak one.
  ///   - lastModified: the value of `Last-Modified`, an HTTP date.
  ///   - headers: further fields; they replace those of the other parameters.
  public func serve(
    _ path: String, _ bytes: some Sequence<UInt8>, contentType: String = "text/javascript", etag: String? = nil,
    lastModified: String? = nil, headers: HTTPFields = [:]
  ) {
    let content = OriginContent(
      Array(bytes), contentType: contentType, etag: etag, lastModified: lastModified, headers: headers)
    monitor.change { $0.routes[path] = .content(content) }
  }

  /// Answers requests for a path with the response of a handler, or with 500 if it throws.
  ///
  /// The handler's task is cancelled when the client disconnects.
  public func respond(
    _ path: String, with handler: @escaping @Sendable (OriginRequest) async throws -> OriginResponse
  ) {
    monitor.change { $0.routes[path] = .handler(handler) }
  }

  /// Removes the content or the handler of exactly this path.
  public func remove(_ path: String) {
    monitor.change { $0.routes[path] = nil }
  }
}

// MARK: - Early responses

extension FaultOrigin {
  /// Answers requests for a path as soon as their heads have arrived. Their bodies are read and discarded, and no `100`
  /// is sent.
  package func answerHeads(_ path: String) {
    monitor.change { _ = $0.headPatterns.insert(path) }
  }
}

// MARK: - Faults

extension FaultOrigin {
  /// Applies the faults to the next requests for a path, one to each, in order.
  ///
  /// The faults replace the rest of an earlier script. After the last one, ``always(_:_:)`` applies.
  public func script(_ path: String, _ faults: [Fault]) {
    monitor.change { $0.scripts[path] = faults.isEmpty ? nil : faults[...] }
  }

  /// Applies the fault to every request for a path without a script, until ``Fault/normal`` is set.
  public func always(_ path: String, _ fault: Fault) {
    monitor.change { $0.standingFaults[path] = fault == .normal ? nil : fault }
  }

  /// The latency and speed of all later responses.
  public var baseline: Baseline {
    get { monitor.read(\.baseline) }
    set { monitor.change { $0.baseline = newValue } }
  }
}

// MARK: - Holding responses

extension FaultOrigin {
  /// Holds responses for a path until ``release(_:)``. Their contents are determined when the request arrives.
  public func hold(_ path: String) {
    monitor.change { _ = $0.heldPatterns.insert(path) }
  }

  /// Sends the held responses in the order of their requests, and later ones at once.
  public func release(_ path: String) {
    monitor.change { _ = $0.heldPatterns.remove(path) }
  }
}
