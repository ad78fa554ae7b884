import Testing

@testable import HTTPTransport

struct EventRateTests {
  @Test("events are counted in periods, which begin with one")
  func periods() {
    var rate = EventRate(limit: 2, period: .seconds(30))
    let expected: [EventRate.Verdict] = [.permitted, .permitted, .firstBeyond]
    #expect([0, 10, 29].map { rate.verdict(at: .seconds($0)) } == expected)
    #expect([30, 31, 32].map { rate.verdict(at: .seconds($0)) } == expected)
  }

  @Test("only one event of a period is the first beyond the limit")
  func beyond() {
    var rate = EventRate(limit: 100, period: .seconds(60))
    for _ in 0..<100 { #expect(rate.verdict(at: .seconds(5)) == .permitted) }
    #expect(rate.verdict(at: .seconds(6)) == .firstBeyond)
    for _ in 0..<1_000 { #expect(rate.verdict(at: .seconds(64)) == .beyond) }
    #expect(rate.verdict(at: .seconds(65)) == .permitted)
  }
}
