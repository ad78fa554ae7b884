import Foundation
import NIOCore
import PageKit

/// The unit of a worker's socket: a message as JSON, and its bytes.
///
/// On the wire: the length of what follows and the length of the message, 32 bits each in network order; the message;
/// the bytes.
package enum Frame {
  /// The limit of a frame in bytes; a longer one is not sent, and ends the connection if it comes.
  static let limit = 64 << 20
  /// The limit of a view of a page in bytes.
  static let viewLimit = limit - (1 << 20)
  /// The limit of a message's bytes; longer contents are sent in pieces.
  package static let pieceLimit = 256 << 10
  /// The largest length of a message of `BroadcastChannel` that goes through the daemon, as JSON, in bytes.
  static let channelLimit = pieceLimit
  /// The largest length of a channel's name in bytes, which scripts keep to.
  static let channelNameLimit = 4_096
  /// The limits of a worker's message, which contains the page's data.
  private static let jsonLimits = JSONLimits(depth: JSONLimits.standard.depth + 16, values: 1_000_000)
  /// The limits of a message of the program that started the worker, which has checked it.
  private static let ownLimits = JSONLimits(depth: 512 + 16, values: 5_000_000)

  static func encode(_ message: some Encodable, _ payload: [UInt8] = []) throws -> ByteBuffer {
    try encode(head: head(of: message), payload)
  }

  /// A message as JSON, for a frame or for many.
  static func head(of message: some Encodable) throws -> [UInt8] { Array(try JSONEncoder().encode(message)) }

  static func encode(head: [UInt8], _ payload: [UInt8]) throws -> ByteBuffer {
    let length = 4 + head.count + payload.count
    guard length <= limit else { throw FrameError.tooLong(length) }
    var buffer = ByteBufferAllocator().buffer(capacity: 4 + length)
    buffer.writeInteger(UInt32(length))
    buffer.writeInteger(UInt32(head.count))
    buffer.writeBytes(head)
    buffer.writeBytes(payload)
    return buffer
  }

  /// Decodes a frame on the caller's thread, with the limits of what the program that started the worker sends.
  ///
  /// - Parameter buffer: a frame without its first length.
  /// - Throws: ``FrameError``, ``JSONError``, `DecodingError`.
  static func decode<Message: Decodable>(
    _ type: Message.Type, _ buffer: ByteBuffer
  ) throws -> (message: Message, payload: [UInt8]) {
    let (head, payload) = try split(buffer)
    return (try decode(type, from: head), payload)
  }

  /// Decodes a message without its bytes, with the limits of what the program that started the worker sends.
  ///
  /// - Throws: ``JSONError``, `DecodingError`.
  static func decode<Message: Decodable>(_ type: Message.Type, from head: [UInt8]) throws -> Message {
    try JSONValue(reading: head, limits: ownLimits).decoded()
  }

  /// The number of bytes of a frame's two lengths.
  static let lengthBytes = 8

  /// Returns how long a frame's message and its bytes are, by its first ``lengthBytes`` bytes; `nil` if these are not of a
  /// frame.
  static func lengths(_ bytes: [UInt8]) -> (message: Int, payload: Int)? {
    func length(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
    let (all, message) = (length(bytes.prefix(4)), length(bytes.dropFirst(4)))
    guard bytes.count == lengthBytes, (4...limit).contains(all), message <= all - 4 else { return nil }
    return (message, all - 4 - message)
  }

  /// Decodes a message of a worker, with the limits of what a worker sends; a long one keeps no other task waiting.
  static func decodeInBackground<Message: Decodable & Sendable>(
    _ type: Message.Type, from head: [UInt8]
  ) async throws -> Message {
    try await JSONValue.decode(type, from: head, limits: jsonLimits)
  }

  /// The message of a frame as JSON, and its bytes.
  ///
  /// - Throws: ``FrameError``.
  static func split(_ frame: ByteBuffer) throws -> (head: [UInt8], payload: [UInt8]) {
    var frame = frame
    guard let length = frame.readInteger(as: UInt32.self), let head = frame.readBytes(length: Int(length)) else {
      throw FrameError.cut
    }
    return (head, Array(frame.readableBytesView))
  }
}

/// The error of an invalid frame.
enum FrameError: Error, Hashable, CustomStringConvertible {
  case tooLong(Int)
  case cut

  var description: String {
    switch self {
    case .tooLong(let length): "a message of \(length) bytes is over the limit of \(Frame.limit)"
    case .cut: "a message is shorter than it says"
    }
  }
}

/// Splits the stream of bytes into frames.
struct FrameDecoder: ByteToMessageDecoder {
  typealias InboundOut = ByteBuffer

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return .needMoreData }
    guard length <= Frame.limit else { throw FrameError.tooLong(Int(length)) }
    guard length >= 4 else { throw FrameError.cut }
    guard buffer.readableBytes >= 4 + Int(length) else { return .needMoreData }
    buffer.moveReaderIndex(forwardBy: 4)
    guard let frame = buffer.readSlice(length: Int(length)) else { return .needMoreData }
    context.fireChannelRead(wrapInboundOut(frame))
    return .continue
  }

  mutating func decodeLast(
    context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
  ) throws -> DecodingState { try decode(context: context, buffer: &buffer) }
}

/// A message of the daemon to a worker.
package enum HostMessage: Codable, Sendable {
  /// The first message.
  case setUp(WorkerSetUp)
  /// The bytes are the bundle's text, or those of a recording: see ``PageOpening/lastStep``.
  case open(call: UInt64, page: UInt64, PageOpening)
  case fire(call: UInt64, page: UInt64, PageFiring, PageWait, view: PageView?)
  /// A tap at a place in units of the page's design.
  case tap(call: UInt64, page: UInt64, x: Double, y: Double, PageWait, view: PageView?)
  case refresh(call: UInt64, page: UInt64, data: JSONValue, PageWait, view: PageView?)
  /// Moves the time of a page with a virtual clock on, by seconds.
  case advance(call: UInt64, page: UInt64, seconds: Double, PageWait, view: PageView?)
  case show(call: UInt64, page: UInt64, PageView)
  /// Runs a step of a recording again. With the step 0 the bytes are the recording, and its framework boots.
  case replay(call: UInt64, page: UInt64, step: Int)
  case close(page: UInt64)
  /// Ends a page; answered after all its events were sent.
  case end(call: UInt64, page: UInt64)
  /// Requests to release unused memory.
  case releaseMemory
  /// A message of another page's `BroadcastChannel` for these pages; the bytes are the message as JSON.
  case channel(pages: [UInt64], name: String)
  /// The answer to a question; some have bytes.
  case answer(question: UInt64, PageAnswer)
  /// A debugger's question. The bytes of the reply are the answer as JSON.
  case inspect(call: UInt64, page: UInt64, PageInspection)
  /// Reports from now on what changes in the page's HTML, as events ``LiveEvent/patch``. The answer's view is that of
  /// ``LivePage``, in which `resources` stands before URLs that elements refer to. It is a view of the next run if the
  /// reports about the page went on with that.
  case follow(call: UInt64, page: UInt64, resources: String)
  /// Ends these reports.
  case unfollow(page: UInt64)

  /// The caller's data, which may be large.
  var data: JSONValue? {
    switch self {
    case .open(_, _, let opening): opening.data
    case .fire(_, _, let firing, _, _): .array([firing.event, firing.changes])
    case .refresh(_, _, let data, _, _): data
    case .setUp, .tap, .advance, .show, .replay, .close, .end, .releaseMemory, .channel, .answer, .inspect, .follow,
      .unfollow:
      nil
    }
  }
}

/// The configuration of a worker.
package struct WorkerSetUp: Codable, Sendable {
  /// Seconds for one entry into a page.
  var pageTime: Double
  /// Texts of framework files, by the type of bundles.
  var frameworks: [String: String]
  /// Texts of scripts that run in a page before its bundle, by the type of bundles.
  var preludes: [String: String]
  /// The advice for giving the framework, by the type of bundles.
  var frameworkAdvice: [String: String]
  /// The advice for preludes.
  var preludeAdvice: [String: String]
  /// The advice for using web sockets; empty for none.
  var socketAdvice: String
  /// The number of engines kept for further pages.
  var readyEngines: Int
  var environment: JSONValue
  /// The names of modules that do nothing.
  var idleModules: [String]
  /// The value of `process.env.NODE_ENV`.
  var nodeEnvironment: String
  /// The behaviour of requests that name none.
  var refreshesAlways: Bool
  /// The limit of concurrent entries into scripts.
  var entriesAtOnce: Int
  /// The limit of the worker's resident bytes.
  var memory: Int64
  /// The limit of the worker's unanswered questions.
  var questions: Int
}

/// The options of opening a page.
package struct PageOpening: Codable, Sendable {
  var url: String
  var options: PageRequestOptions
  var data: JSONValue
  var wait: PageWait
  /// The requested view of the open page.
  var view: PageView?
  /// `true` if the page ends after its first view.
  var isOnce: Bool
  /// `nil` if clients see the page. Otherwise a program renders it: its events arrive as ``PageNotice`` values, with each
  /// change of the tree if this is `true`. Such a page stays when it fails, pages that it pushes open in its worker, and
  /// without a named view its view is a record of its elements, for ``FollowedElements``.
  var reportsCommands: Bool?
  /// The page's time, random numbers, zone and locale; `nil` for those of the machine.
  var determinism: PageDeterminism?
  /// `true` to send the page's recording, in events of the name ``PageNotice/recording``.
  var isRecorded: Bool
  /// The inputs of an earlier run of the page, which are done again; `nil` for none.
  package var inputs: [PageInput]?
  /// The number of the step up to which the page runs a recording again before it goes on by itself; `nil` for a bundle that
  /// begins.
  package var lastStep: Int?
  /// The number of a former run of the page whose changes are reported: if it is in the same worker, the reports go on with
  /// this one, the first with what differs, and the pictures that it has loaded are not asked for again. `nil` for none.
  package var former: UInt64?
  /// `true` to be told of errors inside of embedded pages, in events of the name ``PageNotice/inside``.
  var tellsInside: Bool
  /// The screen that `WXEnvironment` has in the page; `nil` for that of the host.
  package private(set) var device: PictureOptions.Screen?

  package init(
    url: String, options: PageRequestOptions, data: JSONValue, wait: PageWait, view: PageView?, isOnce: Bool,
    reportsCommands: Bool? = nil, determinism: PageDeterminism? = nil, isRecorded: Bool = false,
    inputs: [PageInput]? = nil, tellsInside: Bool = false, device: PictureOptions.Screen? = nil
  ) {
    (self.inputs, self.tellsInside, self.device) = (inputs, tellsInside, device)
    (self.url, self.options, self.data) = (url, options, data)
    (self.determinism, self.isRecorded) = (determinism, isRecorded)
    (self.wait, self.view, self.isOnce, self.reportsCommands) = (wait, view, isOnce, reportsCommands)
  }

  /// The URL of the bundle as its script and its errors have it.
  package var bundleURL: String { options.bundleUrl ?? url }
}

/// An event of an element, for another run of its page.
package struct PageInput: Codable, Hashable, Sendable {
  package var place: ElementPlace
  package var firing: PageFiring

  package init(place: ElementPlace, firing: PageFiring) { (self.place, self.firing) = (place, firing) }
}

/// An event of an element.
package struct PageFiring: Codable, Hashable, Sendable {
  var ref: String
  package let type: String
  /// Further members of the event.
  var event: JSONValue
  /// The user's changes of the element, `attrs` and `style`; `null` for those that devices make.
  var changes: JSONValue
  /// `true` to be told the place of the element.
  var tellsPlace: Bool?

  package init(ref: String, type: String, event: JSONValue?, changes: JSONValue?, tellsPlace: Bool? = nil) {
    (self.ref, self.type, self.tellsPlace) = (ref, type, tellsPlace)
    (self.event, self.changes) = (event ?? .object([:]), changes ?? .null)
  }
}

/// The waits before a view of a page.
package struct PageWait: Codable, Hashable, Sendable {
  /// The longest wait for pending work in seconds; 0 for none.
  package var settle: Double
  /// The longest remaining time of timers that are awaited, in seconds.
  package var timers: Double

  package init(settle: Double, timers: Double) { (self.settle, self.timers) = (settle, timers) }
}

/// The options of a page that callers may set.
package struct PageRequestOptions: Codable, Hashable, Sendable {
  /// The value of `weex.config.bundleUrl`.
  package var bundleUrl: String?
  /// `Vanilla`, `Vue`, `Rax` or `Weex`.
  package var type: String?
  /// Further members of `weex.config`.
  package var config: [String: JSONValue]?

  package init() {}
}

/// A view of a page.
package struct PageView: Codable, Hashable, Sendable {
  package enum Format: String, Codable, Hashable, Sendable, CaseIterable {
    case json
    case outline
    case html
    /// A picture, by a worker that draws.
    case png
    case svg

    /// The format of a picture; `nil` for texts.
    package var picture: PictureOptions.Format? { PictureOptions.Format(rawValue: rawValue) }
  }

  package var format: Format
  /// `true` for an outline with styles.
  package var withStyles: Bool
  /// The prefix of URLs that elements refer to; `nil` to embed pictures and fonts.
  package var resources: String?
  /// The title of the document; `nil` for the page's URL.
  package var title: String?
  /// `true` to embed pictures and fonts if there is no prefix for them.
  package var isEmbedding = true
  /// The limit of embedded pictures and fonts in bytes.
  package var limit = 16 << 20
  /// How a picture is drawn.
  package var picture: PictureOptions?

  package init(format: Format, withStyles: Bool = false, resources: String? = nil) {
    (self.format, self.withStyles, self.resources) = (format, withStyles, resources)
  }

  /// A view that is a picture.
  package init(_ picture: PictureOptions) {
    self.init(format: picture.format == .png ? .png : .svg)
    self.picture = picture
  }
}

/// A message of a worker to the daemon. The daemon does not trust it.
enum WorkerMessage: Codable, Sendable {
  /// - Parameter engineProblem: the reason why no script can run; `nil` if pages can be opened.
  case ready(ConfinementReport, engineProblem: String? = nil)
  /// The answer to a call, with the requested view of the page.
  case done(call: UInt64, PageReply)
  case failed(call: UInt64, PageFault)
  /// An event of a page, with details as JSON.
  case event(page: UInt64, name: String)
  /// A question; some have bytes.
  case ask(question: UInt64, page: UInt64, PageQuestion)
  /// A message of a page's `BroadcastChannel` for other pages; the bytes are the message as JSON.
  case channel(page: UInt64, name: String)
  /// The answer is no longer awaited.
  case drop(question: UInt64)
  case log(level: String, message: String)

  /// The message that is sent in place of this one, which cannot be sent: a call fails, and the log has a line about others.
  func failure(_ reason: String) -> WorkerMessage {
    func lost(_ kind: String) -> WorkerMessage { .log(level: "warning", message: "\(kind) is lost: \(reason)") }
    return switch self {
    case .done(let call, _), .failed(let call, _):
      .failed(call: call, .noView("the page's answer cannot be sent: \(reason)"))
    case .event(_, let name): lost("an event \"\(name)\" of a page")
    case .ask: lost("a question of a page")
    case .channel: lost("a message of a page's channel")
    case .ready, .drop, .log: lost("a message of a worker")
    }
  }
}

/// The state of a page after a call.
package struct PageReply: Codable, Hashable, Sendable {
  package var phase: String
  /// The reason why it could not open, or was stopped. Its notice follows on a way of its own, and is lost if the
  /// worker is killed first.
  package var failure: PageFailureNotice?
  package var elements: Int
  /// Seconds since its opening, by the names of `bundlectl render --json`.
  package var timings: [String: Double]
  package var requests: Int
  package var hits: Int
  package var bytes: Int64
  /// Its pending work.
  package var pending: PendingWork
  /// The latest messages that it showed with the module `modal`.
  package var messages: [PageMessage]
  /// The latest errors of its script.
  package var errors: [ScriptException]
  /// The number of errors during the call.
  package var newErrors: Int
  /// The place of the element that the call has fired an event on.
  package var place: ElementPlace?
  /// `true` if the reports about a former run go on with this one.
  package var isFollowed: Bool?
  /// The number of the run that the answer's view for viewers is of.
  package var run: UInt64?
  /// How often the inputs of an opening were done again, and the place of the first one that fits no element.
  package var replay: ReplayedInputs?
}

/// The inputs of an earlier run that were done again.
package struct ReplayedInputs: Codable, Hashable, Sendable {
  package var count: Int
  /// The input after which no more were done, since no element fits it; `nil` if all were done.
  package var stopped: String?
}

extension PageReply {
  /// The answer of a page that has no state.
  init() {
    self.init(
      phase: "idle", elements: 0, timings: [:], requests: 0, hits: 0, bytes: 0, pending: PendingWork(),
      messages: [], errors: [], newErrors: 0)
  }
}

/// The error of a call.
package enum PageFault: Codable, Error, Hashable, Sendable {
  /// The script threw before the page had rendered.
  case script(ScriptException)
  /// The engine stopped the script, which exceeded its time or memory.
  case stopped(KillReason)
  /// The page cannot be opened: no framework, not a page, …
  case refused(String)
  /// The process has too much to do: the call may be tried again.
  case busy(String)
  /// The process cannot draw pages, since a library is missing.
  case cannotDraw(String)
  /// The view of the page is larger than it may be, or cannot be made.
  case noView(String)
  /// Making the view took longer than it may.
  case slowView(String)
  case unknownPage
  /// The page has no element of an event's ref, or none that a tap reaches.
  case unknownElement(String)
}

/// The reason why a page could not open, or was stopped.
package struct PageFailureNotice: Codable, Hashable, Sendable {
  /// An error of its script.
  package var exception: ScriptException?
  /// The reason why its script was stopped.
  package var stop: KillReason?
  package var text: String
}

/// The confinement of a worker: the steps that succeeded, and those that failed.
package struct ConfinementReport: Hashable, Sendable, Codable {
  /// `network`, `files`, `privileges`, …
  package internal(set) var dropped: [String] = []
  /// The failed steps by name, with the reason.
  package internal(set) var kept: [String: String] = [:]

  mutating func record(_ name: String, _ failure: String?) {
    if let failure { kept[name] = failure } else { dropped.append(name) }
  }

  /// The steps that the page of a command requires. The filter of system calls covers the other ones.
  private static let needed = ["privileges": "new-privileges", "files": "files", "system calls": "system-calls"]

  /// The first step that failed although it is required, such as `cannot give up files: …`; `nil` if there is none.
  package var lack: String? {
    for (what, step) in Self.needed.sorted(by: { $0.key < $1.key }) {
      if let reason = kept[step] { return "cannot give up \(what): \(reason)" }
    }
    return nil
  }

  /// The report in a line.
  package var summary: String {
    let kept = kept.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
    return "dropped: \(dropped.joined(separator: ", "))" + (kept.isEmpty ? "" : "; could not be dropped: \(kept)")
  }
}
