import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// Messages between pages, and from the app.
@Suite(.timeLimit(.minutes(5))) struct MessageTests {
  @Test("pages get each other's messages through a channel")
  func channels() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let listener = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } }), channel = new BroadcastChannel('news')
        channel.onmessage = function (e) { text.setAttr('value', e.data.word) }
        """)
      await listener.settle(within: .seconds(60))
      let speaker = try await fixture.page("new BroadcastChannel('news').postMessage({ word: 'hello' })")
      await speaker.settle(within: .seconds(60))
      #expect(await listener.shown == "hello")
      for page in [listener, speaker] { await page.destroy() }
    }
  }

  @Test("global events reach the pages that listen")
  func globalEvents() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } })
        weex.requireModule('globalEvent').addEventListener('login', function (e) { text.setAttr('value', e.user) })
        """)
      await page.settle(within: .seconds(60))
      try await page.fireGlobalEvent("login", ["user": "ann"])
      try await page.fireGlobalEvent("login", ["user": "bob"])
      #expect(await page.shown == "bob")
      await page.destroy()
    }
  }

  @Test("a removed listener gets no events")
  func removedListeners() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        """
        var events = module('globalEvent')
        events.addEventListener('a', function (e) { say(e.n); events.removeEventListener('a') })
        """)
      await page.settle(within: .seconds(60))
      try await page.fireGlobalEvent("a", ["n": 1])
      await page.settle(within: .seconds(60))
      try await page.fireGlobalEvent("a", ["n": 2])
      #expect(await page.shown == "[1]")
      await page.destroy()
    }
  }
}
