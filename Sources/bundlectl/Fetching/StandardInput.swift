import Foundation

/// The lines of standard input, read when they are asked for.
enum StandardInput {
  /// Reading blocks: not on a thread that others need.
  private static let queue = DispatchQueue(label: "bundlectl.stdin")

  static func nextLine() async -> String? {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: readLine(strippingNewline: true)) }
    }
  }
}
