import Foundation
import HTTPCaching

extension HTTPDate {
  /// The system's time, for code that acts; code that decides gets the time as an argument.
  public static var now: HTTPDate { HTTPDate(secondsSinceEpoch: Int64(Date().timeIntervalSince1970)) }
}
