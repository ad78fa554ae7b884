import Testing

@testable import HTTPTransport

struct BroadcastTests {
  @Test("every listener gets the elements that are sent after it began")
  func elements() async {
    let broadcast = Broadcast<Int>()
    var early = broadcast.listen().makeAsyncIterator()
    broadcast.send(1)
    var late = broadcast.listen().makeAsyncIterator()
    broadcast.send(2)
    #expect(await early.next() == 1)
    #expect(await early.next() == 2)
    #expect(await late.next() == 2)
  }

  @Test("a listener of what comes from now on gets no earlier elements, also where others do")
  func fromNowOn() async {
    let broadcast = Broadcast<Int>(.newest(10), replayLimit: 10)
    broadcast.send(1)
    var (all, later) = (
      broadcast.listen().makeAsyncIterator(), broadcast.listen(replays: false).makeAsyncIterator()
    )
    broadcast.send(2)
    #expect(await all.next() == 1)
    #expect(await later.next() == 2)
  }

  @Test("a listener that does not keep up loses the oldest elements")
  func bounds() async {
    let broadcast = Broadcast<Int>(.newest(2))
    var elements = broadcast.listen().makeAsyncIterator()
    for number in 1...5 { broadcast.send(number) }
    #expect(await elements.next() == 4)
    #expect(await elements.next() == 5)
  }

  @Test("elements that were not read are merged into one")
  func merging() async {
    let broadcast = Broadcast<Set<Int>>(.merged { $0.formUnion($1) })
    var elements = broadcast.listen(first: [0]).makeAsyncIterator()
    broadcast.send([1])
    broadcast.send([2])
    #expect(await elements.next() == [0, 1, 2])
    broadcast.send([3])
    #expect(await elements.next() == [3])
  }

  @Test("a listener that waits is woken")
  func waking() async {
    let broadcast = Broadcast<Int>()
    let elements = broadcast.listen(first: 0)
    _ = await elements.first { _ in true }
    async let next = elements.first { _ in true }
    broadcast.send(7)
    #expect(await next == 7)
  }

  @Test("a listener that did not keep up is woken again once it has read all elements")
  func wakingAgain() async {
    let broadcast = Broadcast<Int>(.all)
    let elements = broadcast.listen()
    broadcast.send(1)
    broadcast.send(2)
    #expect(await elements.first { _ in true } == 1)
    broadcast.send(3)
    #expect(await elements.first { _ in true } == 2)
    #expect(await elements.first { _ in true } == 3)
    async let next = elements.first { _ in true }
    broadcast.send(4)
    #expect(await next == 4)
  }

  @Test("a stream keeps its elements when the broadcast is gone otherwise")
  func lastElements() async {
    var broadcast: Broadcast<Int>? = Broadcast()
    var elements = broadcast?.listen().makeAsyncIterator()
    broadcast?.send(1)
    broadcast = nil
    #expect(await elements?.next() == 1)
  }

  @Test("a cancelled listener ends")
  func cancelling() async {
    let broadcast = Broadcast<Int>()
    let elements = broadcast.listen()
    let task = Task { await elements.first { _ in true } }
    task.cancel()
    #expect(await task.value == nil)
  }

  @Test("a later listener gets the first elements, and its stream ends with the broadcast")
  func replay() async {
    let broadcast = Broadcast<Int>(.all, replayLimit: 2)
    for element in 1...3 { broadcast.send(element) }
    let before = broadcast.listen()
    broadcast.send(4)
    broadcast.finish()
    #expect(await before.reduce(into: []) { $0.append($1) } == [1, 2, 4])
    #expect(await broadcast.listen().reduce(into: []) { $0.append($1) } == [1, 2])
  }
}
