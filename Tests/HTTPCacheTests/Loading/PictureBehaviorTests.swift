import HTTPTransport
import PageTesting
import Testing

@testable import HTTPCache

/// How pictures are loaded that no rule matches.
struct PictureBehaviorTests {
  /// A picture that is stored, and stale.
  private static func withStoredPicture(_ body: (ResourceFixture) async throws -> Void) async throws {
    try await ResourceFixture.running { (fixture: ResourceFixture) async throws in
      fixture.serve("/a.png", "old", etag: "\"1\"", cacheControl: "max-age=1")
      try await fixture.load("/a.png", type: .image)
      fixture.time.advance(10)
      fixture.serve("/a.png", "new", etag: "\"2\"")
      try await body(fixture)
    }
  }

  @Test("where the server answers 5xx, the stored picture is shown", arguments: [500, 502, 503])
  func aServerErrorGivesWhatIsStored(_ status: Int) async throws {
    try await Self.withStoredPicture { (fixture: ResourceFixture) async throws in
      fixture.origin.always("/a.png", .status(status))
      let answer = try await fixture.load("/a.png", type: .image)
      #expect((answer.text, answer.loaded.cacheStatus?.detail) == ("old", "server-error"))
      fixture.origin.always("/a.png", .normal)
      #expect(try await fixture.load("/a.png", type: .image).text == "new")
    }
  }

  @Test("where the server says that there is no such picture, that is the answer")
  func aClientErrorIsTheAnswer() async throws {
    try await Self.withStoredPicture { (fixture: ResourceFixture) async throws in
      fixture.origin.always("/a.png", .status(404))
      #expect(try await fixture.load("/a.png", type: .image).status == 404)
    }
  }

  @Test("an error with nothing stored is given as it is")
  func anErrorWithNothingStoredIsTheAnswer() async throws {
    try await ResourceFixture.running { (fixture: ResourceFixture) async throws in
      fixture.origin.always("/a.png", .status(503))
      #expect(try await fixture.load("/a.png", type: .image).status == 503)
    }
  }

  @Test("where the server is silent, the stored picture is shown, and the late one is there the next time")
  func silenceGivesWhatIsStored() async throws {
    try await Self.withStoredPicture { (fixture: ResourceFixture) async throws in
      fixture.origin.hold("/a.png")
      var hasty = LoadBehavior.picture
      hasty.patience = .milliseconds(30)
      let answer = try await fixture.load("/a.png", hasty, type: .image)
      #expect((answer.text, answer.loaded.cacheStatus?.detail) == ("old", "timeout"))
      fixture.origin.release("/a.png")
      try await fixture.waitUntilIdle()
      #expect(try await fixture.stored("/a.png") == "new")
    }
  }

  @Test("the loader's own behaviour and its rules count for pictures too")
  func whatTheAppSaysCounts() throws {
    var configuration = ResourceLoader.Configuration()
    #expect(configuration.behavior(of: .image) == .picture)
    #expect(LoadBehavior.picture.patience == .seconds(3))
    #expect(configuration.behavior(of: .font) == .automatic)
    configuration.behavior = .cacheOnly
    #expect(configuration.behavior(of: .image) == .cacheOnly)
    configuration.behaviors[.image] = .networkOnly
    #expect(configuration.behavior(of: .image) == .networkOnly)
  }
}
