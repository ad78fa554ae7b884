import Blobs
import Bundles
import Fleet
import Foundation
import HTTPTransport
import Logging
import PageKit
import PageTesting
import Releases
import TestSupport
import Testing

@testable import RenderHost
@testable import ServerKit

/// The reports of installs about a release, and the release that is halted by them.
struct ReportTests {
  private let directory: TemporaryDirectory
  private let upstream: SignedUpstream
  /// Signs the tokens of installs.
  private let tokens: SigningKey

  init() throws {
    directory = try TemporaryDirectory()
    upstream = try SignedUpstream()
    tokens = try SigningKey()
    try Data(try upstream.onlineRoot.encoded()).write(to: URL(fileURLWithPath: directory.file("1.root.json")))
    try Data(try upstream.key.pem().utf8).write(to: URL(fileURLWithPath: directory.file("key.pem")))
    try Data(try upstream.key.verificationKey.pem().utf8).write(to: URL(fileURLWithPath: directory.file("key.pub")))
    try Data(try tokens.verificationKey.pem().utf8).write(to: URL(fileURLWithPath: directory.file("tokens.pub")))
    try ServingFixture.write("// one", to: directory.file("bundles/home.js"))
  }

  /// A shell command that signs with the upstream's key.
  private func command(_ name: String) -> String {
    let (message, key) = (directory.file(name), directory.file("key.pem"))
    return "cat >\(message) && openssl pkeyutl -sign -rawin -inkey \(key) -in \(message)"
  }

  private func authorization(_ install: String) async throws -> String {
    let token = ReportToken(install: install, expires: SignedTime.now.advanced(by: .seconds(600)))
    return "Bearer \(try await token.text { try tokens.signature(over: $0) })"
  }

  /// A host that takes reports.
  private func taking(
    _ change: (inout Settings) -> Void = { _ in }, installs: Int = 4, fleet: FleetMember? = nil,
    _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    let key = directory.file("tokens.pub")
    try await ServingFixture.running(
      directory,
      {
        $0.reportKeys = [key]
        $0.haltBound = HaltBound(percent: 50, installs: installs)
        change(&$0)
      }, fleet: fleet, body)
  }

  private func takingOfFolder(
    _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    let folder = directory.file("bundles")
    try await taking({ $0.bundles = folder }, body)
  }

  /// Posts the report of an install about the release that a host serves.
  @discardableResult
  private func report(
    _ standing: ReleaseStanding, from install: String, to host: ServingFixture, of contents: SHA256Digest? = nil
  ) async throws -> ServingFixture.Answer {
    let current = try #require(host.feed.current)
    let report = ReleaseReport(
      release: current.name, sequence: 1, contents: contents ?? current.identity, standing: standing, failures: 2,
      failure: standing == .bad ? TrialFailure(.exception, page: "http://h/home.js", message: "x") : nil)
    return try await host.get(
      "/reports", ["Authorization": try await authorization(install)], .post,
      body: String(decoding: try report.encoded(), as: UTF8.self))
  }

  @Test("each install counts once, and reports of other releases do not count")
  func counting() async throws {
    try await takingOfFolder { (host: ServingFixture) async throws in
      for (standing, install, isCounted) in [
        (ReleaseStanding.bad, "a", true), (.bad, "a", false), (.good, "a", false), (.good, "b", true),
      ] {
        let answer = try await report(standing, from: install, to: host)
        #expect((answer.status, answer.text) == (202, #"{"counted":\#(isCounted)}"#))
      }
      let other = try await report(.bad, from: "c", to: host, of: ContentDigests.filled(1).sha256)
      #expect((other.status, other.text) == (202, #"{"counted":false}"#))
      for (result, count) in [("bad", 1.0), ("good", 1), ("repeated", 2), ("other", 1), ("refused", 0)] {
        #expect(try host.count("renderhost_reports_total", ["result": result]) == count, "\(result)")
      }
      let current = try #require(host.feed.current)
      let counts = await host.serving.reportCounts(of: current)
      #expect((counts?.good, counts?.bad, counts?.isHalted) == (1, 1, false))
    }
  }

  @Test("a forged report is refused, by its own reason, and counts for nobody")
  func forged() async throws {
    let stranger = try SigningKey()
    func text(_ token: ReportToken, _ key: SigningKey) async throws -> String {
      "Bearer \(try await token.text { try key.signature(over: $0) })"
    }
    let later = SignedTime.now.advanced(by: .seconds(600))
    let cases: [(authorization: String?, reason: String)] = [
      (nil, "a report needs a token of its install"),
      ("Basic YTpi", "a report needs a token of its install"),
      ("Bearer", "a report needs a token of its install"),
      ("Bearer x", "does not have three parts"),
      (try await text(ReportToken(install: "a", expires: later), stranger), "not signed by the key for reports"),
      (try await text(ReportToken(install: "a", expires: .now), tokens), "the token has expired"),
    ]
    try await takingOfFolder { (host: ServingFixture) async throws in
      let current = try #require(host.feed.current)
      let report = ReleaseReport(release: "r", sequence: 1, contents: current.identity, standing: .bad)
      let body = String(decoding: try report.encoded(), as: UTF8.self)
      for (authorization, reason) in cases {
        let answer = try await host.get(
          "/reports", authorization.map { ["Authorization": $0] } ?? [:], .post, body: body)
        #expect(answer.status == 401 && answer.text.contains(reason), "\(answer.text)")
        #expect(answer["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
      }
      for body in ["", "{", "[]", #"{"standing":"bad"}"#, body.replacing("bad", with: "trial")] {
        let answer = try await host.get(
          "/reports", ["Authorization": try await authorization("b")], .post, body: body)
        #expect(answer.status == 400 && answer.text.contains("this is no report of a release"), "\(answer.text)")
      }
      let long = try await host.get(
        "/reports", ["Authorization": try await authorization("c")], .post,
        body: String(repeating: " ", count: ReleaseReport.byteLimit + 1))
      #expect(long.status == 413)
      let counts = await host.serving.reportCounts(of: current)
      #expect((counts?.good, counts?.bad) == (0, 0))
      #expect(try host.count("renderhost_reports_total", ["result": "refused"]) == Double(cases.count + 5))
    }
  }

  @Test("an install that sends report after report is told to wait, and others are not")
  func rate() async throws {
    try await takingOfFolder { (host: ServingFixture) async throws in
      for _ in 0..<ReportDesk.limit { #expect(try await report(.good, from: "a", to: host).status == 202) }
      let answer = try await report(.good, from: "a", to: host)
      #expect(answer.status == 429)
      let wait = try #require(answer["Retry-After"].flatMap { Int($0) })
      #expect((500...600).contains(wait))
      #expect(try await report(.good, from: "b", to: host).text == #"{"counted":true}"#)
    }
  }

  @Test("without a key for reports there is no route for them")
  func none() async throws {
    try await ServingFixture.running(directory, { [directory] in $0.bundles = directory.file("bundles") }) {
      (host: ServingFixture) async throws in
      #expect(try await report(.bad, from: "a", to: host).status == 404)
      #expect(await host.serving.reportCounts(of: try #require(host.feed.current)) == nil)
    }
  }

  // MARK: Halts

  private static func manifest(_ text: String, _ sequence: Int64, on origin: FaultOrigin) throws -> Manifest {
    let digests = try ContentDigests(of: Array(text.utf8))
    origin.serve("/\(sequence)/home.js", Array(text.utf8))
    return Manifest(
      release: "r\(sequence)", sequence: sequence, base: "\(sequence)/",
      bundles: [
        .init(name: "home", path: "home.js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
      ])
  }

  /// Publishes an unsigned rollout to everybody, beside an earlier release, whose manifest is `other.json`.
  private func publishRollout(_ text: String = "// two", beside former: String = "// one", on origin: FaultOrigin)
    throws
  {
    let other = Array(try JSONEncoder().encode(try Self.manifest(former, 1, on: origin)))
    var rollout = try Self.manifest(text, 2, on: origin)
    rollout.rollout = Rollout(percent: 100, salt: "s")
    rollout.otherwise = ManifestReference(url: "other.json", sha256: try SHA256Digest(of: other))
    origin.serve("/other.json", other)
    origin.serve("/manifest.json", Array(try JSONEncoder().encode(rollout)))
  }

  /// The release that an install has after a launch.
  ///
  /// - Parameter install: the name of its store; a new install by default.
  private func launch(
    _ install: String = "\(UInt64.random(in: 0...(.max)))", from host: ServingFixture, trusting root: TrustRoot? = nil
  ) async throws -> StoredRelease? {
    var configuration = try HostConfiguration(
      manifest: "http://127.0.0.1:\(host.port)/manifest.json",
      store: StoreDirectory(directory.file("install \(install)")))
    configuration.releases.trust = root.map { ReleaseTrust($0) }
    let app = try PageHost(configuration)
    let report = await app.preload().report()
    #expect(report.failures.isEmpty, "\(report.failures)")
    let source = try await app.store.source(try #require(configuration.manifest))
    await app.shutDown()
    return source?.current
  }

  @Test("an unsigned rollout that fails on too many installs goes to no further one, also after a restart")
  func rollout() async throws {
    try await FaultOrigin.running { origin in
      try publishRollout(on: origin)
      let url = try #require(PageURL(origin.url(for: "/manifest.json")))
      func following(_ body: @escaping @Sendable (ServingFixture) async throws -> Void) async throws {
        try await taking(
          {
            $0.manifest = url
            $0.follow = .milliseconds(50)
          }, body)
      }
      try await following { (host: ServingFixture) async throws in
        #expect(try await launch(from: host)?.name == "r2")
        for install in ["a", "b"] { try await report(.good, from: install, to: host) }
        try await report(.bad, from: "c", to: host)
        #expect(try await host.manifest().rollout?.percent == 100)
        try await report(.bad, from: "d", to: host)
        try await host.wait { $0.current?.isHalted == true }
        #expect(try await host.manifest().rollout?.percent == 0)
        #expect(try await launch(from: host)?.name == "r1")
        #expect(try host.count("renderhost_halts_total") == 1)
        let told = host.record.failures.latest.map(\.message)
        #expect(told == ["release r2 is halted: it is bad on 2 of the 4 installs that have reported"])
        // To everybody: that lifts no halt.
        origin.serve("/manifest.json", Array(try JSONEncoder().encode(try Self.manifest("// two", 2, on: origin))))
        try await eventually("the rollout is over") { try await host.manifest().rollout?.salt == "halted" }
        #expect(host.feed.current?.isHalted == true)
        #expect(try await launch(from: host)?.name == "r1")
        try publishRollout(on: origin)
        try await eventually("the rollout goes on") { try await host.manifest().rollout?.salt == "s" }
        // It is the same release.
        #expect(host.feed.history.count == 1)
        #expect(try host.count("renderhost_halts_total") == 1)
      }
      try await following { (host: ServingFixture) async throws in
        #expect(try await launch(from: host)?.name == "r1")
        try await report(.bad, from: "e", to: host)
        #expect(try host.count("renderhost_halts_total") == 0)
        #expect(try await host.serving.setHalted(false) == "r2")
        #expect(try await launch(from: host)?.name == "r2")
        await #expect(throws: ServedError.self) { try await host.serving.setHalted(false) }
        #expect(try await host.serving.setHalted(true) == "r2")
        #expect(try await launch(from: host)?.name == "r1")
      }
    }
  }

  @Test("reports to different hosts of a fleet count together, and a halt, also one by hand, is one on all of them")
  func fleet() async throws {
    let journal = TestJournal()
    func member(_ name: String) throws -> FleetMember {
      FleetMember(
        FleetMember.Configuration(name: try #require(FleetName(name)), positionFile: directory.file("\(name).json")),
        journal: journal.connection(of: name), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
    let (one, two) = (try member("a"), try member("b"))
    try await FaultOrigin.running { origin in
      try publishRollout(on: origin)
      let url = try #require(PageURL(origin.url(for: "/manifest.json")))
      let stores = [directory.file("one"), directory.file("two")]
      try await taking({ ($0.manifest, $0.store) = (url, StoreDirectory(stores[0])) }, fleet: one) {
        (host: ServingFixture) async throws in
        try await taking({ ($0.manifest, $0.store) = (url, StoreDirectory(stores[1])) }, fleet: two) {
          (other: ServingFixture) async throws in
          for member in [one, two] { try await eventually("it is current") { member.status.phase == .current } }
          for (install, host) in [("a", host), ("b", other)] { try await report(.good, from: install, to: host) }
          try await report(.bad, from: "c", to: host)
          // An install counts once, whichever host it reports to.
          try await report(.bad, from: "c", to: other)
          try await eventually("both have counted") {
            let counts = [
              await host.serving.reportCounts(of: try #require(host.feed.current)),
              await other.serving.reportCounts(of: try #require(other.feed.current)),
            ]
            return counts.allSatisfy { $0?.bad == 1 && $0?.good == 2 }
          }
          try await report(.bad, from: "d", to: other)
          for host in [host, other] {
            try await host.wait { $0.current?.isHalted == true }
            #expect(try await host.manifest().rollout?.percent == 0)
          }
          #expect(try await host.serving.setHalted(false) == "r2")
          for host in [host, other] { try await host.wait { $0.current?.isHalted == false } }
          journal.cut("b")
          let refused = try await report(.bad, from: "e", to: other)
          #expect(
            refused.status == 503 && refused["Retry-After"] == "60" && refused.text.contains("the journal is away"))
          await #expect(throws: ServedError.self) { try await other.serving.setHalted(true) }
        }
      }
    }
  }

  @Test("a release that was halted by hand is halted on a host that joins the fleet, before it serves anything")
  func joiningHost() async throws {
    let journal = TestJournal()
    func member(_ name: String) throws -> FleetMember {
      FleetMember(
        FleetMember.Configuration(name: try #require(FleetName(name)), positionFile: directory.file("\(name).json")),
        journal: journal.connection(of: name), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
    let (one, two) = (try member("a"), try member("b"))
    try await FaultOrigin.running { origin in
      try publishRollout(on: origin)
      let url = try #require(PageURL(origin.url(for: "/manifest.json")))
      let stores = [directory.file("one"), directory.file("two")]
      try await taking({ ($0.manifest, $0.store) = (url, StoreDirectory(stores[0])) }, fleet: one) {
        (host: ServingFixture) async throws in
        try await eventually("it is current") { one.status.phase == .current }
        #expect(try await host.serving.setHalted(true) == "r2")
        try await host.wait { $0.current?.isHalted == true }
        try await taking({ ($0.manifest, $0.store) = (url, StoreDirectory(stores[1])) }, fleet: two) {
          (other: ServingFixture) async throws in
          // The fixture waits for the first release alone.
          #expect(other.feed.current?.isHalted == true)
          #expect(try await other.manifest().rollout?.percent == 0)
          try await eventually("it is current") { two.status.phase == .current }
          #expect(try await host.serving.setHalted(false) == "r2")
          for host in [host, other] { try await host.wait { $0.current?.isHalted == false } }
        }
      }
    }
  }

  @Test("a manifest that names another one for older runtimes, and is no rollout, goes on naming it")
  func olderRuntime() async throws {
    try await FaultOrigin.running { origin in
      var manifest = try Self.manifest("// two", 2, on: origin)
      manifest.minimumRuntime = "1.4"
      let other = ManifestReference(url: origin.url(for: "/other.json"), sha256: ContentDigests.filled(1).sha256)
      manifest.otherwise = other
      origin.serve("/manifest.json", Array(try JSONEncoder().encode(manifest)))
      let url = try #require(PageURL(origin.url(for: "/manifest.json")))
      try await taking({ $0.manifest = url }) { (host: ServingFixture) async throws in
        #expect(try await host.manifest().otherwise == other)
        #expect(try await host.manifest().rollout == nil)
      }
    }
  }

  @Test("a signed release that fails on too many installs is halted by the status that this host signs")
  func signed() async throws {
    try await FaultOrigin.running { origin in
      let first = try #require(try upstream.publish("// one", sequence: 1, on: origin)["/manifest.json"])
      try upstream.publishStatus(1, of: first, on: origin)
      let (url, root, key) = (
        try #require(PageURL(origin.url(for: "/manifest.json"))), directory.file("1.root.json"),
        directory.file("key.pub")
      )
      try await taking({
        $0.manifest = url
        $0.follow = .milliseconds(50)
        $0.root = root
        $0.statusSignWith = command("message")
        $0.statusPublicKey = key
      }) { (host: ServingFixture) async throws in
        func read() async throws -> ReleaseStatus {
          let (bytes, files) = (try await host.get("/status.json").body, try await host.get("/status.json.sig").body)
          let manifest = try await host.get("/manifest.json").body
          let trusted = ReleaseStatus.Manifest(
            sequence: try Manifest(reading: manifest).sequence, sha256: try SHA256Digest(of: manifest))
          return try ManifestTrust(root: upstream.onlineRoot).checkStatus(
            bytes, try SignatureFile(reading: files), of: trusted, after: nil, at: .now)
        }
        /// The status, once the files that are read one after the other are of one time.
        func status() async throws -> ReleaseStatus {
          var status: ReleaseStatus?
          try await eventually("a status of the manifest") {
            status = try? await read()
            return status != nil
          }
          return try #require(status)
        }
        func launched() async throws -> String? {
          try await launch("a", from: host, trusting: upstream.onlineRoot)?.name
        }
        let before = try await status()
        #expect(!before.isHalted && before.sequence > 1_000_000_000)
        #expect(try await launched() == "r1")
        let second = try #require(try upstream.publish("// two", sequence: 2, on: origin)["/manifest.json"])
        let files = try upstream.publishStatus(2, of: second, disabling: ["pay"], on: origin)
        try await host.wait {
          $0.current?.name == "r2" && $0.current?.signed?.published?.bytes == files["/status.json"]
        }
        for install in ["b", "c", "d", "e"] { try await report(.bad, from: install, to: host) }
        try await host.wait { $0.current?.isHalted == true }
        let halted = try await status()
        #expect(halted.isHalted && halted.sequence > before.sequence && halted.disabled.map(\.bundle) == ["pay"])
        #expect(host.feed.history.last?.isStatus == true)
        #expect(try await launched() == "r1")
        // What the other server publishes changes it, and lifts nothing.
        try upstream.publishStatus(3, of: second, on: origin)
        try await eventually("the other server's status") { try await status().disabled.isEmpty }
        let changed = try await status()
        #expect(changed.isHalted && changed.sequence > halted.sequence)
        #expect(try await launched() == "r1")
        #expect(try await host.serving.setHalted(false) == "r2")
        #expect(try await launched() == "r2")
      }
    }
  }

  @Test("a folder whose releases and status are signed here needs no status of its own")
  func folder() async throws {
    let (bundles, key) = (directory.file("bundles"), directory.file("key.pub"))
    try await taking({
      $0.bundles = bundles
      ($0.signWith, $0.publicKey) = (command("message"), key)
      ($0.statusSignWith, $0.statusPublicKey) = (command("status"), key)
    }) { (host: ServingFixture) async throws in
      func launched() async throws -> Int64? {
        try await launch("a", from: host, trusting: upstream.onlineRoot)?.sequence
      }
      let first = try await launched()
      #expect(first != nil && first == host.feed.current?.stored.sequence)
      try host.write("// two", "home.js")
      try await host.waitForRelease("home.js", "// two")
      _ = try await host.serving.setHalted(true)
      #expect(try await launched() == first)
      // What a person writes is no file of the release, and lifts no halt.
      try host.write(#"{"disabled":[{"bundle":"home","message":"Later."}]}"#, "status.json")
      try await host.wait { $0.current?.signed?.readStatus?.disabled.map(\.bundle) == ["home"] }
      #expect(host.feed.current?.isHalted == true && host.feed.history.count == 4)
      #expect(try await host.manifest().files.isEmpty)
      // Another release is not halted.
      try host.write("// three", "home.js")
      try await host.waitForRelease("home.js", "// three")
      #expect(try await launched() == host.feed.current?.stored.sequence)
    }
  }

  @Test("a release that cannot be halted says why, once")
  func cannot() async throws {
    try await takingOfFolder { (host: ServingFixture) async throws in
      for install in 0..<8 { try await report(.bad, from: "\(install)", to: host) }
      let told = host.record.failures.latest.map(\.message).filter { $0.contains("cannot be halted") }
      #expect(
        told.count == 1
          && told[0].hasSuffix(
            "fails, and cannot be halted: it is not signed, and is no rollout, whose share could be set to 0")
      )
      #expect(host.feed.current?.isHalted == false)
      await #expect(throws: ServedError.self) { try await host.serving.setHalted(true) }
    }
  }

  @Test("pages that fail in one app keep the release from all others")
  func wholeWay() async throws {
    try await FaultOrigin.running { origin in
      let working = Script.page("")
      origin.serve("/manifest.json", Array(try JSONEncoder().encode(try Self.manifest(working, 1, on: origin))))
      let url = try #require(PageURL(origin.url(for: "/manifest.json")))
      try await taking(
        {
          $0.manifest = url
          $0.follow = .milliseconds(50)
        }, installs: 1
      ) { (host: ServingFixture) async throws in
        let address = "http://127.0.0.1:\(host.port)"
        var configuration = try HostConfiguration(
          manifest: "\(address)/manifest.json", store: StoreDirectory(directory.file("app")))
        configuration.releases.reports = try ReleaseReports(to: "\(address)/reports") {
          try await authorization("app")
        }
        let app = try PageHost(configuration)
        #expect(await app.preload().report().activated)
        let page = try await app.open("\(address)/bundles/home.js")
        await page.markReady()
        try await eventually("a good report") {
          try host.count("renderhost_reports_total", ["result": "good"]) == 1
        }
        #expect(host.feed.current?.isHalted == false)

        try publishRollout(Script.head + "throw new Error('out of order')", beside: working, on: origin)
        try await host.wait { $0.current?.name == "r2" }
        await app.relaunch()
        #expect(await app.preload().report().activated)
        for _ in 0..<2 {
          let page = try await app.open("\(address)/bundles/home.js")
          #expect(await page.view?.release.name == "r1")
          await page.destroy()
        }
        try await host.wait { $0.current?.isHalted == true }
        #expect(try host.count("renderhost_reports_total", ["result": "bad"]) == 1)
        #expect(try await launch(from: host)?.name == "r1")
        await app.shutDown()
      }
    }
  }

  // MARK: Faults

  /// A host whose releases and status are signed with commands that can be made to fail.
  private func signing(
    statusKey: String = "key.pub", _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    let (bundles, key, status) = (directory.file("bundles"), directory.file("key.pub"), directory.file(statusKey))
    let failing = "test ! -e \(directory.file("away")) && { \(command("status")); }"
    try await taking(
      {
        $0.bundles = bundles
        ($0.signWith, $0.publicKey) = (command("message"), key)
        ($0.statusSignWith, $0.statusPublicKey) = (failing, status)
      }, body)
  }

  private func setCommandAway(_ isAway: Bool) throws {
    if isAway { return try ServingFixture.write("", to: directory.file("away")) }
    try FileManager.default.removeItem(atPath: directory.file("away"))
  }

  @Test("a halt that cannot be signed is said once, and is published when the command signs again")
  func failingCommand() async throws {
    try await signing { (host: ServingFixture) async throws in
      let status = try await host.get("/status.json").body
      try setCommandAway(true)
      for install in ["a", "b", "c", "d"] { try await report(.bad, from: install, to: host) }
      func told(_ text: String) -> Int { host.record.failures.latest.count { $0.message.contains(text) } }
      try await eventually("the reason") { told("is to be halted, and its status cannot be signed") == 1 }
      #expect(try await host.get("/status.json").body == status)
      await #expect(throws: ServedError.self) { try await host.serving.setHalted(true) }
      #expect(told("its status cannot be signed") == 1 && host.feed.current?.isHalted == false)
      try setCommandAway(false)
      #expect(try await host.serving.setHalted(true) == host.feed.current?.name)
      #expect(host.feed.current?.isHalted == true)
      #expect(told("is halted: it is bad on 4 of the 4 installs") == 1)
      #expect(try host.count("renderhost_halts_total") == 1)
    }
  }

  @Test("while a status cannot be signed, bundles are served")
  func withoutStatus() async throws {
    try setCommandAway(true)
    try await signing { (host: ServingFixture) async throws in
      #expect(try await host.get("/bundles/home.js").text == "// one")
      #expect(try await host.get("/status.json").status == 404)
      #expect(host.record.failures.latest.contains { $0.message.contains("its status cannot be signed") })
    }
  }

  @Test("a halt does not wait while the command that signs the next release hangs, and the host ends with it")
  func hangingCommand() async throws {
    let (bundles, key) = (directory.file("bundles"), directory.file("key.pub"))
    let (hangs, runs) = (directory.file("hangs"), directory.file("runs"))
    let hanging = "test ! -e \(hangs) || { echo $$ >\(runs); sleep 1000; }; \(command("message"))"
    try await taking({
      $0.bundles = bundles
      ($0.signWith, $0.publicKey) = (hanging, key)
      ($0.statusSignWith, $0.statusPublicKey) = (command("status"), key)
    }) { (host: ServingFixture) async throws in
      let name = host.feed.current?.name
      try ServingFixture.write("", to: hangs)
      try host.write("// two", "home.js")
      try await eventually("the command hangs") { FileManager.default.fileExists(atPath: runs) }
      #expect(try await within(.seconds(30)) { try await host.serving.setHalted(true) } == name)
      #expect(host.feed.current?.name == name && host.feed.current?.isHalted == true)
      try FileManager.default.removeItem(atPath: hangs)
      let process = try #require(
        pid_t(try String(contentsOfFile: runs, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
      kill(-process, SIGKILL)
      try await host.waitForRelease("home.js", "// two")
      #expect(host.feed.current?.isHalted == false)
    }
  }

  /// Writes pages whose differences from another version take a while.
  private func writePages(_ version: Int) throws {
    let text = SeededText.make(bytes: 400_000)
    for page in 0..<24 {
      let path = directory.file("bundles/page\(page).js")
      try ServingFixture.write("var page = \(page);\n\(text)\nvar version = \(version);", to: path)
    }
  }

  @Test("a halt does not wait for the differences of the next release")
  func differences() async throws {
    try writePages(1)
    try await signing { (host: ServingFixture) async throws in
      let former = try #require(host.feed.current)
      try writePages(2)
      try await eventually("the first difference is made, and the others are not") {
        let files = FileManager.default.enumerator(atPath: directory.file("store/variants"))?.allObjects ?? []
        return files.contains { ($0 as? String)?.hasSuffix(".dcz") == true }
      }
      _ = try await host.serving.setHalted(true)
      #expect(host.feed.current?.id == former.id && host.feed.current?.isHalted == true)
    }
  }

  @Test("a key of the status that the root does not have is named, and signs nothing")
  func otherKey() async throws {
    try Data(try tokens.verificationKey.pem().utf8).write(to: URL(fileURLWithPath: directory.file("other.pub")))
    let root = try upstream.onlineRoot.encoded()
    try Data(root).write(to: URL(fileURLWithPath: directory.file("bundles/2.root.json")))
    try await signing(statusKey: "other.pub") { (host: ServingFixture) async throws in
      #expect(try await host.get("/status.json").status == 404)
      let told = host.record.failures.latest.map(\.message)
      #expect(told.count == 1 && told[0].contains("does not give the key \(tokens.verificationKey.id)"))
    }
  }

  @Test("a halt outlives the store that is removed while the host runs")
  func removedStore() async throws {
    try await signing { (host: ServingFixture) async throws in
      let name = try await host.serving.setHalted(true)
      let former = try #require(host.feed.current)
      // In one step, since files are written into it.
      try FileManager.default.moveItem(atPath: directory.file("store"), toPath: directory.file("removed"))
      // The folder is looked at again.
      try host.write("// one", "home.js")
      try await host.wait { $0.current.map { $0.id != former.id } ?? false }
      #expect(host.feed.current?.identity == former.identity && name == former.name)
      #expect(host.feed.current?.isHalted == true)
    }
  }
}
