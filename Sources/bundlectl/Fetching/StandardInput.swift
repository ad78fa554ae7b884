import Foundation

/// The lines of standard input, read on demand.
enum StandardInput {
  /// Reading blocks, and therefore has a thread of its own.
  private static let queue = DispatchQueue(label: "bundlectl.stdin")

  static func nextLine() async -> String? {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: readLine(strippingNewline: true)) }
    }
  }
}
