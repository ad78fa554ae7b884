import HTTPCache
import HTTPTransport
import HTTPTypes
import ScriptEngine

extension PageInstance {
  /// The largest length of a document in bytes; a longer one is refused.
  private static let documentLimit: Int64 = 8 << 20

  /// Returns the bytes of the document that a `web` element shows, or `nil` before they have come.
  ///
  /// - Parameter ref: the element's ref in ``tree``.
  public func document(of ref: String) -> [UInt8]? { documents[ref] }

  /// Loads the document that a `web` element names, so that the app's web view can show it offline too.
  func loadDocument(of ref: String) {
    guard let source = newSource(of: ref) else { return }
    documents[ref] = nil
    setSource(.loading(url: source), of: ref)
    sourceTasks[ref] = Task { @PageActor [weak self] in
      guard let self else { return }
      await self.tell(ref, "pagestart", ["url": .string(source)])
      for await update in self.counted(for: ResourceRequest(source, base: self.url, type: .page)) {
        guard self.tree[ref]?.source?.url == source, !Task.isCancelled else { return }
        await self.receive(update, of: ref, source)
      }
      if self.tree[ref]?.source?.url == source { self.sourceTasks[ref] = nil }
    }
  }

  /// Loads the document of a `web` element again.
  func reloadDocument(of ref: String) {
    guard tree[ref]?.type == "web" else { return }
    setSource(nil, of: ref)
    loadDocument(of: ref)
  }

  private func receive(_ update: ResourceUpdate, of ref: String, _ source: String) async {
    do {
      let loaded: Resource
      switch update {
      case .cached(let found), .network(let found): loaded = found
      case .notModified: return
      case .failed(let failure):
        // A document that is shown stays.
        if documents[ref] != nil { return }
        throw failure.error ?? AnswerStatusError(url: source, status: failure.answer?.status ?? 0)
      }
      guard loaded.status < 400 else { throw AnswerStatusError(url: source, status: loaded.status) }
      let bytes = try await loaded.body.collect(upTo: Self.documentLimit)
      guard tree[ref]?.source?.url == source else { return }
      documents[ref] = bytes
      let type = loaded.response.headerFields[.contentType]
      setSource(.document(url: source, contentType: type, length: bytes.count), of: ref)
      await tell(ref, "pagefinish", ["url": .string(source), "canGoBack": false, "canGoForward": false])
    } catch {
      guard tree[ref]?.source?.url == source, documents[ref] == nil else { return }
      setSource(.failed(url: source, reason: "\(error)"), of: ref)
      await tell(ref, "error", ["type": "page", "errorMsg": .string("\(error)")])
    }
  }
}
