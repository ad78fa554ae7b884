import Testing

@testable import RenderHost

struct FolderActivityTests {
  private let start = ContinuousClock.now

  private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

  @Test("without activity the folder is not scanned")
  func noActivity() {
    #expect(FolderActivity().decision(at: start) == .rest)
  }

  @Test("a burst of changes is scanned once after its end")
  func burst() {
    var activity = FolderActivity()
    for step in 0..<5 { activity.record(.finished("a\(step)"), at: at(Double(step) * 0.05)) }
    #expect(activity.decision(at: at(0.25)) == .wait(.milliseconds(50)))
    #expect(activity.decision(at: at(0.3)) == .look)
    activity.look(at: at(0.3))
    #expect(activity.decision(at: at(0.3)) == .rest)
  }

  @Test("an endless burst is scanned after a limit")
  func endlessBurst() {
    var activity = FolderActivity()
    for step in 0...40 { activity.record(.changed, at: at(Double(step) * 0.05)) }
    #expect(activity.decision(at: at(2)) == .look)
  }

  @Test("a file that is being written delays the scan")
  func openFile() {
    var activity = FolderActivity()
    activity.record(.writing("a.js"), at: at(0))
    #expect(activity.decision(at: at(1)) == .wait(.seconds(9)))
    activity.record(.writing("a.js"), at: at(5))
    #expect(activity.decision(at: at(6)) == .wait(.seconds(9)))
    activity.record(.finished("a.js"), at: at(6))
    #expect(activity.decision(at: at(6.1)) == .look)
  }

  @Test("a silent writer delays the scan no longer")
  func silentWriter() {
    var activity = FolderActivity()
    activity.record(.writing("a.js"), at: at(0))
    #expect(activity.decision(at: at(10)) == .look)
  }

  @Test("an endless writer does not delay the scan forever")
  func endlessWriter() {
    var activity = FolderActivity()
    for second in 0...60 { activity.record(.writing("log.txt"), at: at(Double(second))) }
    #expect(activity.decision(at: at(60)) == .look)
  }

  @Test("lost events reset the known writers")
  func lostEvents() {
    var activity = FolderActivity()
    activity.record(.writing("a.js"), at: at(0))
    activity.record(.overflow, at: at(1))
    #expect(activity.decision(at: at(1.1)) == .look)
  }

  @Test("a writer still delays the next scan after a scan in between")
  func writerAfterScan() {
    var activity = FolderActivity()
    activity.record(.writing("a.js"), at: at(0))
    activity.look(at: at(1))
    activity.record(.finished("b.js"), at: at(2))
    #expect(activity.decision(at: at(3)) == .wait(.seconds(7)))
  }

  @Test("saved files are told by their paths, and what may have changed others is unsure")
  func saves() {
    var saves = Saves()
    saves.record(.writing("a.js"), isSave: false)
    #expect(saves.isEmpty)
    saves.record(.finished("a.js"), isSave: true)
    #expect(saves.paths == ["a.js"] && !saves.isUnsure && !saves.isEmpty)
    // A file that is moved away and written anew was saved, and one that is removed after a save was not.
    for isSave in [true, false] {
      var saves = Saves()
      saves.record(.finished("b.js"), isSave: !isSave)
      saves.record(.finished("b.js"), isSave: isSave)
      #expect(saves.paths == (isSave ? ["b.js"] : []) && saves.removed == (isSave ? [] : ["b.js"]))
      #expect(saves.contains("b.js") && !saves.isEmpty && !saves.isUnsure)
    }
    for event in [FolderActivity.Event.changed, .overflow] {
      var unsure = Saves()
      unsure.record(event, isSave: false)
      #expect(unsure.isUnsure && !unsure.isEmpty)
    }
    // A link to a folder stands in the paths of the files in it.
    var links = Saves()
    links.record(.finished("shared"), isSave: true)
    #expect(links.contains("shared/a/b.js") && !links.contains("sharedother/a.js") && !links.contains("a/shared"))
    for number in 0..<20_000 { saves.record(.finished("\(number)"), isSave: true) }
    #expect(saves.paths.count == 10_000 && saves.isUnsure)
  }

  @Test("events of the files that links lead to are those of the links, and others in their folders are not")
  func followedLinks() {
    var links = FollowedLinks()
    links.add("a.js", to: 1, "/out", "x.js")
    links.add("b.js", to: 1, "/out", "x.js")
    links.add("c.js", to: 2, "/other", "x.js")
    func event(_ watch: Int32, _ name: String) -> InotifyRecord { InotifyRecord(watch: watch, mask: 0, name: name) }
    #expect(links.paths(of: event(1, "x.js")) == ["a.js", "b.js"])
    #expect(links.paths(of: event(1, "y.js")).isEmpty && links.paths(of: event(3, "x.js")).isEmpty)
    #expect(links.watch(of: "/other") == 2 && links.has(path: "c.js") && links.has(2))
    links.forget(2)
    #expect(!links.has(path: "c.js") && !links.has(2) && links.watches == [1])
    for number in 2..<Int32(FollowedLinks.limit + 1) { links.add("\(number)", to: number, "/\(number)", "x.js") }
    #expect(!links.hasRoom)
  }
}
