import Foundation
import PageKit
import Synchronization

/// A page, opened as an app opens it, and everything that came of it.
struct Rendering {
  var bundle: RenderReport.Bundle
  var source: LoadedBundle.Source?
  /// Why the server has not confirmed the bundle's bytes; `nil` where it has.
  var note: String?
  var tree = ElementTree()
  var timings = PageTimings()
  var commands: [RenderCommandText] = []
  var faults: [RenderFault] = []
  /// What the page wants and nobody registered.
  var missing: [MissingPart] = []
  /// Lines that the page logged, by their level.
  var logged: [String: Int] = [:]
  /// What became of the page.
  var state = State.failed
  /// What the page was still busy with when it was looked at.
  var pending = PendingWork()
  var messages: [PageMessage] = []
  var html: String?

  enum State: String {
    /// It has a body.
    case rendered
    /// Its script ran, and made no body.
    case empty
    case failed
  }

  /// A render command in a line.
  typealias RenderCommandText = String

  struct Request {
    var url: PageURL
    /// How long the server was waited for already.
    var timeWaited: Duration
    /// Runs the file's text instead of asking the store.
    var isFile: Bool
    var data: ScriptValue
    var events: [FiredEvent]
    var wait: Duration
    /// How long a timer may have to go to be waited for.
    var timers: Duration
    /// The document for a browser: nil for none, else whether pictures stand in it.
    var htmlEmbedding: Bool?
    /// Shown until the page's bundle is here.
    var notice: WaitNotice?
  }

  /// Opens the page, fires the events, and ends it; what the script logs goes to standard error meanwhile.
  static func run(_ request: Request, on host: PageHost) async -> Rendering {
    let url = request.url
    var result = Rendering(bundle: .init(name: nil, url: url.text))
    let thrown = ThrownExceptions()
    let token = host.pages.registry.register(thrown as any ScriptExceptionHandling, as: \.exceptions)
    defer { token.remove() }
    let page = await host.page()
    let reader = FaultReader(host.resources, url: url) {
      if request.isFile { return url.filePath.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } }
      return await page.bundle.map { String(decoding: $0.bytes, as: UTF8.self) }
    }
    let listener = Task { await listen(to: page, reader, request.notice) }
    let fault = await open(page, request)
    if let fault { result.faults.append(fault) }
    let phase = await page.phase
    if phase == .live || phase == .empty {
      result.pending = await page.settle(within: request.wait, timers: request.timers)
      for event in request.events {
        guard let fault = await fire(event, page) else {
          result.pending = await page.settle(within: request.wait, timers: request.timers)
          continue
        }
        result.faults.append(fault)
      }
    }
    (result.timings, result.messages) = await (page.timings, page.messages)
    if let isEmbedding = request.htmlEmbedding, await page.tree.body != nil {
      result.html = await page.preview(title: url.readable, embedding: isEmbedding).html
    }
    let hasFailed = await page.phase == .failed || fault != nil
    result.state = await hasFailed ? .failed : page.tree.body == nil ? .empty : .rendered
    if result.state == .empty {
      result.faults.append(RenderFault("the page has made no body: there is nothing to see", url: url.text))
    }
    (result.tree, result.source, result.note) = await (page.tree, page.bundle?.source, page.bundle?.note)
    result.bundle.name = await name(of: url, in: page.view?.release, host)
    result.bundle.md5 = await page.bundle?.md5.hex ?? (request.isFile ? RenderReport.Bundle.md5(of: url) : nil)
    await page.destroy()
    let heard = await listener.value
    (result.commands, result.missing, result.logged) = (heard.commands, heard.missing, heard.logged)
    // What the script threw came before what was wrong with the asking.
    result.faults = heard.faults + thrown.faults(besides: page.id) + result.faults
    return result
  }

  /// The name that a release, or any that is stored, has for a page.
  private static func name(of url: PageURL, in release: StoredRelease?, _ host: PageHost) async -> String? {
    let store = host.store
    guard let release else { return try? await store.bundle(at: url)?.bundle.name }
    if let exact = try? await store.bundle(at: url, in: release) { return exact.bundle.name }
    let identity = (try? await store.identity(of: release)) ?? host.configuration.opening.identity
    return try? await store.bundle(at: identity.reduced(url), in: release)?.bundle.name
  }

  private static func open(_ page: PageInstance, _ request: Request) async -> RenderFault? {
    do {
      if request.isFile, let path = request.url.filePath {
        let bytes = try Self.read(path)
        if let fault = BundleFault(in: bytes) {
          return RenderFault("\(request.url.readable) is no bundle: \(fault)", url: request.url.text)
        }
        try await page.render(String(decoding: bytes, as: UTF8.self), at: request.url, data: request.data)
      } else {
        var options = PageOptions()
        options.timeWaited = request.timeWaited
        try await page.renderByURL(request.url.text, options: options, data: request.data)
      }
      return nil
    } catch is PageError {
      // The page's events tell.
      return nil
    } catch {
      return RenderFault("\(request.url.readable) cannot be read: \(error)", url: request.url.text)
    }
  }

  /// Also what has no length of its own: a pipe, or a device.
  ///
  /// - Throws: ``CommandError``.
  private static func read(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "r") else { throw CommandError(String(cString: strerror(errno))) }
    defer { fclose(file) }
    let limit = Int(ManifestLimits.standard.fileBytes)
    var bytes: [UInt8] = []
    while bytes.count <= limit {
      let piece = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
        count = fread(buffer.baseAddress, 1, buffer.count, file)
      }
      if piece.isEmpty { break }
      bytes += piece
    }
    guard ferror(file) == 0 else { throw CommandError(String(cString: strerror(errno))) }
    guard bytes.count <= limit else { throw CommandError("it has more than the limit of \(limit) bytes") }
    return bytes
  }

  private static func fire(_ event: FiredEvent, _ page: PageInstance) async -> RenderFault? {
    if let fault = event.fault(in: await page.tree) {
      return RenderFault("--fire \(event.ref):\(event.type): \(fault)")
    }
    do {
      try await page.fireEvent(event.ref, event.type)
    } catch {
      return RenderFault("--fire \(event.ref):\(event.type): \(error)")
    }
    return nil
  }

  /// What a page's events say.
  private struct Heard {
    var commands: [RenderCommandText] = []
    var faults: [RenderFault] = []
    var missing: [MissingPart] = []
    var logged: [String: Int] = [:]
  }

  private static func listen(to page: PageInstance, _ reader: FaultReader, _ notice: WaitNotice?) async -> Heard {
    var heard = Heard()
    func say(_ level: String, _ text: String) {
      Terminal.error.line("\(Terminal.error.styled("\(level):", .dim)) \(text)")
    }
    for await event in page.events {
      switch event {
      case .phase(.loading): break
      default: notice?.end()
      }
      switch event {
      case .commands(let done): heard.commands += done.map(\.description)
      case .log(let level, let text):
        heard.logged[level, default: 0] += 1
        say(level, text)
      case .missing(let part):
        heard.missing.append(part)
        say("warn", "\(part)")
      case .message(let message): Terminal.error.line(message.outlineText)
      case .exception(let exception): heard.faults.append(await reader.fault(of: exception))
      case .failed(let error): heard.faults.append(await reader.fault(of: error))
      default: break
      }
    }
    return heard
  }
}

/// What scripts throw; a page's own comes with its events, that of pages it embeds or pushes only here.
private final class ThrownExceptions: ScriptExceptionHandling {
  private let found = Mutex<[(page: String, fault: RenderFault)]>([])

  func faults(besides page: String) -> [RenderFault] {
    found.withLock { $0.filter { $0.page != page }.map(\.fault) }
  }

  func handle(_ exception: ScriptException, page: String, url: PageURL?) {
    found.withLock { $0.append((page, RenderFault(exception.located))) }
  }
}
