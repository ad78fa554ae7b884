import HTTPTransport
import LivePages
import Testing

/// Events that browsers send.
struct LiveInputTests {
  private static func read(_ text: String) throws -> [LiveInput] { try LiveInput.read(Array(text.utf8)).events }

  @Test("events are read in their order, with position and changes")
  func events() throws {
    let inputs = try Self.read(
      """
      {"events":[{"ref":"3","type":"click","event":{"position":{"x":1}}},
      {"ref":"a/4","type":"input","event":{"value":"Ann"},"changes":{"attrs":{"value":"Ann"}}}]}
      """)
    #expect(
      inputs == [
        LiveInput(ref: "3", type: "click", event: .object(["position": .object(["x": .integer(1)])])),
        LiveInput(
          ref: "a/4", type: "input", event: .object(["value": .string("Ann")]),
          changes: .object(["attrs": .object(["value": .string("Ann")])])),
      ])
  }

  @Test(
    "what is no event of a browser is refused with the reason",
    arguments: [
      ("[]", "the body is not {\"events\""), ("x", "the body is not {\"events\""),
      (#"{"events":[{"ref":"1"}]}"#, "the body is not {\"events\""),
      (#"{"events":[{"ref":"1","type":"evil"}]}"#, "a browser fires no event \"evil\": known are appear, "),
      (#"{"events":[{"ref":"1","type":"click","event":[1]}]}"#, "the member event of \"click\" is not an object"),
      (#"{"events":[{"ref":"1","type":"click","changes":{"style":{}}}]}"#, "the changes of \"click\" are not"),
      (
        #"{"events":[{"ref":"1","type":"click","changes":{"attrs":{"src":"x"}}}]}"#,
        "the changes of \"click\" are not {\"attrs\": {…}} with checked, index, value"
      ),
    ])
  func refused(_ body: String, _ reason: String) {
    let error = #expect(throws: DescribedError.self) { try Self.read(body) }
    #expect(error?.description.hasPrefix(reason) == true, "\(error?.description ?? "")")
  }

  @Test("the number of events and the length of refs are bounded")
  func bounds() {
    let one = #"{"ref":"1","type":"click"}"#
    let many = Array(repeating: one, count: LiveInput.countLimit + 1).joined(separator: ",")
    let error = #expect(throws: DescribedError.self) { try Self.read("{\"events\":[\(many)]}") }
    #expect(error?.description == "the body has 65 events, and the limit is 64")
    let long = String(repeating: "1", count: 5_000)
    let other = #expect(throws: DescribedError.self) {
      try Self.read(#"{"events":[{"ref":"\#(long)","type":"click"}]}"#)
    }
    #expect(other?.description == "an event's ref has 5000 bytes, and the limit is 4096")
  }
}
