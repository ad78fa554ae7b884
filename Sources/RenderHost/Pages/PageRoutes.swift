import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PageKit
import PageWorkers
import ServerKit

/// `/pages` and `/render`.
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
    router.get("/pages/:id/events") { request, context in
      try await answer(context) { try await events(request, try context.parameters.require("id")) }
    }
    router.post("/pages/:id/fire") { request, context in
      try await answer(context) { try await fire(request, context, try context.parameters.require("id")) }
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
  }

  /// Runs a request until its client disconnects: then it leaves the queue, and no page is rendered for it.
  private func answer(
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
    let (page, seen) = try await directory.render(wanted, view: Self.view(format, request), for: context.client)
    switch format {
    case .json: return Self.response(page, seen)
    case .outline: return Self.response(text: seen)
    case .html: return Self.response(html: seen, pictures: "")
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
    return JSONAnswer.json(["pages": .array(pages.map { .object($0.json) })])
  }

  private func barred() async -> Response {
    let entries = await directory.pool.status().barred
    return JSONAnswer.json([
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
    let view = Self.view(format, request)
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
    let (page, tree, newErrors) = try await directory.call(id, for: context.client, extra: extra) {
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
