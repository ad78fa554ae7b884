import Testing

@testable import Signing

struct SigningCommandTests {
  @Test(
    "a command that does not sign is an error that says why",
    arguments: [
      ("exit 3", "ended with 3"), ("echo no", "gave no signature by the key"), ("kill -9 $$", "ended with 9"),
      ("yes | head -c 1000000", "found 4096 bytes"),
    ])
  func failures(_ command: String, _ reason: String) async throws {
    let signing = SigningCommand(command, key: try SigningKey().verificationKey)
    let error = await #expect(throws: SigningCommandError.self) { try await signing.signature(over: [1]) }
    #expect(error?.reason.contains(reason) == true, "\(error.map { "\($0)" } ?? "")")
  }

  @Test("a command that does not end is killed, with what it has started")
  func endless() async throws {
    let signing = SigningCommand(
      "sleep 1000 & sleep 1000", key: try SigningKey().verificationKey, limit: .milliseconds(200))
    let error = await #expect(throws: SigningCommandError.self) { try await signing.signature(over: [1]) }
    #expect(error?.reason.hasPrefix("has not ended in") == true)
  }
}
