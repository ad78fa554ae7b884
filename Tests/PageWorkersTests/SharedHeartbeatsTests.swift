import CLinux
import Dispatch
import Foundation
import PageKit
import Synchronization
import Testing

@testable import PageWorkers

/// The work of a worker's pages, as the daemon reads it.
@Suite struct SharedHeartbeatsTests {
  /// Both sides of a worker's memory.
  private static func sides() throws -> (worker: EntryTable, daemon: SharedHeartbeats) {
    let descriptor = SharedHeartbeats.makeDescriptor()
    defer { close(descriptor) }
    let written = try #require(SharedHeartbeats(descriptor: descriptor, isWritable: true))
    return (EntryTable(written), try #require(SharedHeartbeats(descriptor: descriptor, isWritable: false)))
  }

  @Test("entries of several pages run at once, and are known after their end")
  func entries() throws {
    let (worker, daemon) = try Self.sides()
    #expect(worker.add("a", page: 1) && worker.add("b", page: 2))
    worker.record("a", .entry, .begin)
    worker.record("b", .entry, .begin)
    worker.record("a", .entry, .end)
    worker.record("unknown", .entry, .begin)
    let entries = daemon.entries().sorted { $0.page < $1.page }
    #expect(entries.map(\.page) == [1, 2] && entries.map(\.work) == [.entry, .entry])
    #expect(entries.map { $0.left == nil } == [false, true])
    worker.remove("a")
    #expect(daemon.entries().map(\.page) == [2])
  }

  @Test(
    "a layout is its page's while it runs, also within that of the page around it",
    arguments: [PageWork.elements, .picture])
  func layouts(_ work: PageWork) throws {
    let (worker, daemon) = try Self.sides()
    #expect(worker.add("outer", page: 1) && worker.add("inner", page: 1) && worker.add("other", page: 2))
    worker.record("other", .entry, .begin)
    worker.record("outer", work, .begin)
    worker.record("inner", work, .begin)
    worker.record("inner", work, .end)
    let running = try #require(daemon.entries().first { $0.work == work })
    #expect(running.page == 1 && running.left == nil && running.thread == pk_thread() && running.residentBytes > 0)
    worker.record("outer", work, .end)
    #expect(daemon.entries().map(\.work) == [.entry])
    worker.record("outer", work, .end)
    worker.record("other", work, .begin)
    #expect(daemon.entries().filter { $0.work == work }.map(\.page) == [2])
    worker.record("other", work, .end)
    worker.record("unknown", work, .begin)
    worker.record("unknown", work, .end)
    #expect(daemon.entries().map(\.work) == [.entry])
  }

  @Test("a layout that goes on in another thread has the processor's time of that thread")
  func threads() throws {
    let (worker, daemon) = try Self.sides()
    #expect(worker.add("a", page: 1))
    worker.record("a", .elements, .begin)
    let done = DispatchSemaphore(value: 0)
    let other = Atomic<Int32>(0)
    Thread.detachNewThread {
      worker.record("a", .elements, .otherThread)
      other.store(pk_thread(), ordering: .releasing)
      done.signal()
    }
    done.wait()
    #expect(daemon.entries().map(\.thread) == [other.load(ordering: .acquiring)])
    worker.record("a", .elements, .otherThread)
    #expect(daemon.entries().map(\.thread) == [pk_thread()])
  }
}
