import PageKit

/// Samples of "Page life".
enum PageLifeSamples {
  static func openingInSteps(_ host: PageHost) async throws {
    let page = await host.page()  // host.open(url) is both in one
    try await page.renderByURL("https://pages.example.com/bundles/home.js", data: ["user": "ann"])
    print(await page.tree.outline)
    for await event in page.events { print(event) }  // phases, render commands, pictures, exceptions
  }

  static func events(of page: PageInstance) async {
    for await event in page.events {
      switch event {
      case .phase(let phase): print(phase)
      case .snapshot(let tree): print(tree?.count ?? 0, "elements of the last run")
      case .replaced(let failure, let release): print("\(failure): goes on with release \(release)")
      case .fallback(let fallback, let reason): print("\(reason): shows \(fallback)")
      case .exception(let exception): print(exception)
      case .missing(let part): print(part)
      default: break
      }
    }
  }

  static func showing(_ page: PageInstance) async {
    await page.appear()  // before it opens, or later
    await page.disappear()
  }

  static func events(_ page: PageInstance, _ ref: String) async throws {
    try await page.click(.text("Buy"))
    try await page.fireEvent(ref, "input", ["value": "Ann"])
  }

  static func lookingUp(_ page: PageInstance) async throws {
    let tree = await page.tree
    if let price = tree.first(.id("price")) { print(price.attributes["value"] ?? "") }
    let inputs = tree.all(.type("input"))
    if let name = inputs.first { try await page.fireEvent(name.ref, "input", ["value": "Ann"]) }
  }

  static func policies(_ configuration: inout HostConfiguration) {
    configuration.pages.opening.policy = .networkFirst(deadline: .seconds(1))
    configuration.pages.opening.rules = [OpenRule(.prefix("https://pages.example.com/help/"), .cacheFirst)]
  }

  static func onePolicy(_ host: PageHost) async throws {
    let page = try await host.open(
      "https://pages.example.com/bundles/prices.js", options: PageOptions(policy: .networkOnly))
    await page.destroy()
  }

  static func factory(_ configuration: inout HostConfiguration) {
    configuration.pages.factory = { BuiltInPage(environment: $0, registry: $1) }
  }

  static func snapshots(_ configuration: inout HostConfiguration) {
    configuration.pages.snapshot = .showLast  // or in the options of one opening
  }

  static func fallback(_ configuration: inout HostConfiguration) {
    configuration.pages.fallback = { url, reason in
      .placeholder("This page is not available offline.")
    }
  }
}

let packaged = ["builtin:help": "// { \"framework\": \"Vanilla\" }\n"]

final class BuiltInPage: CachingPageInstance {
  override func renderByURL(_ text: String, options: PageOptions, data: ScriptValue) async throws {
    if let source = packaged[text] { return try await render(source, options: options, data: data) }
    try await super.renderByURL(text, options: options, data: data)
  }
}
