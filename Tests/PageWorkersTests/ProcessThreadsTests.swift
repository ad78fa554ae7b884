import Foundation
import Testing

@testable import PageWorkers

@Suite struct ProcessThreadsTests {
  @Test(
    "a process is confined with one thread, waits for others, and refuses when they stay",
    arguments: [
      ([1: "a"], false, .alone), ([1: "a"], true, .alone), ([1: "a", 2: "b"], false, .wait),
      ([1: "a", 2: "b"], true, .refuse("the thread \"b\" would not be confined")),
      ([1: "a", 2: "c", 3: "b"], true, .refuse("the threads \"b\", \"c\" would not be confined")),
      ([:], true, .refuse("the threads of the process cannot be listed")),
      ([2: "b"], false, .refuse("the threads of the process cannot be listed")),
      (nil, false, .refuse("the threads of the process cannot be listed")),
    ] as [([Int32: String]?, Bool, ProcessThreads.Decision)])
  func decisions(_ names: [Int32: String]?, _ isLate: Bool, _ decision: ProcessThreads.Decision) {
    #expect(ProcessThreads.decision(names, own: 1, isLate: isLate) == decision)
  }

  @Test("a thread that stays is named, and one that has ended is not")
  func extraThread() throws {
    let name = "pagekit-extra"
    let (began, end, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let thread = Thread {
      let file = open("/proc/thread-self/comm", O_WRONLY)
      _ = write(file, name, name.utf8.count)
      close(file)
      began.signal()
      end.wait()
      ended.signal()
    }
    thread.start()
    began.wait()
    let reason = try #require(ProcessThreads.waitForOthers(within: .milliseconds(20)))
    #expect(reason.contains("\"\(name)\"") && reason.hasSuffix("would not be confined"), "\(reason)")
    end.signal()
    ended.wait()
    let deadline = ContinuousClock.now + .seconds(10)
    while ProcessThreads.names?.values.contains(name) ?? true, .now < deadline { usleep(1_000) }
    #expect(ProcessThreads.names?.values.contains(name) == false)
  }
}
