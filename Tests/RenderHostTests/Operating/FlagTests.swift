import Testing

@testable import RenderHost
@testable import ServerKit

struct FlagTests {
  /// Each setting is reachable by its flag.
  @Test("every setting has a flag", arguments: SettingKey.allCases)
  func flags(_ key: SettingKey) throws {
    let isSwitch = Settings.setting(key)?.form == .toggle
    let arguments = isSwitch ? [key.flag] : [key.flag, "x"]
    let command = try #require(try HostCommand.parseAsRoot(arguments) as? HostCommand)
    #expect(command.given == [key: [isSwitch ? "true" : "x"]])
  }

  @Test("the flag of a list can be repeated")
  func lists() throws {
    let command = try #require(
      try HostCommand.parseAsRoot(["--allow-origin", "a", "--allow-origin", "b"]) as? HostCommand)
    #expect(command.given == [.allowOrigin: ["a", "b"]])
  }

  @Test("the help has groups, examples and every setting")
  func help() {
    let help = HostCommand.helpMessage(columns: 100)
    for key in SettingKey.allCases { #expect(help.contains(key.flag), "\(key.flag)") }
    for word in ["SERVING:", "PAGES:", "SECURITY:", "LIMITS:", "LOGS:", "Examples:", "SIGHUP"] {
      #expect(help.contains(word), "\(word)")
    }
  }
}
