import Foundation
import HTTPTypes
import PageKit
import PageTesting
import Testing

struct FetchScriptTests {
  /// Answers by their id.
  private static func run(_ site: Site, _ lines: [String], _ more: String...) async throws -> [String: [String: Any]] {
    let input = lines.joined(separator: "\n") + "\n"
    let result = try await Command.start(
      ["fetch", "--stdin", "--store", site.store] + more, input: input
    ).result()
    var answers: [String: [String: Any]] = [:]
    for line in result.output.split(separator: "\n") {
      let answer = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      answers["\(answer["id"] ?? "none")"] = answer
    }
    return answers
  }

  @Test("each input line is answered by an output line with its id")
  func lines() async throws {
    try await Site.running { site in
      site.origin.respond("/echo/*") { request in
        OriginResponse(
          status: .init(code: 201), headers: [.cacheControl: "max-age=60"],
          body: Array("\(request.method) \(request.path) \(request.text)".utf8))
      }
      let lines = (0..<100).map {
        #"{"id": \#($0), "method": "PUT", "url": "\#(site.origin.url(for: "/echo/\($0)"))", "body": "b\#($0)"}"#
      }
      let answers = try await Self.run(site, lines)
      #expect(answers.count == 100)
      #expect(answers["42"]?["status"] as? Int == 201)
      #expect(answers["42"]?["body"] as? String == "PUT /echo/42 b42")
      #expect(answers["42"]?["bodyEncoding"] as? String == "utf8")
      #expect(answers["42"]?["source"] as? String == "network")
      #expect((answers["42"]?["cacheStatus"] as? String)?.hasPrefix("PageKit; fwd=method") == true)
    }
  }

  @Test("bytes that are not text are encoded as base64")
  func base64() async throws {
    try await Site.running { site in
      site.origin.serve("/raw", [0, 255, 128])
      let answer = try await Self.run(site, [#"{"id": "x", "url": "\#(site.origin.url(for: "/raw"))"}"#])["x"]
      #expect(answer?["body"] as? String == Data([0, 255, 128]).base64EncodedString())
      #expect(answer?["bodyEncoding"] as? String == "base64")
    }
  }

  @Test("failures and invalid lines are answered with an error")
  func errors() async throws {
    try await Site.running { site in
      site.origin.script("/cut", [.closeBeforeHead])
      let answers = try await Self.run(
        site,
        [
          #"{"id": 1, "url": "\#(site.origin.url(for: "/cut"))"}"#, "not JSON", #"{"id": 3}"#,
          #"{"id": 4, "url": "nonsense"}"#, #"{"id": 5, "url": "http://127.0.0.1/", "policy": "none"}"#,
        ])
      #expect((answers["1"]?["error"] as? String)?.contains("connection ended") == true)
      #expect((answers["<null>"]?["error"] as? String)?.contains("not a request") == true)
      #expect((answers["4"]?["error"] as? String)?.contains("nonsense") == true)
      #expect((answers["5"]?["error"] as? String)?.contains("policy") == true)
    }
  }

  @Test("options that lines contain are refused on the command line")
  func conflictingOptions() async throws {
    for option in ["-H", "-X", "-d", "-o"] {
      let result = try await Command.start(["fetch", "--stdin", option, "A: b"], input: "").result()
      #expect(result.status == 64, "\(option)")
    }
  }

  @Test("an invalid request is answered under its id")
  func invalidRequest() async throws {
    try await Site.running { site in
      let answers = try await Self.run(site, [#"{"id": 6, "url": 7}"#])
      #expect((answers["6"]?["error"] as? String)?.contains("url: expected a text, found a number") == true)
    }
  }

  @Test("a shared cache stores no private response")
  func sharedCache() async throws {
    try await Site.running { site in
      site.origin.serve("/p", Array("mine".utf8), headers: [.cacheControl: "private, max-age=60"])
      let line = #"{"id": 1, "url": "\#(site.origin.url(for: "/p"))"}"#
      _ = try await Self.run(site, [line], "--shared")
      _ = try await Self.run(site, [line], "--shared")
      #expect(site.origin.requestCount(path: "/p") == 2)
      _ = try await Self.run(site, [line])
      #expect(try await Self.run(site, [line])["1"]?["source"] as? String == "disk")
      #expect(site.origin.requestCount(path: "/p") == 3)
    }
  }

  @Test("redirects are followed unless the request forbids it")
  func redirects() async throws {
    try await Site.running { site in
      site.origin.always("/from", .redirect(to: site.origin.url(for: "/to")))
      site.origin.serve("/to", Array("there".utf8))
      let url = site.origin.url(for: "/from")
      let answers = try await Self.run(
        site, [#"{"id": 1, "url": "\#(url)"}"#, #"{"id": 2, "url": "\#(url)", "redirect": "manual"}"#])
      #expect(answers["1"]?["body"] as? String == "there")
      #expect(answers["2"]?["status"] as? Int == 302)
    }
  }
}
