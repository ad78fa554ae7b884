import HTTPTransport
import Testing

@testable import Releases

struct ReleaseStatusTests {
  private let status: ReleaseStatus

  init() throws {
    status = ReleaseStatus(
      sequence: 7, signed: SignedTime(seconds: 1_800_000_000), expires: SignedTime(seconds: 1_800_086_400),
      release: .init(name: "r5", sequence: 5, sha256: try SHA256Digest(of: Array("manifest".utf8))),
      disabled: [.init(bundle: "pay", message: "Paying is off until noon.")],
      rollbackTo: .init(sequence: 4, sha256: try SHA256Digest(of: Array("earlier".utf8))), isHalted: true)
  }

  @Test("a status that is written and read is the same, with all members and with none of the optional ones")
  func writing() throws {
    #expect(try ReleaseStatus(reading: status.encoded()) == status)
    let plain = ReleaseStatus(
      sequence: 1, signed: status.signed, expires: status.expires, release: status.release)
    #expect(try ReleaseStatus(reading: plain.encoded()) == plain)
    let text = String(decoding: try plain.encoded(), as: UTF8.self)
    for member in ["disabled", "rollbackTo", "halted"] { #expect(!text.contains(member)) }
  }

  @Test("members of a later version are left out")
  func laterVersion() throws {
    let text = String(decoding: try status.encoded(), as: UTF8.self)
      .replacing(#""halted" : true"#, with: #""halted" : true, "later" : [1, 2]"#)
    #expect(try ReleaseStatus(reading: Array(text.utf8)) == status)
  }

  @Test(
    "a status that cannot be one is refused with the reason",
    arguments: [
      (#""sequence" : 7"#, #""sequence" : 0"#, "its sequence is 0"),
      (#""sequence" : 7"#, #""sequence" : "7""#, "it must have"),
      (#""kind" : "status""#, #""kind" : "root""#, "its kind is \"root\""),
      (#""expires" : "2027"#, #""expires" : "2026"#, "which is not after it was signed"),
      ("2027-01-15T08:00:00Z", "yesterday", "\"yesterday\" is no time"),
      (#""name" : "r5""#, #""name" : """#, "its release's name must have"),
      (#""sequence" : 5"#, #""sequence" : -5"#, "its release has sequence -5"),
      (#""sequence" : 5"#, #""sequence" : 4"#, "it goes back to sequence 4, which must be lower"),
      (#""bundle" : "pay""#, #""bundle" : """#, "the name of a disabled bundle must have"),
      ("Paying is off until noon.", #"one\ntwo"#, "the message of \"pay\" must have"),
      ("Paying is off until noon.", "", "the message of \"pay\" must have"),
      (#""halted" : true"#, #""halted" : "yes""#, "it must have"),
      ("{", "[", "it is not JSON"),
    ])
  func faults(_ found: String, _ replacement: String, _ reason: String) throws {
    let text = String(decoding: try status.encoded(), as: UTF8.self)
    #expect(text.contains(found))
    let changed = Array(text.replacing(found, with: replacement, maxReplacements: 1).utf8)
    let error = #expect(throws: TrustError.self) { try ReleaseStatus(reading: changed) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }

  @Test("a status has bounds: bytes, disabled bundles, and the length of texts; a bundle is disabled once")
  func bounds() throws {
    func fault(_ change: (inout ReleaseStatus) -> Void) -> String? {
      var changed = status
      change(&changed)
      return changed.fault
    }
    func item(_ name: String, _ message: String = "m") -> ReleaseStatus.Disabled {
      .init(bundle: name, message: message)
    }
    #expect(fault { $0.disabled = (0..<256).map { item("\($0)") } } == nil)
    #expect(fault { $0.disabled = (0..<257).map { item("\($0)") } }?.contains("more than 256") == true)
    #expect(fault { $0.disabled = [item("a"), item("a")] }?.contains("twice") == true)
    #expect(fault { $0.disabled = [item("a", String(repeating: "ü", count: 1000))] } == nil)
    #expect(fault { $0.disabled = [item("a", String(repeating: "ü", count: 1001))] } != nil)
    #expect(fault { $0.disabled = [item(String(repeating: "a", count: 1025))] } != nil)
    let padding = [UInt8](repeating: 0x20, count: Int(ReleaseStatus.byteLimit))
    let error = #expect(throws: TrustError.self) { try ReleaseStatus(reading: try status.encoded() + padding) }
    #expect(error?.description.contains("65536") == true)
  }
}
