import GRDB
import PageTesting
import TestSupport

@testable import HTTPCache

extension ResponseIndex {
  /// Moves everything from the log into the database.
  func checkpoint() throws {
    try write(isChange: false) { _ in }
    try withPool { _ = try $0.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
  }
}

extension ResponseFixture {
  /// A fixture on a copy of the folder that nobody has open.
  func closedCopy() throws -> ResponseFixture {
    try disk.index.checkpoint()
    let copy = try ResponseFixture(.memory)
    for name in ["cache", "durable"] { try Damage.copy(folder.file(name), to: copy.folder.file(name)) }
    return copy
  }
}
