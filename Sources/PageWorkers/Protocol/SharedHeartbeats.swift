import CLinux
import Dispatch
import Foundation
import PageKit
import Synchronization

/// The running pages of a worker and the times of their entries, in memory that the worker writes and the daemon reads
/// even while the worker is busy.
///
/// For each page: its number; when it was last entered and left, in nanoseconds of the monotonic clock; the thread that
/// it runs on, and the processor's time that the thread had used when it was entered, in nanoseconds; the worker's
/// resident bytes then, and by how many they have grown in all its entries. Two more slots have the same of the page whose
/// elements are changed or laid out, and of the one that is laid out for a picture: the process does either for one page at a
/// time.
///
/// `@unchecked Sendable`: the memory is accessed only through atomics, and unmapped on deallocation.
final class SharedHeartbeats: @unchecked Sendable {
  /// The largest number of pages.
  static let pageSlots = 4_096
  private static let slots = pageSlots + 2
  private enum Word: Int, CaseIterable {
    case page, entered, left, thread, processorTime, residentBytes, growth
  }

  private static var size: Int { slots * Word.allCases.count * MemoryLayout<UInt64>.stride }

  private let memory: UnsafeMutableRawPointer

  /// Creates memory that can be shared with another process.
  ///
  /// - Returns: its descriptor; -1 on failure.
  static func makeDescriptor() -> Int32 {
    let descriptor = memfd_create("entries", 1)  // MFD_CLOEXEC
    guard descriptor >= 0 else { return -1 }
    guard ftruncate(descriptor, size) == 0 else {
      close(descriptor)
      return -1
    }
    return descriptor
  }

  /// Maps the memory; the caller keeps the descriptor.
  init?(descriptor: Int32, isWritable: Bool) {
    let access = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
    guard let memory = mmap(nil, Self.size, access, MAP_SHARED, descriptor, 0), memory != MAP_FAILED else { return nil }
    self.memory = memory
  }

  deinit { munmap(memory, Self.size) }

  private func word(_ slot: Int, _ word: Word) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (memory + (slot * Word.allCases.count + word.rawValue) * MemoryLayout<UInt64>.stride)
      .assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  private func load(_ slot: Int, _ word: Word) -> UInt64 { self.word(slot, word).pointee.load(ordering: .acquiring) }
  private func store(_ value: UInt64, _ slot: Int, _ word: Word) {
    self.word(slot, word).pointee.store(value, ordering: .releasing)
  }

  /// The slot of work that is done for one page at a time; `nil` for entries, for which each page has its own.
  static func slot(of work: PageWork) -> Int? {
    switch work {
    case .entry: nil
    case .elements: pageSlots
    case .picture: pageSlots + 1
    }
  }

  private static func work(in slot: Int) -> PageWork {
    slot < pageSlots ? .entry : slot == pageSlots ? .elements : .picture
  }

  static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

  // MARK: The worker's side

  func use(_ slot: Int, for page: UInt64) {
    for word in Word.allCases where word != .page { store(0, slot, word) }
    store(page, slot, .page)
  }

  func free(_ slot: Int) { store(0, slot, .page) }

  /// Called on the thread of the entry.
  func enter(_ slot: Int) {
    store(UInt64(pk_thread()), slot, .thread)
    store(pk_thread_time(), slot, .processorTime)
    store(UInt64(ScriptLimits.residentBytesNow()), slot, .residentBytes)
    store(Self.now(), slot, .entered)
  }

  /// Called on the thread that goes on with the entry.
  func move(_ slot: Int) {
    store(UInt64(pk_thread()), slot, .thread)
    store(pk_thread_time(), slot, .processorTime)
  }

  func leave(_ slot: Int) {
    let before = load(slot, .residentBytes)
    store(load(slot, .growth) &+ UInt64(ScriptLimits.residentBytesNow()) &- before, slot, .growth)
    store(Self.now(), slot, .left)
  }

  // MARK: The daemon's side

  struct Entry: Hashable, Sendable {
    let page: UInt64
    let work: PageWork
    let entered: UInt64
    /// `nil` while it runs.
    let left: UInt64?
    let thread: Int32
    /// The processor time of the thread at the entry, in nanoseconds.
    let processorTime: UInt64
    /// The worker's resident bytes at the entry.
    let residentBytes: Int64
    /// The growth in all ended entries, in bytes.
    let growth: Int64
  }

  /// All pages that were entered.
  func entries() -> [Entry] {
    var found: [Entry] = []
    for slot in 0..<Self.slots {
      let page = load(slot, .page)
      let entered = page == 0 ? 0 : load(slot, .entered)
      guard entered > 0 else { continue }
      let left = load(slot, .left)
      found.append(
        Entry(
          page: page, work: Self.work(in: slot), entered: entered, left: left >= entered ? left : nil,
          thread: Int32(truncatingIfNeeded: load(slot, .thread)), processorTime: load(slot, .processorTime),
          residentBytes: Int64(bitPattern: load(slot, .residentBytes)),
          growth: Int64(bitPattern: load(slot, .growth))))
    }
    return found
  }
}

// MARK: - Times of threads

extension SharedHeartbeats {
  /// The processor time of a thread of another process in nanoseconds, which is independent of the load of the machine:
  /// proc(5), `/proc/PID/task/TID/schedstat`.
  ///
  /// - Returns: `nil` if there is no such thread, or the time is unknown.
  static func processorTime(of thread: Int32, in process: pid_t) -> UInt64? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/schedstat", encoding: .utf8) else {
      return nil
    }
    return text.split(separator: " ").first.flatMap { UInt64($0) }
  }
}
