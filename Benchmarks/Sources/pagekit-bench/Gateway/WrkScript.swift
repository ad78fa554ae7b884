import Foundation

/// What wrk(1) asks for, where that is more than one URL.
struct WrkScript {
  let path: String

  /// Paths below a prefix that were never asked for before: numbers that count up.
  static func new(below prefix: String, in folder: String) throws -> WrkScript {
    try WrkScript("local number = 0", each: "number = number + 1", path: "\"\(prefix)\" .. number", in: folder)
  }

  /// Paths of ten folders with so many files each, at random.
  static func random(below prefix: String, files: Int, in folder: String) throws -> WrkScript {
    try WrkScript(path: "\"\(prefix)\" .. math.random(0, 9) .. \"/\" .. math.random(1, \(files))", in: folder)
  }

  /// Paths that end with a number below a limit, at random.
  static func anyOf(_ limit: Int, below prefix: String, in folder: String) throws -> WrkScript {
    try WrkScript(path: "\"\(prefix)\" .. math.random(0, \(limit - 1))", in: folder)
  }

  /// - Parameters:
  ///   - first: runs once.
  ///   - each: runs before each request.
  ///   - path: an expression of Lua.
  private init(
    _ first: String = "math.randomseed(2026)", each: String = "", path expression: String, in folder: String
  ) throws {
    path = folder + "/wrk.lua"
    let text = """
      \(first)
      request = function()
        \(each)
        return "GET " .. \(expression) .. " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n"
      end
      """
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }
}
