import Foundation

/// One `struct inotify_event`, inotify(7).
struct InotifyRecord: Hashable, Sendable {
  let watch: Int32
  let mask: UInt32
  /// The path of the file in the watched folder; empty for the folder itself.
  let name: String

  func has(_ flag: Int32) -> Bool { mask & UInt32(bitPattern: flag) != 0 }

  /// The records of one read, up to the first incomplete one.
  static func all(in bytes: UnsafeRawBufferPointer) -> [InotifyRecord] {
    let headSize = 16  // wd, mask, cookie and len, of four bytes each
    var records: [InotifyRecord] = []
    var offset = 0
    while offset + headSize <= bytes.count {
      let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
      let end = offset + headSize + length
      guard end <= bytes.count else { break }
      // The name is padded with zeros.
      let name = bytes[(offset + headSize)..<end].prefix { $0 != 0 }
      records.append(
        InotifyRecord(
          watch: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self),
          mask: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self),
          name: String(decoding: name, as: UTF8.self)))
      offset = end
    }
    return records
  }
}
