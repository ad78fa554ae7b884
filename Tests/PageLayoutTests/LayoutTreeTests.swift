import Foundation
import PageLayout
import Synchronization
import Testing

/// A measurer that counts what it is asked.
final class CountingMeasurer: TextMeasuring {
  let count = Mutex(0)

  func size(of text: LayoutText, width: Double) -> LayoutSize {
    count.withLock { $0 += 1 }
    return FixedAdvances().size(of: text, width: width)
  }
}

/// A measurer that notes whether it is asked on the thread that made it.
final class ThreadMeasurer: TextMeasuring, @unchecked Sendable {
  private let own = pthread_self()
  let isOnOwn = Mutex<Bool?>(nil)

  func size(of text: LayoutText, width: Double) -> LayoutSize {
    isOnOwn.withLock { $0 = pthread_equal(own, pthread_self()) != 0 }
    return FixedAdvances().size(of: text, width: width)
  }
}

@Suite("The tree of a layout")
struct LayoutTreeTests {
  @Test("after any changes the boxes are those of a tree that was made as it is", arguments: 0..<40)
  func incremental(_ seed: Int) {
    var random = RandomTree(seed: seed)
    random.grow(to: 60)
    var known: [String: LayoutBox] = [:]
    for round in 0..<100 {
      // Many moves are followed otherwise than a few.
      for _ in 0..<(round % 20 == 19 ? 200 : 1 + round % 5) { random.change() }
      let changed = Set(random.tree.update())
      var made = random.made()
      made.update()
      var different: [String] = []
      for ref in random.refs + ["body"] {
        guard let box = random.tree.box(ref), let other = made.box(ref) else {
          different.append(ref)
          continue
        }
        if box != other { different.append("\(ref): \(box), not \(other)") }
        if let former = known[ref], former.frame != box.frame, former.isVisible, box.isVisible {
          #expect(changed.contains(ref), "\(ref) changed and is not named")
        }
        known[ref] = box
      }
      #expect(different.isEmpty, "round \(round): \(different.first ?? "")")
      if !different.isEmpty { return }
    }
  }

  @Test("commands that do not fit are ignored")
  func misfits() {
    var boxes = Boxes()
    boxes.add("a", "height: 10")
    boxes.add("b", to: "a")
    boxes.tree.createBody("second", type: "div")
    boxes.add("a", "height: 20")
    boxes.add("c", to: "unknown")
    boxes.tree.move("a", to: "b")
    boxes.tree.move("body", to: "a")
    boxes.tree.remove("body")
    boxes.tree.remove("unknown")
    boxes.tree.setStyle(["height": .number(1)], of: "unknown")
    #expect(boxes.tree.count == 3)
    #expect(boxes.frames("a", "second", "c") == ["0 0 750 10", "none", "none"])
  }

  @Test("moving counts the places while the element is at its old one")
  func moves() {
    var boxes = Boxes()
    for ref in ["a", "b", "c", "d"] { boxes.add(ref, "height: 1") }
    boxes.tree.move("a", to: "body", at: 3)
    #expect(boxes.tree.children(of: "body") == ["b", "c", "a", "d"])
    boxes.tree.move("d", to: "body", at: 0)
    #expect(boxes.tree.children(of: "body") == ["d", "b", "c", "a"])
    boxes.tree.move("b", to: "body", at: 1)
    #expect(boxes.tree.children(of: "body") == ["d", "b", "c", "a"])
    boxes.tree.move("b", to: "a")
    #expect(boxes.tree.children(of: "body") == ["d", "c", "a"])
    #expect(boxes.tree.children(of: "a") == ["b"])
  }

  @Test("a change names what it changes, and nothing else")
  func changes() {
    var boxes = Boxes()
    boxes.add("a", "height: 10")
    boxes.add("b", "height: 10")
    boxes.add("c", "height: 10", to: "b")
    boxes.tree.update()
    #expect(boxes.tree.update() == [])
    boxes.tree.setStyle(Boxes.style("height: 10; color: red"), of: "a")
    #expect(boxes.tree.update() == [])
    boxes.tree.setStyle(Boxes.style("height: 30"), of: "a")
    #expect(boxes.tree.update() == ["a", "b"])
    boxes.tree.remove("a")
    #expect(boxes.tree.update() == ["a", "b"])
  }

  @Test("a text is measured once for a width")
  func measuring() {
    let counting = CountingMeasurer()
    var boxes = Boxes()
    boxes.tree.measurer = counting
    boxes.add("row", "flexDirection: row; alignItems: center")
    boxes.add("a", type: "text", ["value": .text("hello")], to: "row")
    boxes.add("b", type: "text", ["value": .text("other")], to: "body")
    boxes.tree.update()
    let first = counting.count.withLock { $0 }
    #expect(first == 2)
    boxes.tree.setStyle(Boxes.style("height: 7"), of: "row")
    boxes.tree.update()
    #expect(counting.count.withLock { $0 } == first)
    boxes.tree.setAttributes(["value": .text("hello!")], of: "a")
    boxes.tree.update()
    #expect(counting.count.withLock { $0 } == first + 1)
  }

  @Test("a tree has a thread of its own only while it is deep", arguments: ["removed", "moved", "with a deep sibling"])
  func deepNoMore(_ kind: String) {
    var boxes = Boxes()
    let measurer = ThreadMeasurer()
    boxes.tree.measurer = measurer
    for level in 0..<100 { boxes.add("\(level)", to: level == 0 ? "body" : "\(level - 1)") }
    boxes.add("sibling", to: "98")
    boxes.add("text", type: "text", ["value": .text("deep")])
    boxes.tree.update()
    #expect(measurer.isOnOwn.withLock { $0 } == false)
    switch kind {
    case "removed": boxes.tree.remove("20")
    case "moved": for level in [75, 50, 25] { boxes.tree.move("\(level)", to: "body") }
    default: boxes.tree.remove("99")
    }
    boxes.tree.setAttributes(["value": .text("shallow")], of: "text")
    boxes.tree.update()
    #expect(measurer.isOnOwn.withLock { $0 } == (kind != "with a deep sibling"))
  }

  @Test("a layout asks the measurer for so many characters, and the texts beyond are measured without fonts")
  func manyTexts() {
    var boxes = Boxes()
    let counting = CountingMeasurer()
    boxes.tree.measurer = counting
    let value = String(repeating: "word ", count: 2_000)
    for number in 0..<200 {
      boxes.tree.add("t\(number)", type: "text", attributes: ["value": .text("\(number) \(value)")], to: "body")
    }
    boxes.tree.update()
    let asked = counting.count.withLock { $0 }
    #expect((1...LayoutTree.characterLimit / 10_000 + 1).contains(asked), "\(asked)")
    #expect(boxes.tree.box("t199")?.frame.height ?? 0 > 1_000)
    // A change is measured as before.
    boxes.tree.setAttributes(["value": .text("short")], of: "t199")
    boxes.tree.update()
    #expect(counting.count.withLock { $0 } == asked + 1)
  }

  @Test("a text is as high as its lines, and no wider than what is around it")
  func texts() {
    var boxes = Boxes()
    boxes.add(
      "a", "fontSize: 20; lineHeight: 30", type: "text", ["value": .text(String(repeating: "word ", count: 20))])
    boxes.add("row", "flexDirection: row; width: 200")
    boxes.add(
      "b", "fontSize: 20; lineHeight: 30", type: "text", ["value": .text("0123456789 0123456789 0123456789")], to: "row"
    )
    boxes.add("c", "fontSize: 20; lineHeight: 30; lines: 1", type: "text", ["value": .text("0123456789 0123456789")])
    boxes.add("d", "fontSize: 20; padding: 10", type: "text")
    boxes.add("e", "width: 100; fontSize: 20; lineHeight: 30", type: "text", ["value": .text("012345678901234")])
    #expect(boxes.frames("a", "b") == ["0 0 750 60", "0 0 200 90"])
    #expect(boxes.frames("c", "d", "e") == ["0 150 750 30", "0 180 750 20", "0 200 100 60"])
  }

  @Test("a picture has the size that its style says")
  func pictures() {
    var boxes = Boxes()
    boxes.add("a", type: "image", ["src": .text("a.png")])
    boxes.tree.setPictureSize(LayoutSize(width: 100, height: 50), of: "a")
    boxes.add("rich", "fontSize: 20; lineHeight: 30", type: "richtext")
    boxes.add("b", type: "image", to: "rich")
    boxes.add("c", type: "span", ["value": .text("text")], to: "rich")
    boxes.tree.setPictureSize(LayoutSize(width: 100, height: 50), of: "b")
    #expect(boxes.frames("a", "rich", "b") == ["0 0 750 0", "0 0 750 50", "0 0 0 0"])
    #expect(boxes.tree.text(of: "rich")?.spans.map(\.ref) == ["b", "c"])
    boxes.tree.setStyle(Boxes.style("width: 10; height: 10"), of: "b")
    #expect(boxes.frames("rich") == ["0 0 750 30"])
  }

  @Test("the parts of a rich text in another belong to the outer one")
  func richTexts() {
    var boxes = Boxes()
    boxes.add("outer", "fontSize: 20; lineHeight: 30", type: "richtext")
    boxes.add("inner", type: "richtext", to: "outer")
    boxes.add("span", type: "span", ["value": .text("0123456789")], to: "inner")
    boxes.add("row", "flexDirection: row; fontSize: 20")
    boxes.tree.update()
    #expect(boxes.tree.text(of: "outer")?.spans.map(\.text) == ["0123456789"])
    #expect(boxes.tree.text(of: "inner")?.isEmpty == true)
    // A change reaches the outer one, whether or not it is the first since the last layout.
    boxes.tree.setStyle(Boxes.style("color: red"), of: "inner")
    boxes.tree.setAttributes(["value": .text("other")], of: "span")
    boxes.tree.update()
    #expect(boxes.tree.text(of: "outer")?.spans.map(\.text) == ["other"])
    boxes.tree.move("inner", to: "row")
    boxes.tree.update()
    #expect(boxes.tree.text(of: "outer")?.isEmpty == true)
    #expect(boxes.tree.text(of: "inner")?.spans.map(\.text) == ["other"])
    #expect(boxes.frames("row") == ["0 0 750 38.4"])
    boxes.tree.move("inner", to: "outer")
    boxes.tree.update()
    #expect(boxes.tree.text(of: "outer")?.spans.map(\.text) == ["other"])
    #expect(boxes.tree.text(of: "inner")?.isEmpty == true)
  }

  @Test("the parts of a link in a rich text have its font, also when it changes")
  func links() {
    var boxes = Boxes()
    boxes.add("rich", "fontSize: 20", type: "richtext")
    boxes.add("link", "fontSize: 40; fontWeight: bold; display: flex", type: "a", to: "rich")
    boxes.add("own", "fontSize: 10", type: "span", ["value": .text("own")], to: "link")
    boxes.add("links", type: "span", ["value": .text("link's")], to: "link")
    boxes.add("outside", type: "span", ["value": .text("outside")], to: "rich")
    boxes.tree.update()
    #expect(boxes.tree.text(of: "rich")?.spans.map(\.style.fontSize) == [10, 40, 20])
    #expect(boxes.tree.text(of: "rich")?.spans.map(\.style.fontWeight) == [700, 700, 400])
    boxes.tree.setStyle(["fontSize": .text("30wx")], of: "link")
    #expect(boxes.tree.update() == ["rich"])
    #expect(boxes.tree.text(of: "rich")?.spans.map(\.style.fontSize) == [10, 60, 20])
    boxes.tree.window.unitsPerPoint = 1
    boxes.tree.update()
    #expect(boxes.tree.text(of: "rich")?.spans.map(\.style.fontSize) == [10, 30, 20])
    boxes.add("column")
    boxes.tree.move("link", to: "column")
    boxes.tree.update()
    boxes.tree.move("link", to: "rich")
    boxes.tree.update()
    #expect(boxes.tree.text(of: "rich")?.spans.map(\.style.fontSize) == [20, 10, 30])
  }

  @Test(
    "work and memory grow linearly with the elements of a page", .timeLimit(.minutes(5)),
    arguments: [
      "rich texts", "after a rich text", "dots", "fixed", "boxes", "insertions", "moves", "insertions anywhere",
      "moves anywhere", "removals anywhere", "moves of a large part", "nested moves", "directions",
    ])
  func linear(_ kind: String) {
    var boxes = Boxes()
    func chain(_ count: Int, type: String = "div") {
      for level in 0..<count { boxes.add("\(level)", type: type, to: level == 0 ? "body" : "\(level - 1)") }
    }
    switch kind {
    case "rich texts":
      chain(5_000, type: "richtext")
      for number in 0..<20_000 { boxes.add("part\(number)", type: "span", ["value": .text("a")], to: "4999") }
      boxes.tree.update()
      #expect(boxes.tree.text(of: "0")?.spans.count == 20_000)
    case "after a rich text":
      boxes.add("rich", type: "richtext")
      chain(9_000)
      for number in 0..<300_000 { boxes.add("part\(number)", to: "8999") }
      boxes.tree.update()
    case "dots":
      boxes.add("s", "height: 300", type: "slider")
      for number in 0..<200_000 { boxes.add("\(number)", type: "indicator", to: "s") }
      for number in 0..<3 { boxes.add("page\(number)", to: "s") }
      #expect(boxes.frames("0", "199999") == ["0 0 56 12", "0 0 56 12"])
      boxes.tree.remove("page0")
      #expect(boxes.frames("0", "199999") == ["0 0 34 12", "0 0 34 12"])
    case "fixed":
      chain(9_000)
      for number in 0..<200_000 { boxes.add("f\(number)", "position: fixed; width: 10; height: 10", to: "8999") }
      for height in 1...10 {
        boxes.tree.setStyle(Boxes.style("height: \(height)"), of: "0")
        #expect(boxes.frames("f0", "f199999") == ["0 0 10 10", "0 0 10 10"])
      }
      boxes.tree.setStyle(Boxes.style("display: none"), of: "5")
      #expect(boxes.frames("f0", "f199999") == ["0 0 0 0", "0 0 0 0"])
    case "boxes":
      chain(9_000)
      for number in 0..<300_000 { boxes.add("p\(number)", "height: 1", to: "8999") }
      boxes.tree.update()
      #expect(boxes.tree.boxes(of: (0..<300_000).map { "p\($0)" } + ["unknown", "0"]).count == 300_001)
    case "insertions":
      for number in 0..<200_000 { boxes.add("\(number)", "height: 1") }
      for number in 0..<100_000 { boxes.tree.add("new\(number)", type: "div", to: "body", at: 100_000 + number % 2) }
      #expect(boxes.tree.children(of: "body").count == 300_000)
    case "moves of a large part", "directions":
      for ref in ["a", "b", "part"] { boxes.add(ref) }
      for number in 0..<100_000 { boxes.add("\(number)", "height: 1", to: "part") }
      boxes.tree.update()
      for number in 0..<20_001 {
        if kind == "directions" {
          boxes.tree.setStyle(Boxes.style("direction: \(number % 2 == 0 ? "rtl" : "ltr")"), of: "part")
        } else {
          boxes.tree.move("part", to: number % 2 == 0 ? "a" : "b")
        }
      }
      #expect(boxes.frames("part", "99999") == ["0 0 750 100000", "0 99999 750 1"])
    case "nested moves":
      chain(50_000)
      boxes.add("other")
      for level in (1..<50_000).reversed() { boxes.tree.move("\(level)", to: "\(level - 1)") }
      boxes.tree.move("0", to: "other")
      #expect(boxes.frames("other", "9998") == ["0 0 750 0", "0 0 750 0"])
    case "insertions anywhere":
      for number in 0..<100_000 {
        boxes.tree.add("\(number)", type: "div", to: "body", at: number * 7_919 % (number + 1))
      }
      #expect(boxes.tree.children(of: "body").count == 100_000)
    case "moves anywhere":
      for number in 0..<100_000 { boxes.add("\(number)", "height: 1") }
      for number in 0..<100_000 {
        boxes.tree.move("\(number * 7_919 % 100_000)", to: "body", at: number * 104_729 % 100_000)
      }
      #expect(boxes.tree.children(of: "body").count == 100_000)
    case "removals anywhere":
      for number in 0..<100_000 { boxes.tree.add("\(number)", type: "div", to: "body", at: number / 2) }
      for number in 0..<99_000 {
        boxes.tree.remove("\(number * 7_919 % 100_000)")
        boxes.tree.add("new\(number)", type: "div", to: "body", at: number % 50_000)
        boxes.tree.remove("new\(number)")
      }
      #expect(boxes.tree.children(of: "body").count == 1_000)
    default:
      for number in 0..<200_000 { boxes.add("\(number)", "height: 1") }
      for number in 0..<100_000 {
        boxes.tree.move("\(100_000 - number % 10)", to: "body", at: 100_000 + number % 20)
      }
      #expect(boxes.tree.children(of: "body").count == 200_000)
    }
  }

  @Test("the boxes of several elements are those of each", arguments: 0..<20)
  func severalBoxes(_ seed: Int) {
    var random = RandomTree(seed: seed)
    random.grow(to: 100)
    random.tree.update()
    for ref in random.refs where seed % 2 == 0 {
      random.tree.scroll(ref, to: LayoutPoint(x: 30, y: Double(seed * 10)))
    }
    let boxes = random.tree.boxes(of: random.refs + ["unknown"] + random.refs)
    #expect(boxes.count == random.refs.count)
    for ref in random.refs { #expect(boxes[ref] == random.tree.box(ref)) }
    // Those that are drawn are where a walk finds them.
    for box in random.tree.visibleBoxes() { #expect(box.ref == "body" || boxes[box.ref] == box) }
  }

  @Test("another screen counts for all that is in points")
  func points() {
    var boxes = Boxes()
    boxes.add("a", "height: 10WX; padding: 1px 2wx; border-left: 1wx solid red; width: 100")
    boxes.add("b", "height: 20px; margin: 10wx 20px")
    boxes.add("c", "height: 100", type: "waterfall", ["columnCount": .text("2"), "column-gap": .text("10wx")])
    boxes.add("cell", "height: 10", type: "cell", to: "c")
    boxes.add("in a", "flex: 1", to: "a")
    var window = boxes.tree.window
    var other = boxes
    window.unitsPerPoint = 3
    other.tree.window = window
    #expect(boxes.frames("a", "in a", "b", "cell") == ["0 0 100 20", "6 1 90 18", "20 40 710 20", "0 0 365 10"])
    #expect(other.frames("a", "in a", "b", "cell") == ["0 0 100 30", "9 1 85 28", "20 60 710 20", "0 0 360 10"])
  }

  @Test("children are where they were put, after any insertions and removals", arguments: 0..<10)
  func places(_ seed: Int) {
    var dice = Dice(seed)
    var boxes = Boxes()
    var children: [String] = []
    for number in 0..<3_000 {
      let ref = "\(number)"
      switch dice.roll(children.count > 300 ? 4 : 2) {
      case 0, 1:
        let index = dice.roll(3) == 0 ? dice.roll(children.count + 1) : min(children.count, 100 + dice.roll(20))
        boxes.tree.add(ref, type: "div", to: "body", at: index)
        children.insert(ref, at: index)
      case 2: boxes.tree.remove(children.remove(at: dice.roll(children.count)))
      default:
        let from = dice.roll(children.count)
        let index = dice.roll(children.count + 1)
        boxes.tree.move(children[from], to: "body", at: index)
        let moved = children.remove(at: from)
        children.insert(moved, at: min(from < index ? index - 1 : index, children.count))
      }
    }
    #expect(boxes.tree.children(of: "body") == children)
  }

  @Test(
    "a list or scroller without a size takes what is left of the screen, and scrolls", arguments: ["list", "scroller"])
  func scrollers(_ type: String) {
    var boxes = Boxes()
    boxes.add("head", "height: 88")
    boxes.add("list", type: type)
    for number in 0..<20 { boxes.add("cell\(number)", "height: 200", type: "cell", to: "list") }
    boxes.add("foot", "height: 98")
    #expect(boxes.frames("list", "cell1", "foot") == ["0 88 750 1148", "0 200 750 200", "0 1236 750 98"])
    #expect(boxes.tree.box("list")?.contentSize == LayoutSize(width: 750, height: 4_000))
    boxes.tree.scroll("list", to: LayoutPoint(x: 0, y: 500))
    #expect(boxes.tree.update() == [])
    #expect(boxes.pages("cell1") == ["0 -212 750 200"])
    #expect(boxes.frames("cell1") == ["0 200 750 200"])
    boxes.tree.scroll("list", to: LayoutPoint(x: 0, y: 1e9))
    #expect(boxes.tree.box("list")?.scrollOffset == LayoutPoint(x: 0, y: 2_852))
    #expect(
      boxes.tree.visibleBoxes().map(\.ref) == [
        "body", "head", "list", "cell14", "cell15", "cell16", "cell17", "cell18", "cell19", "foot",
      ])
    #expect(boxes.tree.element(at: LayoutPoint(x: 10, y: 100)) == "cell14")
    #expect(boxes.tree.element(at: LayoutPoint(x: 10, y: 1_300)) == "foot")
  }

  @Test("a share in a scroller counts for nothing: the element is as high as its height or its content")
  func sharesInScrollers() {
    var boxes = Boxes()
    boxes.add("s", "height: 400", type: "scroller")
    boxes.add("content", "flex: 1", to: "s")
    boxes.add("inner", "height: 30", to: "content")
    boxes.add("sized", "flex: 1; height: 90", to: "s")
    boxes.add("last", "height: 60", to: "s")
    #expect(boxes.frames("content", "sized", "last") == ["0 0 750 30", "0 30 750 90", "0 120 750 60"])
  }

  @Test("a scroller across has its items in a row")
  func across() {
    var boxes = Boxes()
    boxes.add("s", "height: 100", type: "scroller", ["scrollDirection": .text("horizontal")])
    for number in 0..<10 { boxes.add("\(number)", "width: 200", to: "s") }
    #expect(boxes.frames("s", "0", "9") == ["0 0 750 100", "0 0 200 100", "1800 0 200 100"])
    #expect(boxes.tree.box("s")?.contentSize == LayoutSize(width: 2_000, height: 100))
  }

  @Test("a scroller across that begins at the right scrolls to the left")
  func acrossFromTheRight() {
    var boxes = Boxes()
    boxes.add("s", "height: 100; direction: rtl", type: "scroller", ["scrollDirection": .text("horizontal")])
    for number in 0..<10 { boxes.add("\(number)", "width: 200", to: "s") }
    #expect(boxes.frames("0", "9") == ["550 0 200 100", "-1250 0 200 100"])
    #expect(boxes.tree.box("s")?.contentSize == LayoutSize(width: 2_000, height: 100))
    boxes.tree.scroll("s", to: LayoutPoint(x: -5_000, y: 0))
    #expect(boxes.pages("0", "9") == ["1800 0 200 100", "0 0 200 100"])
    boxes.tree.scroll("s", to: LayoutPoint(x: 100, y: 0))
    #expect(boxes.pages("0") == ["550 0 200 100"])
  }

  @Test("a header of a list sticks until the next one pushes it")
  func headers() {
    var boxes = Boxes()
    boxes.add("list", "marginTop: 34", type: "list")
    for section in 0..<3 {
      boxes.add("header\(section)", "height: 50", type: "header", to: "list")
      boxes.add("cell\(section)", "height: 1000", type: "cell", to: "list")
    }
    boxes.tree.update()
    boxes.tree.scroll("list", to: LayoutPoint(x: 0, y: 600))
    #expect(boxes.pages("header0", "cell0", "header1") == ["0 34 750 50", "0 -516 750 1000", "0 484 750 50"])
    boxes.tree.scroll("list", to: LayoutPoint(x: 0, y: 1_030))
    #expect(boxes.pages("header0", "header1") == ["0 4 750 50", "0 54 750 50"])
    #expect(boxes.frames("header0") == ["0 0 750 50"])
  }

  @Test("a sticky element stays in its scroller")
  func sticky() {
    var boxes = Boxes()
    boxes.add("s", "height: 500", type: "scroller")
    boxes.add("a", "height: 200", to: "s")
    boxes.add("b", "height: 50; position: sticky", to: "s")
    boxes.add("c", "height: 2000", to: "s")
    boxes.tree.update()
    boxes.tree.scroll("s", to: LayoutPoint(x: 0, y: 100))
    #expect(boxes.pages("b") == ["0 100 750 50"])
    boxes.tree.scroll("s", to: LayoutPoint(x: 0, y: 900))
    #expect(boxes.pages("b", "c") == ["0 0 750 50", "0 -650 750 2000"])
    #expect(boxes.tree.visibleBoxes().map(\.ref) == ["body", "s", "c", "b"])
  }

  @Test("a sticky element does not leave what it is in")
  func stickyInside() {
    var boxes = Boxes()
    boxes.add("s", "height: 500", type: "scroller")
    boxes.add("a", "height: 300", to: "s")
    boxes.add("b", "height: 50; position: sticky; top: 10", to: "a")
    boxes.add("c", "height: 2000", to: "s")
    boxes.tree.update()
    boxes.tree.scroll("s", to: LayoutPoint(x: 0, y: 100))
    #expect(boxes.pages("b") == ["0 10 750 50"])
    boxes.tree.scroll("s", to: LayoutPoint(x: 0, y: 280))
    #expect(boxes.pages("b") == ["0 -30 750 50"])
  }

  @Test(
    "the columns of a waterfall",
    arguments: [
      (["columnCount": "2", "columnGap": "10"], "0 60 370 100", "380 60 370 50", "380 110 370 30"),
      (
        ["columnCount": "2", "columnGap": "10", "leftGap": "20", "rightGap": "20"], "20 60 350 100", "380 60 350 50",
        "380 110 350 30"
      ),
      (["columnWidth": "200", "columnGap": "normal"], "0 60 228.67 100", "260.67 60 228.67 50", "521.33 60 228.67 30"),
      ([:], "0 60 750 100", "0 160 750 50", "0 210 750 30"),
    ])
  func waterfall(_ attributes: [String: String], _ a: String, _ b: String, _ c: String) {
    var boxes = Boxes()
    boxes.add("w", type: "waterfall", attributes.mapValues { .text($0) })
    boxes.add("head", "height: 60", type: "header", to: "w")
    boxes.add("a", "height: 100", type: "cell", to: "w")
    boxes.add("b", "height: 50", type: "cell", to: "w")
    boxes.add("c", "height: 30", type: "cell", to: "w")
    #expect(boxes.frames("w", "head", "a", "b", "c") == ["0 0 750 1334", "0 0 750 60", a, b, c])
  }

  @Test("the pages of a slider are side by side, and its dots lie over them")
  func sliders() {
    var boxes = Boxes()
    boxes.add("s", "height: 300", type: "slider", ["index": .number(1)])
    for number in 0..<3 { boxes.add("\(number)", to: "s") }
    boxes.add("dots", "position: absolute; bottom: 10; left: 0; right: 0; height: 20", type: "indicator", to: "s")
    #expect(boxes.frames("s", "0", "2", "dots") == ["0 0 750 300", "0 0 750 300", "1500 0 750 300", "0 270 750 20"])
    #expect(boxes.pages("1", "dots") == ["0 0 750 300", "0 270 750 20"])
    #expect(boxes.tree.visibleBoxes().map(\.ref) == ["body", "s", "1", "dots"])
    #expect(boxes.tree.box("s")?.contentSize.width == 2_250)
  }

  @Test(
    "components have the sizes of the SDK",
    arguments: [
      ("switch", "102 62"), ("input", "0 60"), ("textarea", "0 76.8"), ("web", "0 0"), ("video", "0 0"), ("a", "0 0"),
      ("refresh", "0 0"), ("image", "0 0"),
    ])
  func sizes(_ type: String, _ size: String) {
    var boxes = Boxes()
    boxes.add("row", "flexDirection: row; alignItems: flex-start")
    boxes.add("a", type: type, to: "row")
    #expect(boxes.frames("a") == ["0 0 \(size)"])
  }

  @Test("a switch is not stretched")
  func switches() {
    var boxes = Boxes()
    boxes.add("a", type: "switch")
    boxes.add("b", "width: 200; height: 100", type: "switch")
    #expect(boxes.frames("a", "b") == ["0 0 102 62", "0 62 200 100"])
    boxes.tree.window.unitsPerPoint = 3
    #expect(boxes.frames("a") == ["0 0 153 93"])
  }

  @Test("a refresh that is hidden takes no room")
  func refresh() {
    var boxes = Boxes()
    boxes.add("list", type: "list")
    boxes.add("refresh", "height: 120", type: "refresh", to: "list")
    boxes.add("cell", "height: 10", type: "cell", to: "list")
    #expect(boxes.frames("cell") == ["0 0 750 10"])
    boxes.tree.setAttributes(["display": .text("show")], of: "refresh")
    #expect(boxes.frames("cell") == ["0 120 750 10"])
  }

  @Test("a hidden element keeps its room; one with display: none has none")
  func hidden() {
    var boxes = Boxes()
    boxes.add("a", "height: 10; visibility: hidden")
    boxes.add("b", "height: 10; display: none")
    boxes.add("c", "height: 10", to: "b")
    boxes.add("d", "height: 10")
    #expect(boxes.frames("a", "b", "c", "d") == ["0 0 750 10", "0 0 0 0", "0 0 0 0", "0 10 750 10"])
    #expect(boxes.tree.visibleBoxes().map(\.ref) == ["body", "d"])
  }

  @Test("siblings are drawn by `zIndex`, and fixed elements last")
  func order() {
    var boxes = Boxes()
    boxes.add("fixed", "position: fixed; width: 10; height: 10")
    boxes.add("a", "height: 10; zIndex: 2")
    boxes.add("b", "height: 10; zIndex: -1")
    boxes.add("c", "height: 10")
    boxes.tree.update()
    #expect(boxes.tree.visibleBoxes().map(\.ref) == ["body", "b", "c", "a", "fixed"])
    #expect(boxes.tree.element(at: LayoutPoint(x: 1, y: 1)) == "fixed")
  }

  /// The element at a place, with the place in the coordinates of boxes: `a 50 25`.
  private static func hit(_ boxes: inout Boxes, _ x: Double, _ y: Double) -> String {
    boxes.tree.update()
    guard let hit = boxes.tree.hit(at: LayoutPoint(x: x, y: y)) else { return "none" }
    return "\(hit.ref) \(Boxes.number(hit.point.x)) \(Boxes.number(hit.point.y))"
  }

  @Test(
    "an element is found where its transform puts it",
    arguments: [
      ("transform: translate(200px, 50px)", 250, 75, "a 50 25"),
      ("transform: translate(200px, 50px)", 50, 25, "body 50 25"),
      ("transform: translateX(50%)", 120, 50, "a 70 50"), ("transform: translate(100wx)", 250, 50, "a 50 50"),
      ("transform: scale(2)", 140, 140, "a 95 95"),
      ("transform: scale(2); transformOrigin: left top", 190, 10, "a 95 5"),
      ("transform: scale(2); transform-origin: 100% 0", 10, 190, "a 55 95"),
      ("transform: rotate(45deg)", 50, 119, "a 98.79 98.79"), ("transform: rotate(45deg)", 2, 2, "body 2 2"),
      ("transform: rotateY(90deg)", 40, 50, "body 40 50"), ("transform: scale(0)", 50, 50, "body 50 50"),
      ("transform: matrix(1, 0, 0, 1, 30, 0)", 120, 50, "a 90 50"),
      ("transform: translate(20px) scale(2)", 168, 50, "a 99 50"), ("transform: nothing(2)", 50, 50, "a 50 50"),
      ("transform: scale(1e300)", 50, 50, "a 50 50"), ("transform: translate(1e6px)", 50, 50, "body 50 50"),
    ] as [(String, Double, Double, String)])
  func transforms(_ style: String, _ x: Double, _ y: Double, _ expected: String) {
    var boxes = Boxes()
    boxes.add("a", "width: 100; height: 100; " + style)
    #expect(Self.hit(&boxes, x, y) == expected)
    // The box stays, and the transform goes with the style.
    #expect(boxes.pages("a") == ["0 0 100 100"])
    boxes.tree.setStyle(Boxes.style("width: 100; height: 100"), of: "a")
    #expect(Self.hit(&boxes, 50, 50) == "a 50 50")
  }

  @Test("a transform moves all that is in an element, within what clips around it, but nothing fixed")
  func nestedTransforms() {
    var boxes = Boxes()
    boxes.add("moved", "width: 200; height: 200; transform: translate(300px, 300px)")
    boxes.add("in", "width: 50; height: 50; transform: rotate(90deg); transformOrigin: left top", to: "moved")
    boxes.add("fixed", "position: fixed; left: 0; top: 0; width: 20; height: 20", to: "moved")
    boxes.add("clip", "width: 100; height: 100; overflow: hidden")
    boxes.add("out", "width: 100; height: 100; transform: translate(60px)", to: "clip")
    #expect(Self.hit(&boxes, 320, 320) == "moved 20 20")
    #expect(Self.hit(&boxes, 270, 340) == "in 40 30")
    #expect(Self.hit(&boxes, 10, 10) == "fixed 10 10")
    #expect(Self.hit(&boxes, 310, 310) == "moved 10 10")
    #expect(Self.hit(&boxes, 90, 250) == "out 30 250")
    #expect(Self.hit(&boxes, 130, 250) == "body 130 250")
    #expect(Self.hit(&boxes, 30, 250) == "clip 30 250")
    let seen = boxes.tree.visibleBoxes(in: LayoutRect(x: 255, y: 305, width: 10, height: 10)).map(\.ref)
    #expect(seen == ["body", "in"])
    boxes.tree.remove("moved")
    boxes.add("new", "width: 200; height: 200")
    #expect(Self.hit(&boxes, 10, 110) == "new 10 110")
  }

  @Test("elements that a scroller clips are not found beside it, also if a fixed one is in the scroller")
  func clippedAway() {
    var boxes = Boxes()
    boxes.add("s", "height: 100", type: "scroller")
    boxes.add("tall", "height: 300", to: "s")
    boxes.add("fixed", "position: fixed; left: 0; top: 0; width: 10; height: 10", to: "s")
    #expect(Self.hit(&boxes, 50, 50) == "tall 50 50")
    #expect(Self.hit(&boxes, 50, 150) == "body 50 150")
    #expect(Self.hit(&boxes, 5, 5) == "fixed 5 5")
  }
}
