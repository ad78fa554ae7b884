import Foundation
import GRDB
import HTTPTransport

extension MD5Digest: DatabaseValueConvertible {}
extension SHA256Digest: DatabaseValueConvertible {}

extension FixedSizeDigest where Self: DatabaseValueConvertible {
  public var databaseValue: DatabaseValue { Data(bytes).databaseValue }

  public static func fromDatabaseValue(_ value: DatabaseValue) -> Self? {
    Data.fromDatabaseValue(value).flatMap { Self(bytes: $0) }
  }
}
