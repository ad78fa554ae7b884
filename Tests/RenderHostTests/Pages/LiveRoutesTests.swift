import Foundation
import HTTPTypes
import Hummingbird
import LivePages
import PageKit
import PageTesting
import TestServers
import Testing

@testable import PageWorkers
@testable import RenderHost
@testable import ServerKit

/// Pages in workers that are used in browsers, by the routes that their document uses.
@Suite(.serialized) struct LiveRoutesTests {
  private static let own: HTTPFields = [.origin: "http://localhost", .contentType: "application/json"]

  /// A page that shows what is typed into its field.
  private static let form = Script.page(
    """
    var field = d.createElement('input', { attr: { value: '' } }), shown = d.createElement('text', { attr: { value: '-' } })
    field.addEvent('input', function (e) { shown.setAttr('value', 'typed: ' + e.value + ' ' + field.attr.value) })
    b.appendChild(field); b.appendChild(shown)
    """)

  private func open(_ farm: PageFarm, _ body: String = #"{"name":"counter"}"#) async throws -> (String, JSONValue) {
    let answer = try await farm.ask(.post, "/live", body, headers: Self.own)
    #expect(answer.status == 201, "\(answer.text)")
    return (try #require(answer.json["page"].text), answer.json)
  }

  /// The ref of the first element of a class in a view.
  private func ref(_ type: String, in view: JSONValue) throws -> String {
    let html = try #require(view["view"]["html"].text)
    let found = try #require(html.firstRange(of: "\" class=\"w-\(type)\""))
    let start = try #require(html[..<found.lowerBound].ranges(of: "data-ref=\"").last)
    return String(html[start.upperBound..<found.lowerBound])
  }

  private func fire(_ farm: PageFarm, _ id: String, _ events: String) async throws -> PageFarm.Answer {
    try await farm.ask(.post, "/pages/\(id)/live/events", "{\"events\":[\(events)]}", headers: Self.own)
  }

  /// A viewer's stream of patches.
  private func watch(_ farm: PageFarm, _ id: String, after place: Int) throws -> RawClient {
    let client = try RawClient(port: farm.client.port)
    client.send(
      "GET /pages/\(id)/live/patches?lastEventId=\(place) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    return client
  }

  @Test("the document has the first tree as HTML, one script with a nonce, and is the viewer's own page")
  func document() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let first = try await farm.ask(.get, "/live/counter")
      #expect(first.status == 200 && first.text.contains("clicks: 0"), "\(first.text.prefix(300))")
      let policy = try #require(first.headers[.contentSecurityPolicy])
      let nonce = try #require(policy.firstRange(of: "script-src 'nonce-")?.upperBound)
      #expect(first.text.contains("<script nonce=\"\(policy[nonce...].prefix { $0 != "'" })\""))
      #expect(first.headers[.cacheControl] == "no-store")
      _ = try await farm.ask(.get, "/live/counter")
      #expect(await farm.running.directory.pages.count == 2)
      #expect(try await farm.ask(.get, "/live/none").status == 404)
      #expect(try await farm.ask(.get, "/live").status == 400)
    }
  }

  @Test("a tap is followed by a patch, in the page that a URL shares too")
  func tap() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let (id, view) = try await open(farm)
      let shared = try await farm.ask(.get, "/live/counter?page=\(id)")
      #expect(shared.status == 200 && shared.text.contains("data-page=\"\(id)\""))
      let text = try ref("text", in: view)
      let stream = try watch(farm, id, after: try #require(view["position"].count))
      let fired = try await fire(farm, id, #"{"ref":"\#(text)","type":"click","event":{"position":{"x":1}}}"#)
      #expect(fired.status == 204, "\(fired.text)")
      let sent = try await stream.read(until: "clicks: 1")
      #expect(sent.contains("event: patch") && sent.contains(#"["text","\#(text)","clicks: 1"]"#))
      // Readers of the page's events have its commands, and no patches.
      let names = try await farm.log(of: id).names(after: 0)
      #expect(!names.isEmpty && !names.contains("patch"))
      let again = try await farm.ask(.get, "/pages/\(id)/live")
      #expect(again.json["view"]["html"].text?.contains("clicks: 1") == true)
    }
  }

  @Test("typed text reaches the script as on devices")
  func typing() async throws {
    try await PageFarm.running(["form": Self.form], workers: 1) { farm in
      let (id, view) = try await open(farm, #"{"name":"form"}"#)
      let field = try ref("input", in: view)
      let typed = #"{"ref":"\#(field)","type":"input","event":{"value":"Ann"},"changes":{"attrs":{"value":"Ann"}}}"#
      #expect(try await fire(farm, id, typed).status == 204)
      let html = try await farm.ask(.get, "/pages/\(id)/live").json["view"]["html"].text
      #expect(html?.contains("typed: Ann Ann") == true && html?.contains(#"value="Ann""#) == true, "\(html ?? "")")
    }
  }

  @Test("unknown elements, types and bodies are refused with a sentence, and the events beside them count")
  func refusals() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let (id, view) = try await open(farm)
      let text = try ref("text", in: view)
      let unknown = try await fire(farm, id, #"{"ref":"nope","type":"click"},{"ref":"\#(text)","type":"click"}"#)
      #expect(unknown.status == 404)
      #expect(unknown.json["error"].text?.hasSuffix(#"there is no element "nope" for the event "click""#) == true)
      let type = try await fire(farm, id, #"{"ref":"\#(text)","type":"explode"}"#)
      #expect(type.status == 400 && type.json["error"].text?.hasPrefix("a browser fires no event") == true)
      let long = String(repeating: " ", count: LiveInput.byteLimit + 1)
      #expect(try await farm.ask(.post, "/pages/\(id)/live/events", long, headers: Self.own).status == 413)
      #expect(try await fire(farm, "unknown", #"{"ref":"1","type":"click"}"#).status == 404)
      #expect(try await farm.ask(.get, "/pages/\(id)/live").text.contains("clicks: 1"))
    }
  }

  @Test("events of other origins, and of none, get 403")
  func origins() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let (id, _) = try await open(farm)
      for origin in ["http://evil.example", "null", "http://localhost:1", nil] {
        var fields: HTTPFields = [.contentType: "application/json"]
        fields[.origin] = origin
        for path in ["/live", "/pages/\(id)/live/events"] {
          let answer = try await farm.ask(.post, path, #"{"name":"counter","events":[]}"#, headers: fields)
          #expect(answer.status == 403, "\(path) \(origin ?? "-")")
        }
        #expect(try await farm.ask(.delete, "/pages/\(id)/live", headers: fields).status == 403)
      }
      #expect(await farm.running.directory.pages.count == 1)
    }
  }

  @Test("a viewer that comes back goes on after what it has seen, or fetches the whole page")
  func reconnecting() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let (id, view) = try await open(farm)
      let text = try ref("text", in: view)
      let click = #"{"ref":"\#(text)","type":"click"}"#
      let log = try await farm.running.directory.page(id).live
      _ = try await fire(farm, id, click)
      try await farm.until { log.lastID > 0 }
      let place = log.lastID
      _ = try await fire(farm, id, click)
      let rest = try await watch(farm, id, after: place).read(until: "clicks: 2")
      #expect(!rest.contains("clicks: 1"))
      // More than the log keeps.
      for _ in 0..<EventLog.countLimit + 1 { log.append(LiveEvent.patch, Array("{}".utf8)) }
      let lost = try await watch(farm, id, after: place).readToEnd()
      #expect(lost.contains("event: again") && !lost.contains("event: patch"))
    }
  }

  /// The patches in the text of a stream, with their numbers.
  private func patches(in sent: String) throws -> [JSONValue] {
    try sent.matches(of: /event: patch\ndata: (.*)\n/).map { try JSONValue(reading: Array($0.1.utf8)) }
  }

  @Test("a viewer that joins while a new run opens sees the former one, and gets one patch with the differences")
  func joiningBefore() async throws {
    let waiting =
      Script.counter + "\nweex.requireModule('stream').fetch({ url: '/data', type: 'text' }, function () {})"
    try await PageFarm.running(["waiting": waiting], workers: 1) { farm in
      farm.origin.serve("/data", Array("data".utf8), headers: [.cacheControl: "no-store"])
      let (id, view) = try await open(farm, #"{"name":"waiting","settle":20}"#)
      _ = try await fire(farm, id, #"{"ref":"\#(try ref("text", in: view))","type":"click"}"#)
      let live = try await farm.running.directory.page(id).live
      try await farm.until { live.lastID == 1 }
      farm.origin.hold("/data")
      let reload = Task { try await farm.ask(.post, "/pages/\(id)/reload") }
      defer { farm.origin.release("/data") }
      try await farm.origin.waitForRequests(2, to: "/data")
      let joined = try await farm.ask(.get, "/pages/\(id)/live").json
      #expect(joined["run"] == view["run"] && joined["view"]["html"].text?.contains("clicks: 1") == true)
      let stream = try watch(farm, id, after: try #require(joined["position"].count))
      farm.origin.release("/data")
      #expect(try await reload.value.status == 200)
      let now = try await farm.ask(.get, "/pages/\(id)/live").json
      _ = try await fire(farm, id, #"{"ref":"\#(try ref("text", in: now))","type":"click"}"#)
      let sent = try await stream.read(until: #""clicks: 1"]"#) + stream.read(until: "\n\n")
      let patches = try patches(in: sent)
      let first = try #require(joined["view"]["number"].count)
      #expect(
        patches.map { $0["number"].count } == [first + 1, first + 2] && !sent.contains("event: again"), "\(sent)")
      #expect(patches.map { $0["run"] } == [now["run"], .null] && now["run"] != view["run"], "\(sent)")
    }
  }

  @Test("a viewer that joins between the patch of a new run and the end of the former one sees the new one")
  func joiningBetween() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let directory = farm.running.directory
      let (id, view) = try await open(farm)
      _ = try await fire(farm, id, #"{"ref":"\#(try ref("text", in: view))","type":"click"}"#)
      let page = try await directory.page(id)
      try await farm.until { page.live.lastID == 1 }
      // A reload up to there.
      var opening = page.opening
      opening.former = page.number
      let (run, reply, _) = try await directory.run(page.target, opening, page.log, nil, patches: page.live)
      #expect(reply.isFollowed == true && page.live.lastID == 2)
      let joined = try await farm.ask(.get, "/pages/\(id)/live").json
      #expect(joined["run"].count == Int(run) && joined["position"].count == 2, "\(joined)")
      #expect(joined["view"]["number"].count == 2, "\(joined)")
      #expect(joined["view"]["html"].text?.contains("clicks: 0") == true, "\(joined)")
      let document = try await farm.ask(.get, "/live/counter?page=\(id)").text
      #expect(document.contains("data-run=\"\(run)\" data-number=\"2\" data-position=\"2\""))
      let stream = try watch(farm, id, after: 2)
      let firing = PageFiring(ref: try ref("text", in: joined), type: "click", event: nil, changes: nil)
      _ = try await directory.pool.call(run) {
        .fire(call: $0, page: run, firing, PageWait(settle: 0, timers: 0), view: nil)
      }
      let sent = try await stream.read(until: #""clicks: 1"]"#)
      #expect(sent.ranges(of: "event: ").count == 1 && sent.contains(#""number":3"#), "\(sent)")
    }
  }

  @Test("a page without viewers is no longer compared, and one that comes back gets all of it")
  func unseen() async throws {
    let clock = ManualInstant()
    try await PageFarm.running(["counter": Script.counter], workers: 1, now: { clock.now }) { farm in
      let directory = farm.running.directory
      let (id, view) = try await open(farm)
      let text = try ref("text", in: view)
      clock.advance(by: PageDirectory.unseenTime)
      await directory.expire(at: clock.now)
      #expect(await directory.pages[id]?.isFollowed == false)
      _ = try await fire(farm, id, #"{"ref":"\#(text)","type":"click"}"#)
      let seen = try await watch(farm, id, after: 0).read(until: "event: again")
      #expect(!seen.contains("clicks: 1"))
      #expect(try await farm.ask(.get, "/pages/\(id)/live").text.contains("clicks: 1"))
      #expect(await directory.pages[id]?.isFollowed == true)
      let live = try await directory.page(id).live
      try await farm.until { live.watchers == 0 }
      clock.advance(by: .seconds(301))
      await directory.expire(at: clock.now)
      #expect(await directory.pages[id] == nil)
    }
  }

  @Test("a viewer's own page goes with it, and one that others have opened stays")
  func leaving() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let (id, view) = try await open(farm)
      let stream = try watch(farm, id, after: try #require(view["position"].count))
      _ = try await stream.read(until: "retry")
      #expect(try await farm.ask(.delete, "/pages/\(id)/live", headers: Self.own).status == 204)
      #expect(try await stream.readToEnd().contains("event: ended"))
      #expect(try await farm.ask(.get, "/pages/\(id)/live").status == 404)
      let other = try await farm.open("counter")
      #expect(try await farm.ask(.delete, "/pages/\(other)/live", headers: Self.own).status == 204)
      #expect(try await farm.ask(.get, "/pages/\(other)/live").status == 200)
    }
  }

  @Test("beyond the limit of pages a viewer is asked to come back")
  func admission() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1, change: { $0.pages = 1 }) { farm in
      #expect(try await farm.ask(.get, "/live/counter").status == 200)
      let refused = try await farm.ask(.get, "/live/counter")
      #expect(refused.status == 503 && refused.headers[.retryAfter] == "1")
    }
  }

  @Test("viewers are told that their worker was killed, and see the page begun again")
  func killedWorker() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let (id, view) = try await open(farm)
      let text = try ref("text", in: view)
      _ = try await fire(farm, id, #"{"ref":"\#(text)","type":"click"}"#)
      let stream = try watch(farm, id, after: try #require(view["position"].count))
      _ = try await stream.read(until: "clicks: 1")
      let worker = try #require(await farm.running.workers.status().workers.first)
      kill(worker.pid, SIGKILL)
      let told = try await stream.read(until: "event: reopened\ndata: {\"reason\":")
      #expect(!told.contains("event: ended"))
      try await farm.until { try await farm.ask(.get, "/pages/\(id)/live").text.contains("clicks: 0") }
      let (new, _) = try await open(farm)
      #expect(new != id)
    }
  }

  @Test("viewers of a page that is stopped are told the reason")
  func stoppedPage() async throws {
    let hang = Script.page(
      "b.addEvent('click', function () { while (true) {} })")
    try await PageFarm.running(["hang": hang], workers: 1, pageTime: .milliseconds(300)) { farm in
      let (id, view) = try await open(farm, #"{"name":"hang"}"#)
      let stream = try watch(farm, id, after: try #require(view["position"].count))
      _ = try await stream.read(until: "retry")
      let fired = try await fire(farm, id, #"{"ref":"\#(try ref("div", in: view))","type":"click"}"#)
      #expect(fired.status == 504)
      #expect(try await stream.readToEnd().contains("event: ended\ndata: {\"reason\":"))
    }
  }

  @Test("a page that goes elsewhere tells its viewers")
  func navigation() async throws {
    let from = Script.page(
      "weex.requireModule('navigator').push({ url: 'counter.js' }, function () {})")
    try await PageFarm.running(["from": from, "counter": Script.counter], workers: 1) { farm in
      let (id, view) = try await open(farm, #"{"name":"from"}"#)
      let sent = try await watch(farm, id, after: try #require(view["position"].count)).read(until: "counter.js")
      #expect(sent.contains("event: navigate") && sent.contains(#""action":"push""#))
    }
  }
}

/// A clock that a test sets.
private final class ManualInstant: Sendable {
  private let state = Monitor(ContinuousClock.now)
  var now: ContinuousClock.Instant { state.read(\.self) }
  func advance(by time: Duration) { state.change { $0 = $0 + time } }
}
