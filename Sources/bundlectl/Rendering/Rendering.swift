import Foundation
import PageKit
import PageWorkers
import Synchronization

/// The rendering of a page, opened as an app opens it, and its results.
struct Rendering {
  /// The bundle's name in its release, its URL and its MD5, as far as they are known.
  var bundle: (name: String?, url: String, md5: String?)
  /// The page when the last event was fired.
  var look = PageLook()
  /// The page's changes of the tree, what it uses and is not registered, and its logged lines.
  var notices = NoticeListener.Notices()
  var faults: [RenderFault] = []
  /// The result of the page.
  var state = State.failed
  var html: String?
  /// The file of a picture.
  var picture: [UInt8]?

  enum State: String {
    /// The page has a body.
    case rendered
    /// The script ran and created no body.
    case empty
    case failed
  }

  struct Request: Sendable {
    var url: PageURL
    /// The time already spent waiting for the server.
    var timeWaited: Duration
    /// The file's text, instead of a bundle from the store.
    var isFile: Bool
    var data: ScriptValue
    var events: [FiredEvent]
    var wait: Duration
    /// The longest remaining time of timers that are awaited.
    var timers: Duration
    /// `nil` for no HTML document; else `true` to embed pictures.
    var htmlEmbedding: Bool?
    /// How the page is drawn; `nil` for no picture.
    var picture: PictureOptions?
    /// `true` to record each change of the tree.
    var keepsCommands: Bool
    var limits: WorkerLimits
    /// The page's time, random numbers, zone and locale; `nil` for those of the machine.
    var determinism: PageDeterminism?
    /// The file to record the page into; `nil` for none.
    var recording: RecordingFile?
    /// `true` to run the page in this process.
    var isInProcess: Bool
    /// Shown until the page's bundle has arrived.
    var notice: WaitNotice?
  }

  /// Opens the page, fires the events, and ends it. Logs of the script go to standard error.
  ///
  /// - Throws: ``DescribedError`` if there is no engine or worker for the page's script.
  static func run(_ request: Request, on host: PageHost) async throws -> Rendering {
    let listener = NoticeListener(request.notice)
    let page: any RenderedPage =
      if request.isInProcess {
        await OwnPage(request, on: host, listener)
      } else {
        WorkerPage(request, on: host, listener, request.limits)
      }
    do {
      return try await run(request, page, listener, on: host)
    } catch {
      _ = await page.end()
      throw error
    }
  }

  /// Opens a page whose notices go to `listener`, fires the events, and ends it.
  static func run(
    _ request: Request, _ page: any RenderedPage, _ listener: NoticeListener, on host: PageHost
  ) async throws -> Rendering {
    let url = request.url
    var result = Rendering(bundle: (nil, url.text, nil))
    let fault = try await page.open()
    if let fault { result.faults.append(fault) }
    for event in await page.look().hasRun ? request.events : [] {
      if var fault = await page.fire(event) {
        fault.message = "--fire \(event.ref):\(event.type): \(fault.message)"
        result.faults.append(fault)
      }
    }
    // Elements that something else refers to would be copied at each event.
    let look = await page.look()
    if let isEmbedding = request.htmlEmbedding, look.tree.body != nil {
      do {
        result.html = try await page.html(title: url.readable, embedding: isEmbedding)
      } catch let fault as RenderFault {
        result.faults.append(fault)
      }
    }
    if let options = request.picture, look.tree.body != nil {
      do {
        result.picture = try await page.picture(options)
      } catch let fault as RenderFault {
        result.faults.append(fault)
      }
    }
    let ending = await page.end()
    // The reason is told once: a failed page has one, and so has a call that found the process ended.
    if let ending, look.phase != .failed, !result.faults.contains(where: { $0.message == ending.message }) {
      result.faults.append(ending)
    }
    let hasFailed = look.phase == .failed || fault != nil || ending != nil
    result.state = hasFailed ? .failed : look.tree.body == nil ? .empty : .rendered
    if result.state == .empty {
      result.faults.append(RenderFault("the page has created no body, so there is nothing to show", url: url.text))
    }
    result.look = look
    result.bundle.name = await name(of: url, in: look.bundle?.view?.release, host)
    result.bundle.md5 = look.bundle?.md5.hex ?? (request.isFile ? md5(ofFile: url) : nil)
    let reader = FaultReader(host.resources, url: url) { await page.source() }
    var notices = listener.finish()
    // The notice of a failure is lost if the page's process is killed before it was sent.
    if let failure = look.failure, !notices.hasFailure { notices.failures.append(.failed(failure)) }
    result.notices = notices
    // Errors of the script precede errors of events.
    result.faults = await faults(notices, reader, request) + result.faults
    // No failed page goes without a reason.
    if hasFailed, result.faults.isEmpty, let ending { result.faults = [ending] }
    if hasFailed, result.faults.isEmpty {
      result.faults = [RenderFault("\(url.readable) has failed, and its process gave no reason", url: url.text)]
    }
    return result
  }

  /// The page's errors, with places in the bundle's sources.
  private static func faults(
    _ notices: NoticeListener.Notices, _ reader: FaultReader, _ request: Request
  ) async -> [RenderFault] {
    var faults: [RenderFault] = []
    for failure in notices.failures {
      switch failure {
      case .exception(let fault): faults.append(await reader.fault(of: fault))
      case .failed(let failure):
        if let stop = failure.stop {
          faults.append(request.limits.fault(stop, request.url))
        } else if let exception = failure.exception {
          faults.append(await reader.fault(of: exception))
        } else {
          faults.append(RenderFault(failure.text, url: request.url.text))
        }
      default: break
      }
    }
    faults += notices.thrown.map { RenderFault($0) }
    if notices.hasMoreFaults {
      faults.append(RenderFault("more errors occurred than are kept: these are the first \(faults.count)"))
    }
    if notices.hasMoreCommands {
      faults.append(
        RenderFault("the page made more changes than are kept: these are the first \(notices.commands.count)"))
    }
    return faults
  }

  /// The MD5 of a file; `nil` if it cannot be read.
  private static func md5(ofFile url: PageURL) -> String? {
    let data = url.filePath.flatMap { FileManager.default.contents(atPath: $0) }
    return data.flatMap { try? ContentDigests(of: Array($0)).md5.hex }
  }

  /// The name of a page in its release, or in another stored one.
  private static func name(of url: PageURL, in release: StoredRelease?, _ host: PageHost) async -> String? {
    let store = host.store
    guard let release else { return try? await store.bundle(at: url)?.bundle.name }
    if let exact = try? await store.bundle(at: url, in: release) { return exact.bundle.name }
    let identity = (try? await store.identity(of: release)) ?? host.configuration.pages.opening.identity
    return try? await store.bundle(at: identity.reduced(url), in: release)?.bundle.name
  }

}

/// A page that is rendered, in this process or in a worker. Its notices go to a ``NoticeListener``.
protocol RenderedPage: Sendable {
  /// Opens the page, and waits for its pending work.
  ///
  /// - Returns: the error, if neither a notice nor the page's state reports it.
  /// - Throws: ``DescribedError`` if there is no engine or worker for its script.
  func open() async throws -> RenderFault?
  /// Fires an event, and waits for the page's pending work.
  ///
  /// - Returns: the reason why it could not be fired, such as that no element listens to it; `nil` if it was.
  func fire(_ event: FiredEvent) async -> RenderFault?
  /// The current state.
  func look() async -> PageLook
  /// The page as an HTML document.
  ///
  /// - Throws: ``RenderFault``.
  func html(title: String, embedding: Bool) async throws -> String
  /// The page as a picture.
  ///
  /// - Throws: ``RenderFault``.
  func picture(_ options: PictureOptions) async throws -> [UInt8]
  /// The bundle's text, for the lines of errors.
  func source() async -> String?
  /// Ends the page after all its notices were delivered.
  ///
  /// - Returns: the reason why the page's process ended before that; `nil` if it did not, or if the reason was returned
  ///   before.
  func end() async -> RenderFault?
}

/// The state of a page.
struct PageLook: Sendable {
  var phase = PagePhase.idle
  /// The reason why the page could not open, or was stopped.
  var failure: PageFailureNotice?
  /// `true` if the script ran when the page was opened, so that events may be fired.
  var hasRun = false
  var tree = ElementTree()
  var timings = PageTimings()
  var messages: [PageMessage] = []
  /// The page's pending work.
  var pending = PendingWork()
  /// `nil` for a file, and if the bundle was not available.
  var bundle: LoadedBundle?
}

extension Rendering.Request {
  /// The text of the file to render.
  ///
  /// - Throws: ``RenderFault`` if it cannot be read or is not a bundle.
  func fileBytes(at path: String) throws -> [UInt8] {
    let bytes: [UInt8]
    do {
      bytes = try InputFile.bundle(path)
    } catch {
      throw RenderFault("\(url.readable) cannot be read: \(error.message)", url: url.text)
    }
    if let fault = BundleFault(in: bytes) {
      throw RenderFault("\(url.readable) is not a bundle: \(fault)", url: url.text)
    }
    return bytes
  }
}

/// Receives the notices of a rendered page: prints its logs and messages, and records the rest up to limits.
final class NoticeListener: Sendable {
  /// The limit of recorded errors.
  fileprivate static let faultLimit = 1_000
  /// The limit of recorded commands in bytes.
  fileprivate static let commandLimit = 64 << 20
  fileprivate static let missingLimit = 1_000
  fileprivate static let levelLimit = 100

  struct Notices: Sendable {
    var commands: [String] = []
    /// The notices of the page's errors, in order.
    var failures: [PageNotice] = []
    /// Errors of pages that the page embeds or has navigated to.
    var thrown: [ScriptException] = []
    var missing: [MissingPart] = []
    /// The number of logged lines by level.
    var logged: [String: Int] = [:]
    /// `true` if there were more commands or errors than recorded.
    var hasMoreCommands = false
    var hasMoreFaults = false
    fileprivate var commandBytes = 0

    /// `true` if a notice has told why the page failed.
    var hasFailure: Bool {
      failures.contains { if case .failed = $0 { true } else { false } }
    }
  }

  private let state = Mutex(Notices())
  private let notice: WaitNotice?

  /// - Parameter notice: shown until the page's bundle has arrived.
  init(_ notice: WaitNotice?) { self.notice = notice }

  /// The records so far.
  func finish() -> Notices {
    notice?.end()
    return state.withLock(\.self)
  }

  func receive(_ event: PageNotice) {
    notice?.end()
    state.withLock { $0.record(event) }
    switch event {
    case .log(let level, let text): Self.printLog(level, text)
    case .missing(let missing): Self.printLog("warn", "\(missing)")
    case .message(let message): Terminal.error.line(message.outlineText)
    case .begun, .commands, .exception, .failed, .thrown: break
    }
  }

  private static func printLog(_ level: String, _ text: String) {
    let style: Terminal.Style =
      switch level {
      case "error": .red
      case "warn": .yellow
      default: .dim
      }
    Terminal.error.line("\(Terminal.error.styled("\(level):", style)) \(text)")
  }
}

extension NoticeListener.Notices {
  fileprivate mutating func record(_ event: PageNotice) {
    switch event {
    case .begun, .message: break
    case .commands(let done):
      for command in done {
        commandBytes += command.utf8.count + MemoryLayout<String>.stride
        guard commandBytes <= NoticeListener.commandLimit else { return hasMoreCommands = true }
        commands.append(command)
      }
    case .log(let level, _):
      if logged.count < NoticeListener.levelLimit || logged[level] != nil { logged[level, default: 0] += 1 }
    case .missing(let missing):
      if self.missing.count < NoticeListener.missingLimit { self.missing.append(missing) }
    case .exception, .failed:
      guard failures.count < NoticeListener.faultLimit else { return hasMoreFaults = true }
      failures.append(event)
    case .thrown(let fault):
      guard thrown.count < NoticeListener.faultLimit else { return hasMoreFaults = true }
      thrown.append(fault)
    }
  }
}
