import PageKit
import Testing

@testable import PageWorkers

@Suite struct PageNoticeTests {
  private func told(_ state: ImageState?) -> String {
    PageEvent.image(ref: "7", state).told.map { "\($0.name) \(String(decoding: $0.1.text, as: UTF8.self))" } ?? ""
  }

  @Test("a picture's event has the members that the tree has of it")
  func pictures() {
    #expect(told(nil) == #"image {"ref":"7","state":"","url":null}"#)
    #expect(told(.loading(url: "a.png")) == #"image {"ref":"7","state":"loading","url":"a.png"}"#)
    #expect(
      told(.loaded(url: "a.svg", "svg", nil, .disk))
        == #"image {"format":"svg","from":"disk","height":null,"ref":"7","state":"loaded","url":"a.svg","width":null}"#)
    #expect(
      told(.failed(url: "a.png", reason: "it is no picture"))
        == #"image {"reason":"it is no picture","ref":"7","state":"failed","url":"a.png"}"#)
  }
}
