import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PageKit
import PageWorkers
import ServerKit

/// `/pages`, `/render`, and `/resources`.
struct PageRoutes: Sendable {
  let directory: PageDirectory
  let bodyLimit: Int
  /// The interval of heartbeats in a stream of events.
  var heartbeat: Duration = .seconds(15)

  func add(to router: some RouterMethods<HostRequestContext>) {
    router.get("/render") { request, context in try await answer(context) { try await render(request, context) } }
    router.get("/pages") { _, context in try await answer(context) { await list() } }
    router.get("/pages/barred") { _, context in try await answer(context) { await barred() } }
    router.post("/pages") { request, context in try await answer(context) { try await open(request, context) } }
    router.get("/pages/:id") { request, context in
      try await answer(context) { try await show(request, context, try context.parameters.require("id")) }
    }
    router.get("/pages/:id/preview") { request, context in
      try await answer(context) { try await preview(request, context, try context.parameters.require("id")) }
    }
    router.get("/pages/:id/picture") { request, context in
      try await answer(context) { try await picture(request, context, try context.parameters.require("id")) }
    }
    router.get("/pages/:id/thumbnail") { _, context in
      try await answer(context) {
        let id = try context.parameters.require("id")
        return Self.response(picture: try await directory.thumbnail(of: id, for: context.client), .png)
      }
    }
    router.get("/pages/:id/events") { request, context in
      try await answer(context) { try await events(request, try context.parameters.require("id")) }
    }
    router.post("/pages/:id/fire") { request, context in
      try await answer(context) { try await fire(request, context, try context.parameters.require("id")) }
    }
    router.post("/pages/:id/tap") { request, context in
      try await answer(context) { try await tap(request, context, try context.parameters.require("id")) }
    }
    router.post("/pages/:id/refresh") { request, context in
      try await answer(context) { try await refresh(request, context, try context.parameters.require("id")) }
    }
    router.post("/pages/:id/reload") { _, context in
      try await answer(context) {
        let (page, tree) = try await directory.reload(try context.parameters.require("id"), for: context.client)
        return Self.response(page, tree)
      }
    }
    router.delete("/pages/:id") { _, context in
      try await answer(context) {
        try await directory.close(try context.parameters.require("id"))
        return Response(status: .noContent)
      }
    }
    router.get("/resources") { request, _ in
      do {
        return try await resource(request, of: request.uri.queryParameters["page"].map(String.init))
      } catch {
        return PageFailure(error, url: "").withoutPaths(directory.locations).response
      }
    }
  }

  /// Runs a request until its client disconnects: then it leaves the queue, and no page is rendered for it.
  func answer(
    _ context: HostRequestContext, _ body: @escaping @Sendable () async throws -> Response
  ) async throws -> Response {
    do {
      return try await context.disconnection.cancelling(body)
    } catch let failure as PageFailure {
      return failure.response
    } catch let error where error is CancellationError || error is any HTTPResponseError {
      throw error
    } catch {
      return PageFailure(error, url: "").response
    }
  }

  // MARK: Opening

  private func open(_ request: Request, _ context: HostRequestContext) async throws -> Response {
    let wanted: PageRequest = try await json(of: request, shape: "{\"name\" or \"url\": …, \"data\": …}")
    try wanted.check()
    let (page, tree) = try await directory.open(wanted, view: PageView(format: .json), for: context.client)
    var response = Self.response(page, tree, status: .created)
    response.headers[.location] = "/pages/\(page.id)"
    return response
  }

  private func render(_ request: Request, _ context: HostRequestContext) async throws -> Response {
    let parameters = request.uri.queryParameters
    var wanted = try PageRequest(
      url: parameters["url"].map(String.init), name: parameters["name"].map(String.init),
      data: parameters["data"].map(String.init))
    wanted.settle = try Self.seconds("settle", parameters["settle"])
    wanted.timers = try Self.seconds("timers", parameters["timers"])
    let format = try Self.format(of: request, default: .html)
    let view = try view(format, request)
    let (page, seen) = try await directory.render(wanted, view: view, for: context.client)
    switch format {
    case .json: return Self.response(page, seen)
    case .outline: return Self.response(text: seen)
    case .html: return Self.response(html: seen, pictures: "")
    case .png, .svg: return Self.response(picture: seen, format)
    }
  }

  /// - Throws: ``PageFailure/badRequest(_:)`` if the parameter is not a time.
  private static func seconds(_ name: String, _ text: Substring?) throws -> Double? {
    try text.map { text in
      guard let time = Duration(text: String(text)) else {
        throw PageFailure.badRequest("the parameter \(name) is \"\(text)\": expected a time such as 200ms or 1.5")
      }
      return time.seconds
    }
  }

  private func list() async -> Response {
    let pages = await directory.pages.values.sorted { $0.id < $1.id }
    return Response.json(["pages": .array(pages.map { .object($0.json) })])
  }

  private func barred() async -> Response {
    let entries = await directory.pool.status().barred
    return Response.json([
      "barred": .array(
        entries.map { entry in
          .object([
            "url": .string(entry.url), "sha256": .string(entry.digest.hex), "reason": .string("\(entry)"),
            "times": .integer(Int64(entry.strikes)), "client": entry.client.map { .string($0) } ?? .null,
          ])
        })
    ])
  }

  // MARK: One page

  private func show(_ request: Request, _ context: HostRequestContext, _ id: String) async throws -> Response {
    let format = try Self.format(of: request, default: .json)
    if format == .html { return try await preview(request, context, id) }
    if format.picture != nil { return try await picture(request, context, id) }
    let view = try view(format, request)
    let (page, seen, _) = try await directory.call(id, for: context.client) { .show(call: $0, page: $1, view) }
    return format == .json ? Self.response(page, seen) : Self.response(text: seen)
  }

  private func preview(_ request: Request, _ context: HostRequestContext, _ id: String) async throws -> Response {
    let isWhole = request.uri.queryParameters["embed"] != nil
    let origin = isWhole ? nil : Self.origin(of: request)
    let resources = origin.map { "\($0)/resources?page=\(id)&url=" }
    let (_, seen, _) = try await directory.call(id, for: context.client) {
      .show(call: $0, page: $1, PageView(format: .html, resources: resources))
    }
    return Self.response(html: seen, pictures: origin ?? "")
  }

  private func picture(_ request: Request, _ context: HostRequestContext, _ id: String) async throws -> Response {
    let given = request.uri.queryParameters["format"] == nil ? .png : try Self.format(of: request, default: .png)
    guard given.picture != nil else {
      throw PageFailure.badRequest("\"\(given.rawValue)\" is not the format of a picture: use png or svg")
    }
    let view = try view(given, request)
    let (_, seen, _) = try await directory.call(id, for: context.client, extra: view.picture?.timeLimit ?? 0) {
      .show(call: $0, page: $1, view)
    }
    return Self.response(picture: seen, given)
  }

  private struct Firing: Decodable {
    let ref: String
    let type: String
    let event: JSONValue?
    let changes: JSONValue?
    let settle: Double?
    let timers: Double?
  }

  private func fire(_ request: Request, _ context: HostRequestContext, _ id: String) async throws -> Response {
    let shape = "{\"ref\": …, \"type\": …, \"event\": …, \"changes\": …}"
    let firing: Firing = try await json(of: request, shape: shape)
    let wait = directory.wait(firing.settle, timers: firing.timers)
    return try await entered("fire", id, context, extra: wait.settle) { call, page, view in
      .fire(
        call: call, page: page,
        PageFiring(ref: firing.ref, type: firing.type, event: firing.event, changes: firing.changes), wait, view: view)
    }
  }

  private struct Tapping: Decodable {
    let x: Double
    let y: Double
    let settle: Double?
    let timers: Double?
  }

  private func tap(_ request: Request, _ context: HostRequestContext, _ id: String) async throws -> Response {
    let tapping: Tapping = try await json(of: request, shape: "{\"x\": …, \"y\": …}")
    let wait = directory.wait(tapping.settle, timers: tapping.timers)
    return try await entered("tap", id, context, extra: wait.settle) { call, page, view in
      .tap(call: call, page: page, x: tapping.x, y: tapping.y, wait, view: view)
    }
  }

  private struct Refreshing: Decodable {
    let data: JSONValue
    let settle: Double?
    let timers: Double?
  }

  private func refresh(_ request: Request, _ context: HostRequestContext, _ id: String) async throws -> Response {
    let refreshing: Refreshing = try await json(of: request, shape: "{\"data\": …}")
    let wait = directory.wait(refreshing.settle, timers: refreshing.timers)
    return try await entered("refresh", id, context, extra: wait.settle) { call, page, view in
      .refresh(call: call, page: page, data: refreshing.data, wait, view: view)
    }
  }

  /// Enters a page. An error of its script becomes the response; the page continues.
  private func entered(
    _ kind: String, _ id: String, _ context: HostRequestContext, extra: Double,
    _ message: @escaping @Sendable (UInt64, UInt64, PageView) -> HostMessage
  ) async throws -> Response {
    let view = PageView(format: .json)
    let began = ContinuousClock.now
    let (page, tree, newErrors) = try await directory.call(id, for: context.client, as: .input, extra: extra) {
      message($0, $1, view)
    }
    directory.record.entered(kind, seconds: (ContinuousClock.now - began).seconds)
    if newErrors > 0, let fault = page.reply.errors.last {
      directory.record.threw(fault, in: page.location)
      throw PageFailure.script(url: page.location, fault)
    }
    return Self.response(page, tree)
  }
}

extension PageRoutes {
  /// Reads a request's body as JSON.
  ///
  /// - Parameter shape: the expected shape, for the error.
  /// - Throws: ``PageFailure/badRequest(_:)``, `HTTPError`.
  func json<Value: Decodable & Sendable>(of request: Request, shape: String) async throws -> Value {
    let bytes = try await request.bytes(upTo: bodyLimit)
    do {
      return try await JSONValue.decode(Value.self, from: bytes)
    } catch {
      throw PageFailure.badRequest("the body is not \(shape): \(error.jsonReason)")
    }
  }

  static func format(of request: Request, default format: PageView.Format) throws -> PageView.Format {
    if let name = request.uri.queryParameters["format"] {
      guard let format = PageView.Format(rawValue: String(name)) else {
        let known = PageView.Format.allCases.map(\.rawValue).joined(separator: ", ")
        throw PageFailure.badRequest("there is no format \"\(name)\": use one of \(known)")
      }
      return format
    }
    guard let accepted = request.headers[.accept] else { return format }
    // RFC 9110 §12.5.1, for three types: the first one that the field names.
    for range in accepted.split(separator: ",") {
      switch range.split(separator: ";").first?.trimmingCharacters(in: [" "]).lowercased() {
      case "application/json": return .json
      case "text/plain": return .outline
      case "text/html": return .html
      default: continue
      }
    }
    return format
  }

  /// The largest number of pixels of a picture: a worker has room for it beside its pages within 512 MiB, also if the page
  /// brings the largest pictures, groups and files that it may.
  static let pixelLimit = 8 << 20

  /// - Throws: ``PageFailure``: the host draws no pages, or none of this size.
  func view(_ format: PageView.Format, _ request: Request) throws -> PageView {
    let parameters = request.uri.queryParameters
    guard let kind = format.picture else {
      return PageView(format: format, withStyles: parameters["styles"] != nil)
    }
    guard directory.configuration.draws else { throw PageFailure.noPictures(directory.configuration.hints) }
    var options = PictureOptions(kind, isFull: parameters["full"] != nil)
    options.allowedPixels = Self.pixelLimit
    if let text = parameters["size"] {
      guard let screen = PictureOptions.Screen(String(text)) else {
        throw PageFailure.badRequest("the parameter size is \"\(text)\": expected a screen such as 375x812@2")
      }
      guard screen.pixels <= Double(options.allowedPixels) else {
        throw PageFailure.badRequest("a screen of \(screen) has more than \(options.allowedPixels) pixels")
      }
      options.screen = screen
    }
    return PageView(options)
  }

  /// The origin that a browser has requested, from which the preview loads its pictures; `nil` if it is unknown.
  static func origin(of request: Request) -> String? {
    host(of: request).map { "\(request.head.scheme ?? "http")://\($0)" }
  }

  /// The host and the port that a browser has requested; `nil` if they are unknown.
  static func host(of request: Request) -> String? {
    guard let host = request.head.authority, !host.isEmpty,
      host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".:-[]".contains($0)) })
    else { return nil }
    return host
  }

  static func response(
    _ page: OpenedPage, _ tree: [UInt8], status: HTTPResponse.Status = .ok
  ) -> Response {
    // The tree is JSON already and is inserted as it is.
    var members = page.json
    if page.id.isEmpty { members["id"] = nil }
    var bytes = JSONValue.object(members).text
    bytes.removeLast()
    bytes.reserveCapacity(bytes.count + tree.count + 16)
    bytes += ",\"tree\":".utf8
    if tree.isEmpty { bytes += "null".utf8 } else { bytes += tree }
    bytes.append(UInt8(ascii: "}"))
    return Response.json(text: bytes, status: status)
  }

  static func response(text: [UInt8]) -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: text + [10])))
  }

  static func response(picture: [UInt8], _ format: PageView.Format) -> Response {
    Response(
      status: .ok,
      headers: [
        .contentType: format == .svg ? "image/svg+xml" : "image/png", .cacheControl: "no-store",
        .contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
        .xContentTypeOptions: "nosniff",
      ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: picture)))
  }

  /// - Parameters:
  ///   - pictures: the origin that pictures and fonts may come from.
  ///   - rights: what the document may do beside that, of a sandbox's rights; no script runs in it.
  static func response(html: [UInt8], pictures: String, rights: String = "") -> Response {
    let sources = "data: \(pictures)".trimmingCharacters(in: [" "])
    let policy =
      "default-src 'none'; style-src 'unsafe-inline'; img-src \(sources); font-src \(sources); "
      + "base-uri 'none'; form-action 'none'; sandbox\(rights)"
    var headers: HTTPFields = [
      .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .contentSecurityPolicy: policy,
      .xContentTypeOptions: "nosniff",
    ]
    if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "no-referrer" }
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: html)))
  }
}

extension PageRoutes {
  /// The limit of one resource in bytes.
  private static let resourceLimit: Int64 = 32 << 20

  /// `/resources`: the pictures and files that a page's elements refer to, for its preview.
  ///
  /// - Parameter id: the page's; `nil` for none.
  func resource(_ request: Request, of id: String?) async throws -> Response {
    guard let reference = request.uri.queryParameters["url"].map(String.init), !reference.isEmpty else {
      throw PageFailure.badRequest("give a url")
    }
    let page: OpenedPage? = if let id { try await directory.page(id) } else { nil }
    var wanted = ResourceRequest(reference, base: page.flatMap { PageURL($0.location) }, type: .image)
    wanted.snapshot = page?.target.bundle.view
    wanted = try directory.answers.permitted(wanted)
    let loaded: Resource
    do {
      loaded = try await directory.answers.host.resources.response(for: wanted)
    } catch {
      throw PageFailure(error, url: reference)
    }
    directory.record.answered(from: loaded.source, kind: HostRecord.previewKind)
    return Response(
      status: HTTPResponse.Status(code: loaded.status), headers: Self.fields(loaded), body: Self.body(loaded.body))
  }

  /// Streams the resource as fast as its client reads. Beyond the limit the body ends, and its connection is closed.
  private static func body(_ body: Body) -> ResponseBody {
    if let bytes = body.bytesInMemory, bytes.count <= Body.chunkSize {
      return ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
    }
    return ResponseBody { writer in
      let reader = body.reader()
      var count: Int64 = 0
      while let chunk = try await reader.nextChunk() {
        count += Int64(chunk.count)
        guard count <= resourceLimit else { throw TransportError.tooLarge(url: body.url, limit: resourceLimit) }
        try await writer.write(ByteBuffer(bytes: chunk))
      }
      try await writer.finish(nil)
    }
  }

  /// The media type and the freshness; other fields of the server are not forwarded. The policy keeps a picture with
  /// scripts harmless when it is opened by itself, since it would have this daemon's origin.
  private static func fields(_ loaded: Resource) -> HTTPFields {
    var fields: HTTPFields = [
      .contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'; sandbox", .xContentTypeOptions: "nosniff",
    ]
    for name: HTTPField.Name in [.contentType, .eTag, .lastModified, .cacheControl] {
      fields[name] = loaded.response.headerFields[name]
    }
    return fields
  }
}
