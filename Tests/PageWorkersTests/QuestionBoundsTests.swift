import Testing

@testable import PageWorkers

@Suite struct QuestionBoundsTests {
  @Test("questions are admitted up to a number, and again once others have ended")
  func count() {
    var bounds = QuestionBounds(count: 2, bytes: 100)
    #expect(bounds.admit(1, bytes: 0) == nil)
    #expect(bounds.admit(2, bytes: 0) == nil)
    #expect(bounds.admit(3, bytes: 0) == "the page has more than 2 unanswered requests")
    #expect(bounds.admit(1, bytes: 0) != nil, "a number that is in use")
    #expect(bounds.refusals == 2)
    bounds.finish(3)
    #expect(bounds.admit(3, bytes: 0) != nil, "a refused question was not counted")
    bounds.finish(1)
    #expect(bounds.admit(3, bytes: 0) == nil)
    #expect(bounds.refusals == 0)
  }

  @Test("their bytes are summed; a long question is admitted alone")
  func bytes() {
    var bounds = QuestionBounds(count: 10, bytes: 2 << 20)
    #expect(bounds.admit(1, bytes: 3 << 20) == nil)
    #expect(bounds.admit(2, bytes: 1) == "the page's unanswered requests have more than 2 MiB of contents")
    bounds.finish(1)
    #expect(bounds.pendingBytes == 0)
    #expect(bounds.admit(2, bytes: 1 << 20) == nil)
    #expect(bounds.admit(3, bytes: 1 << 20) == nil)
    #expect(bounds.admit(4, bytes: 1) != nil)
    #expect(bounds.pendingBytes == 2 << 20)
  }

  @Test("the daemon's bounds are wider than the worker's own")
  func enforced() {
    let own = QuestionBounds(count: 256)
    #expect(own.enforced.count > own.count && own.enforced.bytes > own.bytes)
  }
}
