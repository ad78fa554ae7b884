import Foundation
import GRDB
import HTTPTransport

extension MD5Digest: DatabaseValueConvertible {}
extension SHA256Digest: DatabaseValueConvertible {}

extension FixedSizeDigest where Self: DatabaseValueConvertible {
  /// The digest's bytes as a blob of the database.
  public var databaseValue: DatabaseValue { Data(bytes).databaseValue }

  /// Reads a digest from a blob of the database; `nil` for any other value.
  public static func fromDatabaseValue(_ value: DatabaseValue) -> Self? {
    Data.fromDatabaseValue(value).flatMap { Self(bytes: $0) }
  }
}
