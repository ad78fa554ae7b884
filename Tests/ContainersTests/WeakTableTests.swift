import Containers
import Testing

struct WeakTableTests {
  private final class Lease: Sendable {}

  @Test("an object is shared for as long as something uses it")
  func sharing() {
    let table = WeakTable<String, Lease>()
    var lease: Lease? = Lease()
    if let lease { table.insert(lease, for: "a") }
    #expect(table["a"] === lease && lease != nil)
    #expect(table["b"] == nil)
    lease = nil
    #expect(table["a"] == nil)
  }

  @Test("another object takes the place of a key's former one, which its users keep")
  func replacing() {
    let table = WeakTable<Int, Lease>()
    let (first, second) = (Lease(), Lease())
    table.insert(first, for: 1)
    table.insert(second, for: 1)
    withExtendedLifetime(first) { #expect(table[1] === second) }
  }

  @Test("keys whose objects are gone are removed when another object comes")
  func forgetting() {
    let table = WeakTable<Int, Lease>()
    for number in 0..<100 { table.insert(Lease(), for: number) }
    let last = Lease()
    table.insert(last, for: 100)
    #expect(table.count == 1)
    #expect(table[100] === last)
  }
}
