import Foundation
import PageKit

/// Something that a user does, as a line says it.
enum UserAction {
  /// A place in units of the page's design, which is 750 wide unless the page says otherwise.
  case tap(x: Double, y: Double)
  /// How far the content of a scroller is scrolled from its beginning.
  case scroll(ref: String, x: Double, y: Double)
  /// The text that an input has then.
  case type(ref: String, text: String)
  case back
  /// Prints the elements with their refs.
  case outline

  static let forms = "tap X Y, scroll REF X Y, type REF TEXT, back, outline"

  /// - Parameter line: one of the ``forms``.
  init?(_ line: String) {
    let words = line.split(separator: " ").map(String.init)
    let numbers = words.suffix(2).compactMap { Double($0) }.filter(\.isFinite)
    switch (words.first, words.count) {
    case ("tap", 3) where numbers.count == 2: self = .tap(x: numbers[0], y: numbers[1])
    case ("scroll", 4) where numbers.count == 2: self = .scroll(ref: words[1], x: numbers[0], y: numbers[1])
    case ("type", 2...): self = .type(ref: words[1], text: words.dropFirst(2).joined(separator: " "))
    case ("back", 1): self = .back
    case ("outline", 1): self = .outline
    default: return nil
    }
  }

  /// - Parameter stack: what the page is on top of.
  /// - Throws: that there is no such element, none that listens, or no page below.
  func perform(on page: PageInstance, of stack: PageStack) async throws {
    switch self {
    case .tap(let x, let y): try await page.tap(x: x, y: y)
    case .scroll(let ref, let x, let y):
      try await page.fireEvent(ref, "scroll", ["contentOffset": ["x": .number(-x), "y": .number(-y)]])
    case .type(let ref, let text): try await page.fireEvent(ref, "input", ["value": .string(text)])
    case .back: try await stack.pop(options: [:], from: page)
    case .outline: print(await page.tree.outline)
    }
  }
}
