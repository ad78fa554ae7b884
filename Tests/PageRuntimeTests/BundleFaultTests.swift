import HTTPTransport
import ScriptEngine
import Testing

@testable import PageRuntime

struct BundleFaultTests {
  private static func lines(_ count: Int) -> String { String(repeating: "f()\n", count: count) }

  @Test(
    "a text that is not a bundle is recognised by its kind",
    arguments: [
      ("", .empty), (" \n\t", .empty), ("<!doctype html>", .html), ("\u{FEFF} <html>", .html), (#"{"a": [1]}"#, .json),
      ("[1, 2]", .json), ("\"text\"", .json), ("import a from 'b'\n", .module), ("import { a, b } from \"c\"", .module),
      ("import 'x.css'", .module), ("import * as x from 'x'", .module), ("var a = 1\nexport default { a }", .module),
      ("export const a = 1", .module), ("export { a }", .module),
      ("var a = 1", nil), ("{ a(); b() }", nil), ("[].forEach(x)", nil), ("important(1)", nil), ("imports = 1", nil),
      ("exports.a = 1", nil), ("// import a from 'b'\nf()", nil), ("import('x').then(f)", nil), ("'use strict';", nil),
      ("{\"a\": 1}.b", nil), ("[\"" + String(repeating: "é", count: 999) + "\"]", .json),
      ("//" + String(repeating: "é", count: 999) + "\nexport default 1", .module),
      ("var a = 1\r\nexport default { a }", .module), ("import a from 'b'\n" + lines(500), .module),
      (lines(500) + "export default a", .module), (lines(500) + "export default a\n" + lines(500), nil),
    ] as [(String, BundleFault?)])
  func kinds(_ text: String, _ fault: BundleFault?) {
    #expect(BundleFault(in: text) == fault)
  }

  private static func failure(_ source: String) async throws -> String {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      await #expect(throws: PageError.self) { try await page.render(source) }
      return await page.failure?.description ?? ""
    }
  }

  @Test("a page of such a text fails with its kind, and a bundle without a framework with that")
  func failingPages() async throws {
    #expect(try await Self.failure("<html>").contains("is not a bundle: it is HTML"))
    let unnamed = try await Self.failure("var a = 1")
    #expect(unnamed.contains("does not name its framework in its first line"))
    #expect(unnamed.contains("scripts.frameworks[.weex]"))
    let vue = try await Self.failure("// { \"framework\": \"Vue\" }\n<html>")
    #expect(vue.contains("of the type Vue, for which no framework was given"))
  }
}
