import LivePages
import PageKit
import PageTesting
import Testing

@testable import RenderHost

/// Pages in workers, and their releases.
@Suite(.serialized) struct PageReleaseTests {
  /// Shows the contents of its data file, and reads it again at each click.
  private static func script(_ release: String) -> String {
    Script.page(
      """
      var t = d.createElement('text', {}); b.appendChild(t)
      function show() {
        weex.requireModule('stream').fetch({ url: 'data.txt', type: 'text', cache: 'networkOnly' }, function (answer) {
          t.setAttr('value', '\(release) with ' + answer.data)
        })
      }
      t.addEvent('click', show)
      show()
      """)
  }

  private static func shown(_ id: String, _ farm: PageFarm) async throws -> String? {
    try await farm.ask(.get, "/pages/\(id)").json["tree"]["children"].list.first?["attr"]["value"].text
  }

  private static func events(of id: String, _ farm: PageFarm) async throws -> [String] {
    guard case .events(let events, _) = await (try farm.log(of: id)).next(after: 0, within: .zero) else { return [] }
    return events.map(\.name)
  }

  @Test("a page keeps its release, is told of the next one, and takes it when reloaded")
  func pageRelease() async throws {
    try await PageFarm.running(["page": Self.script("one")], files: ["data.txt": "1"], workers: 1) { farm in
      let id = try await farm.open("page")
      try await farm.until { try await Self.shown(id, farm) == "one with 1" }
      try await farm.publish(["page": Self.script("two")], files: ["data.txt": "2"], release: "r2")
      try await farm.until { try await Self.events(of: id, farm).contains("update") }
      let ref = try await farm.ask(.get, "/pages/\(id)").json["tree"]["children"].list.first?["ref"].text ?? ""
      #expect(try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"\#(ref)","type":"click"}"#).status == 200)
      try await farm.until { try await farm.ask(.get, "/pages/\(id)").json["requests"]["total"].count == 2 }
      #expect(try await Self.shown(id, farm) == "one with 1")
      #expect(try await farm.ask(.post, "/pages/\(id)/reload").status == 200)
      try await farm.until { try await Self.shown(id, farm) == "two with 2" }
      #expect(try await Self.events(of: id, farm).contains("reloaded"))
      #expect(try await farm.ask(.post, "/pages/none/reload").status == 404)
    }
  }

  @Test("a failed reload leaves the page unchanged")
  func failedReload() async throws {
    try await PageFarm.running(["page": Self.script("one")], files: ["data.txt": "1"], workers: 1) { farm in
      let id = try await farm.open("page")
      try await farm.until { try await Self.shown(id, farm) == "one with 1" }
      try await farm.publish(["page": Script.head + "throw new Error('broken')"], release: "r2")
      #expect(try await farm.ask(.post, "/pages/\(id)/reload").status == 422)
      #expect(try await Self.shown(id, farm) == "one with 1")
    }
  }
}
