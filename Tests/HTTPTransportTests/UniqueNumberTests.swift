import Testing

@testable import HTTPTransport

struct UniqueNumberTests {
  @Test(
    "a number is written with 16 digits",
    arguments: [
      (0, "0000000000000000"), (0xABC, "0000000000000abc"), (UInt64.max, "ffffffffffffffff"),
      (1 << 63, "8000000000000000"), (0x0123_4567_89AB_CDEF, "0123456789abcdef"),
    ] as [(UInt64, String)])
  func hex(_ number: UInt64, _ text: String) { #expect(Hex.encode(number) == text) }

  @Test("two numbers are written with 32 digits, the first one first")
  func twoNumbers() { #expect(Hex.encode(0xABC, .max) == "0000000000000abcffffffffffffffff") }

  @Test("numbers are unique, and each bit of them is as often 0 as 1")
  func unique() {
    let numbers = (0..<10_000).map { _ in UniqueNumber.next() }
    #expect(Set(numbers).count == numbers.count)
    for bit in 0..<64 {
      #expect((4_500...5_500).contains(numbers.count { $0 >> UInt64(bit) & 1 == 1 }), "bit \(bit)")
    }
  }
}
