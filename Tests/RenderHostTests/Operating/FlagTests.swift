import Testing

@testable import RenderHost
@testable import ServerKit

struct FlagTests {
  /// Each setting is reachable by its flag.
  @Test(arguments: SettingKey.allCases)
  func everySettingHasAFlag(_ key: SettingKey) throws {
    let isSwitch = Settings.setting(key)?.form == .toggle
    let arguments = isSwitch ? [key.flag] : [key.flag, "x"]
    let command = try #require(try HostCommand.parseAsRoot(arguments) as? HostCommand)
    #expect(command.given == [key: [isSwitch ? "true" : "x"]])
  }

  @Test func listsAreRepeated() throws {
    let command = try #require(
      try HostCommand.parseAsRoot(["--allow-origin", "a", "--allow-origin", "b"]) as? HostCommand)
    #expect(command.given == [.allowOrigin: ["a", "b"]])
  }

  @Test func helpHasGroupsExamplesAndEverySetting() {
    let help = HostCommand.helpMessage(columns: 100)
    for key in SettingKey.allCases { #expect(help.contains(key.flag), "\(key.flag)") }
    for word in ["SERVING:", "PAGES:", "SECURITY:", "LIMITS:", "LOGS:", "Examples:", "SIGHUP"] {
      #expect(help.contains(word), "\(word)")
    }
  }
}
