import CLinux
import Dispatch
import Foundation
import Synchronization

/// Which pages of a worker are running, and since when: memory that the worker writes and the daemon reads, so that it
/// sees what goes on however busy the worker is.
///
/// Three words for each page: its number, and when it was last entered and left, in nanoseconds of the monotonic clock.
///
/// `@unchecked Sendable`: the memory is only touched through atomics, and unmapped when nobody has the board any more.
final class EntryBoard: @unchecked Sendable {
  static let slots = 4_096
  private static let words = 3
  private static var size: Int { slots * words * MemoryLayout<UInt64>.stride }

  private let memory: UnsafeMutableRawPointer

  /// Memory that can be handed to another process.
  ///
  /// - Returns: its descriptor; -1 where there is none to be had.
  static func makeDescriptor() -> Int32 {
    let descriptor = memfd_create("entries", 1)  // MFD_CLOEXEC
    guard descriptor >= 0 else { return -1 }
    guard ftruncate(descriptor, size) == 0 else {
      close(descriptor)
      return -1
    }
    return descriptor
  }

  /// Maps the memory, and leaves the descriptor to the caller.
  init?(descriptor: Int32, isWritable: Bool) {
    let access = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
    guard let memory = mmap(nil, Self.size, access, MAP_SHARED, descriptor, 0), memory != MAP_FAILED else { return nil }
    self.memory = memory
  }

  deinit { munmap(memory, Self.size) }

  private func word(_ slot: Int, _ index: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (memory + (slot * Self.words + index) * MemoryLayout<UInt64>.stride).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

  // MARK: The worker's side

  func take(_ slot: Int, for page: UInt64) {
    word(slot, 1).pointee.store(0, ordering: .relaxed)
    word(slot, 2).pointee.store(0, ordering: .relaxed)
    word(slot, 0).pointee.store(page, ordering: .releasing)
  }

  func free(_ slot: Int) { word(slot, 0).pointee.store(0, ordering: .releasing) }
  func enter(_ slot: Int) { word(slot, 1).pointee.store(Self.now(), ordering: .releasing) }
  func leave(_ slot: Int) { word(slot, 2).pointee.store(Self.now(), ordering: .releasing) }

  // MARK: The daemon's side

  struct Entry: Hashable, Sendable {
    let page: UInt64
    let entered: UInt64
    /// Nil while it runs.
    let left: UInt64?
  }

  /// Every page that was entered.
  func entries() -> [Entry] {
    var found: [Entry] = []
    for slot in 0..<Self.slots {
      let page = word(slot, 0).pointee.load(ordering: .acquiring)
      let entered = page == 0 ? 0 : word(slot, 1).pointee.load(ordering: .acquiring)
      guard entered > 0 else { continue }
      let left = word(slot, 2).pointee.load(ordering: .acquiring)
      found.append(Entry(page: page, entered: entered, left: left >= entered ? left : nil))
    }
    return found
  }
}
