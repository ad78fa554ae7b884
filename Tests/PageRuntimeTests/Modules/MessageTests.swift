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

  @Test("channels of one page get a message before postMessage returns, with its nulls")
  func channelsOfOnePage() async throws {
    let shown = try await PageFixture.running { (fixture: PageFixture) async throws in
      try await fixture.shown(
        """
        var a = new BroadcastChannel('A'), b = new BroadcastChannel('A'), c = new BroadcastChannel('C')
        a.onmessage = function () { say('a') }; c.onmessage = function () { say('c') }
        b.onmessage = function (e) { say([e.type, e.data, e.origin, e.target, e.ports.length]) }
        a.postMessage({ x: null, y: [1, { z: 'q' }] }); say('posted')
        try { a.name = 'Z' } catch (e) {}
        b.close(); b.close(); a.postMessage('after'); say(a.name)
        try { b.postMessage('x') } catch (e) { say(e.message) }
        """)
    }
    #expect(
      shown
        == #"[["message",{"x":null,"y":[1,{"z":"q"}]},"",null,0],"posted","A","the channel \"A\" is closed"]"#)
  }

  @Test("channels that answer each other without end are stopped")
  func endlessAnswers() async throws {
    let shown = try await PageFixture.running { (fixture: PageFixture) async throws in
      try await fixture.shown(
        """
        var a = new BroadcastChannel('A'), b = new BroadcastChannel('A'), count = 0
        a.onmessage = function () { count++; a.postMessage(1) }; b.onmessage = function () { count++; b.postMessage(2) }
        try { a.postMessage(0) } catch (e) { show(e.name + ' ' + (count > 10)) }
        """)
    }
    #expect(shown == "RangeError true")
  }

  @Test("a page of a framework, the page that it embeds and a third page hear each other")
  func channelsOfFrameworks() async throws {
    let frameworks: [BundleType: String] = [.vue: try Fixture.text("reactive.js")]
    func source(_ name: String, embeds: String) -> String {
      """
      // { "framework": "Vue" }
      var channel = new BroadcastChannel('room')
      new Vue({
        data: { heard: [] },
        render: function (h) {
          return h('div', {}, [h('text', { attrs: { value: this.heard.join(' ') }, on: { click: function () { channel.postMessage('\(name)') } } })\(embeds)])
        },
        mounted: function () { var self = this; channel.onmessage = function (e) { self.heard = self.heard.concat(e.data) } }
      })
      """
    }
    try await PageFixture.running(frameworks: frameworks) { (fixture: PageFixture) async throws in
      fixture.origin.serve("/pages/child.js", Array(source("child", embeds: "").utf8))
      let url = try #require(PageURL(fixture.origin.url(for: "/pages/parent.js")))
      let parent = await PageInstance(environment: fixture.environment)
      try await parent.render(source("parent", embeds: ", h('embed', { attrs: { src: 'child.js' } })"), at: url)
      await parent.settle(within: .seconds(60))
      let child = try #require(await parent.embedded.values.first)
      // Of another engine, and of the built-in framework.
      let third = try await fixture.speakingPage(
        """
        var channel = new BroadcastChannel('room'); channel.onmessage = function (e) { say(e.data) }
        text.addEvent('click', function () { channel.postMessage('third') })
        """)
      await third.settle(within: .seconds(60))
      for page in [parent, child, third] {
        let ref = try #require(await page.first("text")?.ref)
        try await page.fireEvent(ref, "click")
        for other in [parent, child, third] { await other.settle(within: .seconds(60)) }
      }
      #expect(await parent.shown == "child third")
      #expect(await child.shown == "parent third")
      #expect(await third.shown == #"["parent","child"]"#)
      for page in [parent, third] { await page.destroy() }
    }
  }

  @Test("pages of another user hear nothing, nor do pages that have closed the channel or ended")
  func channelsOfOthers() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let listening = "var channel = new BroadcastChannel('news'); channel.onmessage = function (e) { say(e.data) }"
      let stranger = try await fixture.speakingPage("text.addEvent('click', function () { \(listening) })")
      await Task { @PageActor in stranger.partition = .user("other") }.value
      let ref = try #require(await stranger.first("text")?.ref)
      try await stranger.fireEvent(ref, "click")
      let closed = try await fixture.speakingPage("\(listening); channel.close()")
      let ended = try await fixture.speakingPage(listening)
      for page in [stranger, closed, ended] { await page.settle(within: .seconds(60)) }
      await ended.destroy()
      let speaker = try await fixture.page("new BroadcastChannel('news').postMessage('hello')")
      await speaker.settle(within: .seconds(60))
      #expect(await stranger.shown == "")
      #expect(await closed.shown == "")
      #expect(await speaker.exceptions == [])
      for page in [stranger, closed] { await page.destroy() }
    }
  }

  @Test("a channel whose handler throws is reported, and the others get the message")
  func throwingReceivers() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let listener = try await fixture.speakingPage(
        """
        new BroadcastChannel('news').onmessage = function (e) { throw new Error('bad ' + e.data) }
        new BroadcastChannel('news').onmessage = function (e) { say(e.data) }
        """)
      await listener.settle(within: .seconds(60))
      let speaker = try await fixture.page("new BroadcastChannel('news').postMessage('word')")
      await speaker.settle(within: .seconds(60))
      #expect(await listener.shown == #"["word"]"#)
      #expect(await listener.exceptions == ["Error: bad word"])
      await speaker.destroy()
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
