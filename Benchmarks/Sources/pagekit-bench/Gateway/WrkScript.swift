import Foundation

/// What wrk(1) asks for, where that is more than one URL.
struct WrkScript {
  let path: String

  /// Paths below a prefix that were never asked for before: numbers that count up.
  static func new(below prefix: String, in folder: String) throws -> WrkScript {
    try WrkScript(
      """
      local number = 0
      request = function()
        number = number + 1
        return "GET \(prefix)" .. number .. " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n"
      end
      """, in: folder)
  }

  /// Paths of ten folders with so many files each, at random.
  static func random(below prefix: String, files: Int, in folder: String) throws -> WrkScript {
    try WrkScript(
      """
      math.randomseed(2026)
      request = function()
        return "GET \(prefix)" .. math.random(0, 9) .. "/" .. math.random(1, \(files))
          .. " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n"
      end
      """, in: folder)
  }

  /// Paths that end with a number below a limit, at random.
  static func anyOf(_ limit: Int, below prefix: String, in folder: String) throws -> WrkScript {
    try WrkScript(
      """
      math.randomseed(2026)
      request = function()
        return "GET \(prefix)" .. math.random(0, \(limit - 1)) .. " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n"
      end
      """, in: folder)
  }

  private init(_ text: String, in folder: String) throws {
    path = folder + "/wrk.lua"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }
}
