import Bundles
import Foundation
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOEmbedded
import PageKit
import PageLayout
import PageRuntime

@testable import ServerKit

/// Something that PageKit does often, without a script: scripts run differently each time.
struct Operation {
  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  let name: String
  let run: () async throws -> Void

  init(_ name: String, _ run: @escaping () async throws -> Void) { (self.name, self.run) = (name, run) }

  /// The names, and how often each operation is to run.
  static let counts: KeyValuePairs = [
    "decide on a fresh response": 2_000, "decide what to store": 2_000, "read a URL": 2_000,
    "read JSON, 190 KB": 4, "write JSON, 190 KB": 4, "read a manifest of 1,000 bundles": 2,
    "read a tree of 201 elements": 10, "write its HTML": 10,
    "lay out 1,001 elements": 20, "lay out a change in 1,001 elements": 1_000, "lay out a list of 10,000 cells": 10,
    "hit in memory": 1_000, "hit on disk, 16 KiB": 100, "store a response, 16 KiB": 40,
    "hit on disk, 1 KiB": 100, "store a response, 1 KiB": 100, "pass a response on": 1_000,
    "answer a known request by HTTP/2": 2_000,
    "open a stored bundle": 100, "launch with 100 unchanged bundles": 10,
  ]

  /// Makes an operation ready.
  ///
  /// - Parameter folder: a folder that does not exist yet.
  static func named(_ name: String, in folder: String) async throws -> Operation {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let groups: [() async throws -> [Operation]] = [
      { decisions() }, texts, trees, layouts, streams, { try await responses(in: folder) },
      { try await bundles(in: folder) },
    ]
    for group in groups {
      if let found = try await group().first(where: { $0.name == name }) { return found }
    }
    throw Failed(description: "there is no operation \(name)")
  }

  // MARK: Decisions

  private static let now = HTTPDate(secondsSinceEpoch: 784_111_777)

  private static let fields: HTTPFields = [
    .date: now.description, .cacheControl: "max-age=3600, stale-while-revalidate=60",
    .contentType: "application/json", .eTag: "\"v1\"", .vary: "Accept-Language", .contentLength: "1024",
  ]

  private static func decisions() -> [Operation] {
    let policy = CachePolicy(mode: .shared)
    let request = HTTPRequest(
      method: .get, scheme: "https", authority: "api.example.com", path: "/list.json",
      headerFields: [.acceptLanguage: "en", .accept: "application/json"])
    let response = HTTPResponse(status: .ok, headerFields: fields)
    let stored = StoredResponse(
      id: 1, status: 200, fields: fields, times: ExchangeTimes(request: now, response: now), vary: VaryKey(),
      extent: .whole(1_024), policy: policy)
    return [
      Operation("decide on a fresh response") {
        guard case .serve = policy.decision(for: request, among: [stored], at: now) else {
          throw Failed(description: "a fresh response is not served")
        }
      },
      Operation("decide what to store") {
        guard case .store = policy.storage(of: response, to: request, received: now) else {
          throw Failed(description: "a response that may be stored is not")
        }
      },
      Operation("read a URL") {
        guard PageURL("HTTPS://Pages.example.com:443/a/../bundles/home.js?_t=5&lang=en#top") != nil else {
          throw Failed(description: "the URL cannot be read")
        }
      },
    ]
  }

  // MARK: Texts

  private static func manifest(_ count: Int, base: String) throws -> [UInt8] {
    let entries = try (0..<count).map { index in
      let bytes = Array("p\(index)".utf8)
      let (md5, sha256) = (try ContentDigests(of: bytes).md5.hex, try ContentDigests(of: bytes).sha256.hex)
      return
        #"{"name":"p\#(index)","path":"p\#(index).js","md5":"\#(md5)","sha256":"\#(sha256)","size":\#(bytes.count)}"#
    }
    return Array(#"{"schema":1,"release":"r","base":"\#(base)","bundles":[\#(entries.joined(separator: ","))]}"#.utf8)
  }

  private static func texts() throws -> [Operation] {
    let manifest = try manifest(1_000, base: "bundles/")
    let value = try JSONValue(reading: manifest)
    return [
      Operation("read JSON, 190 KB") { _ = try JSONValue(reading: manifest) },
      Operation("write JSON, 190 KB") {
        guard value.text.count > 100_000 else { throw Failed(description: "the text is too short") }
      },
      Operation("read a manifest of 1,000 bundles") { _ = try Manifest(reading: manifest) },
    ]
  }

  // MARK: Streams

  /// A connection of HTTP/2 without TLS, whose client has asked for one script of 1 KiB before.
  private static func streams() throws -> [Operation] {
    let request = [
      (":method", "GET"), (":scheme", "https"), (":authority", "pages.example.com"), (":path", "/bundles/home.js"),
      ("user-agent", "Weex/0.28"), ("accept", "*/*"), ("accept-encoding", "gzip, br"),
    ]
    let head = HTTPResponse(
      status: .ok,
      headerFields: [
        .date: now.description, HTTPField.Name("X-Request-Id") ?? .from: "0123456789abcdef", .eTag: "\"v1\"",
        .cacheControl: "no-cache", .contentType: "text/javascript; charset=utf-8", .contentLength: "1024",
        .vary: "Accept-Encoding", .accessControlAllowOrigin: "*",
      ])
    let memory = RecordedResponses()
    var key = HTTP2Fields()
    for (name, value) in request { key.add(name, value) }
    guard
      let answer = RecordedResponse(head, [ByteBuffer(repeating: 0x61, count: 1_024)], ReplayOffer { 0 })
    else { throw Failed(description: "the response cannot be recorded") }
    memory.remember(answer, for: key.bytes)
    let connection = ConnectionHandler(
      limits: ServerSettings.Limits(), isPlain: true, common: ConnectionContext(memory: memory, address: "-"))
    let channel = EmbeddedChannel(
      handler: try HTTP2Handler(connection, headerLimit: 16 << 10, metrics: HostMetrics(), idle: .hours(1)) { _ in
        throw Failed(description: "the request is not known")
      })
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> ByteBuffer {
      var buffer = ByteBuffer()
      buffer.writeInteger(UInt32(payload.count) << 8 | UInt32(type))
      buffer.writeInteger(flags)
      buffer.writeInteger(stream)
      buffer.writeBytes(payload)
      return buffer
    }
    var start = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    start.writeImmutableBuffer(frame(4, 0, 0, []))
    channel.pipeline.fireChannelRead(start)
    let fields = request.flatMap { name, value in
      [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
    }
    var stream: UInt32 = 1
    return [
      Operation("answer a known request by HTTP/2") {
        // The client has read the former answer.
        channel.pipeline.fireChannelRead(frame(8, 0, 0, [0, 0, 4, 0]))
        channel.pipeline.fireChannelRead(frame(1, 5, stream, fields))
        channel.pipeline.fireChannelReadComplete()
        stream += 2
        guard let sent = try channel.readOutbound(as: ByteBuffer.self), sent.readableBytes > 1_024 else {
          throw Failed(description: "the request is not answered")
        }
      }
    ]
  }

  // MARK: Elements

  /// A list of 100 cells, each with a text.
  private static let elements: [UInt8] = {
    func element(_ ref: String, _ type: String, in parent: String?, depth: Int, children: [String]) -> String {
      let children = children.map { "\"\($0)\"" }.joined(separator: ",")
      return """
        {"ref":"\(ref)","type":"\(type)","attributes":{"value":"item \(ref)"},"events":["click"],"depth":\(depth),\
        "style":{"fontSize":"32px","color":"#222"},"children":[\(children)]\(parent.map { ",\"parent\":\"\($0)\"" } ?? "")}
        """
    }
    var elements = [element("_root", "list", in: nil, depth: 0, children: (0..<100).map { "c\($0)" })]
    for index in 0..<100 {
      elements.append(element("c\(index)", "cell", in: "_root", depth: 1, children: ["t\(index)"]))
      elements.append(element("t\(index)", "text", in: "c\(index)", depth: 2, children: []))
    }
    return Array(#"{"root":"_root","elements":[\#(elements.joined(separator: ","))]}"#.utf8)
  }()

  private static func trees() throws -> [Operation] {
    let tree = try ElementTree(record: JSONValue(reading: elements))
    return [
      Operation("read a tree of 201 elements") {
        guard try await ElementTree.read(record: elements).count == 201 else {
          throw Failed(description: "elements are missing")
        }
      },
      Operation("write its HTML") {
        guard HTMLPreview(tree, title: "list").html.utf8.count > 10_000 else {
          throw Failed(description: "the HTML is too short")
        }
      },
    ]
  }

  // MARK: Layouts

  /// Pages with fixed widths of characters. Each run lays out a copy, so that all do the same.
  private static func layouts() -> [Operation] {
    var page = LayoutTree()
    page.createBody("_root", type: "div")
    for row in 0..<200 {
      page.add(
        "r\(row)", type: "div", style: ["flexDirection": .text("row"), "padding": .number(20)], to: "_root")
      page.add("i\(row)", type: "image", style: ["width": .number(120), "height": .number(120)], to: "r\(row)")
      page.add("c\(row)", type: "div", style: ["flex": .number(1), "marginLeft": .text("20px")], to: "r\(row)")
      for line in 0..<2 {
        page.add(
          "t\(row)-\(line)", type: "text", style: ["fontSize": .text("28px"), "lines": .number(2)],
          attributes: ["value": .text("line \(line) of item \(row), in some words")],
          to: "c\(row)")
      }
    }
    var list = LayoutTree()
    list.createBody("_root", type: "div")
    list.add("list", type: "list", to: "_root")
    for cell in 0..<10_000 {
      list.add("c\(cell)", type: "cell", style: ["height": .number(120), "padding": .number(20)], to: "list")
    }
    func height(_ layout: LayoutTree, _ ref: String) -> Double { layout.box(ref)?.contentSize.height ?? 0 }
    let (first, cells) = (page, list)
    var changing = page
    changing.update()
    var changes = 0
    return [
      Operation("lay out 1,001 elements") {
        var layout = first
        guard layout.update().count == 1_001, height(layout, "_root") > 10_000 else {
          throw Failed(description: "elements are missing")
        }
      },
      Operation("lay out a change in 1,001 elements") {
        changes += 1
        changing.setAttributes(["value": .text("change \(changes % 10)")], of: "t50-1")
        _ = changing.update()
        guard !changing.needsUpdate else { throw Failed(description: "the change is missing") }
      },
      Operation("lay out a list of 10,000 cells") {
        var layout = cells
        layout.update()
        guard height(layout, "list") == 1_200_000 else { throw Failed(description: "cells are missing") }
      },
    ]
  }

  // MARK: Responses

  /// Answers every request with so many bytes, which are fresh for an hour or may not be stored.
  private struct Items: HTTPTransporting {
    let size: Int
    let isStored: Bool

    func send(_ request: TransportRequest) async throws -> TransportResponse {
      var fields = Operation.fields
      fields[.date] = HTTPDate.now.description
      fields[.contentLength] = "\(size)"
      if !isStored { fields[.cacheControl] = "no-store" }
      let body = [UInt8](repeating: 120, count: size)
      return TransportResponse(head: HTTPResponse(status: .ok, headerFields: fields), body: Body(body))
    }
  }

  private static func responses(in folder: String) async throws -> [Operation] {
    let memory = try loader(folder + "/memory", memoryCapacity: 4 << 20)
    let disk = try loader(folder + "/disk", memoryCapacity: 0)
    let hit = ResourceRequest("https://api.example.com/hit.json", behavior: .protocolCache)
    let small = try loader(folder + "/small", memoryCapacity: 0, size: 1_024, remembersKeys: true)
    let passing = try loader(folder + "/passing", memoryCapacity: 4 << 20, isStored: false, remembersKeys: true)
    for loader in [memory, disk, small] { _ = try await loader.response(for: hit).body.collect() }
    let counter = Counter()
    func read(_ loader: ResourceLoader, _ size: Int) async throws {
      guard try await loader.response(for: hit).body.collect().count == size else {
        throw Failed(description: "no hit")
      }
    }
    func store(_ loader: ResourceLoader) async throws {
      let request = ResourceRequest("https://api.example.com/\(counter.next()).json", behavior: .protocolCache)
      _ = try await loader.response(for: request).body.collect()
      await loader.finishBackgroundWork()
    }
    return [
      Operation("hit in memory") {
        guard try await memory.response(for: hit).source == .memory else { throw Failed(description: "no hit") }
      },
      Operation("hit on disk, 16 KiB") { try await read(disk, 16_384) },
      Operation("store a response, 16 KiB") { try await store(disk) },
      Operation("hit on disk, 1 KiB") { try await read(small, 1_024) },
      Operation("store a response, 1 KiB") { try await store(small) },
      Operation("pass a response on") {
        guard try await passing.response(for: hit).source == .network else {
          throw Failed(description: "it was stored")
        }
      },
    ]
  }

  /// - Parameters:
  ///   - size: bytes of a response.
  ///   - isStored: `false` for responses that may not be stored.
  ///   - remembersKeys: as the gateway's stores do.
  private static func loader(
    _ path: String, memoryCapacity: Int, size: Int = 16_384, isStored: Bool = true, remembersKeys: Bool = false
  ) throws -> ResourceLoader {
    var options = ResponseStore.Options(capacity: 100 << 20)
    options.remembersKeys = remembersKeys
    let cache = try ResponseCache(
      store: ResponseStore(at: ResponseDirectory(path), options: options), memoryCapacity: memoryCapacity,
      allowingNone: memoryCapacity == 0)
    return ResourceLoader(cache: cache, transport: Items(size: size, isStored: isStored))
  }

  private final class Counter {
    private var last = 0

    func next() -> Int {
      last += 1
      return last
    }
  }

  // MARK: Bundles

  private static func bundles(in folder: String) async throws -> [Operation] {
    try FileManager.default.createDirectory(atPath: folder + "/site/b", withIntermediateDirectories: true)
    for index in 0..<100 {
      try Data("p\(index)".utf8).write(to: URL(fileURLWithPath: "\(folder)/site/b/p\(index).js"))
    }
    let manifest = folder + "/site/manifest.json"
    try Data(try Self.manifest(100, base: "b/")).write(to: URL(fileURLWithPath: manifest))
    let host = try PageHost(.init(manifest: manifest, store: StoreDirectory(folder + "/store")))
    let report = await host.preload().report()
    guard report.failures.isEmpty, report.bundles == 100, let url = PageURL(filePath: folder + "/site/b/p7.js") else {
      throw Failed(description: "the bundles were not stored: \(report)")
    }
    return [
      Operation("open a stored bundle") {
        guard try await host.bundles.load(url).bytes == Array("p7".utf8) else {
          throw Failed(description: "other bytes")
        }
      },
      Operation("launch with 100 unchanged bundles") {
        await host.relaunch()
        guard await host.preload().report().upToDate == 100 else { throw Failed(description: "the launch failed") }
      },
    ]
  }
}
