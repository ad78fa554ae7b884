import Foundation
import HTTPCaching

extension HTTPDate {
  /// The system's time. Called where things are done, never where they are decided.
  public static var now: HTTPDate { HTTPDate(secondsSinceEpoch: Int64(Date().timeIntervalSince1970)) }
}
