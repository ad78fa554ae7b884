import HTTPTypes
import Testing

@testable import HTTPCache
@testable import HTTPCaching

struct ExchangeSharingTests {
  /// A response that a request meets, and how the request goes on.
  struct Row: Sendable, CustomTestStringConvertible {
    var isShared = true
    var isChosen = true
    var vary: [String]? = []
    var isCollapsed = true
    var isReusable = true
    var isUsed = false
    var sharesNext = false
    let testDescription: String

    init(_ description: String, _ change: (inout Row) -> Void) {
      testDescription = description
      change(&self)
    }
  }

  static let rows = [
    Row("another's response that may be used again answers") { ($0.isUsed, $0.sharesNext) = (true, true) },
    Row("another's response that may not be used again lets the request go alone") { $0.isReusable = false },
    Row("its own response answers, also if none may use it again") {
      ($0.isCollapsed, $0.isReusable, $0.isUsed, $0.sharesNext) = (false, false, true, true)
    },
    Row("its own response answers a request that went alone") {
      ($0.isShared, $0.isCollapsed, $0.isUsed) = (false, false, true)
    },
    Row("a response chosen by a new field lets the request share by that field") {
      ($0.isChosen, $0.vary, $0.sharesNext) = (false, ["x-new"], true)
    },
    Row("a response chosen by a field that was compared lets the request go alone") {
      ($0.isChosen, $0.vary) = (false, ["x-known"])
    },
    Row("a response that varies by everything lets the request go alone") { ($0.isChosen, $0.vary) = (false, nil) },
    Row("its own response that its fields do not select is compared again") {
      ($0.isChosen, $0.vary, $0.isCollapsed, $0.sharesNext) = (false, ["x-new"], false, true)
    },
  ]

  @Test(arguments: rows)
  func meetsResponse(_ row: Row) {
    var sharing = ExchangeSharing(isShared: row.isShared, by: ["x-known"])
    let vary = row.vary.map { VaryKey(names: $0, [:]) }
    let isUsed = sharing.mayUse(
      isChosen: row.isChosen, varyingBy: vary, isCollapsed: row.isCollapsed, isReusable: row.isReusable)
    #expect(isUsed == row.isUsed)
    #expect(sharing.isShared == row.sharesNext)
    #expect(sharing.names == Set(["x-known"] + (row.isChosen ? [] : row.vary ?? [])))
  }

  @Test("a request that goes alone may share again only by a field that was not compared")
  func goesAlone() {
    var sharing = ExchangeSharing(isShared: true, by: [])
    sharing.goAlone()
    #expect(!sharing.isShared)
    let isUsed = sharing.mayUse(
      isChosen: false, varyingBy: VaryKey(names: ["x-new"], [:]), isCollapsed: false, isReusable: true)
    #expect(!isUsed)
    #expect(sharing.isShared)
  }
}
