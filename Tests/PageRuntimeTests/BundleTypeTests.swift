import HTTPTransport
import Testing

@testable import PageRuntime

struct BundleTypeTests {
  @Test(
    "the framework is read from the first line, the URL or a directive",
    arguments: [
      ("// { \"framework\": \"Vue\" }\nvar a", "", BundleType.vue), ("// {\"framework\":\"Rax\"}\r\n", "", .rax),
      ("\n  // { \"framework\": \"vanilla\" }", "", .vanilla), ("/// { \"framework\": \"Vue\" }", "", .vue),
      ("// { \"other\": 1 }\n", "", .weex), ("// { broken\n", "", .weex), ("var a", "", .weex),
      ("// { 'framework': 'Vue' } \nvar a", "", .vue), ("// { 'framework': \"it's\" }", "", .weex),
      ("var a", "?bundleType=Vue", .vue), ("var a", "?x=1&bundleType=rax&y", .rax),
      ("// { \"framework\": \"Vue\" }", "?bundleType=Rax", .vue), ("\"use weex:vue\";\nvar a", "", .vue),
      ("'use weex:rax'", "", .rax), ("\"use weex:nothing\"", "", .weex), ("", "", .weex),
    ])
  func types(_ source: String, _ query: String, _ type: BundleType) {
    #expect((BundleType.declared(in: source, url: PageURL("http://h/a.js\(query)")) ?? .weex) == type)
  }
}
