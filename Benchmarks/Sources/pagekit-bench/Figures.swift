import Foundation

enum Figures {
  static func time(_ seconds: Double) -> String {
    switch seconds {
    case ..<0.001: String(format: "%.1f µs", seconds * 1e6)
    case ..<1: String(format: "%.1f ms", seconds * 1e3)
    default: String(format: "%.2f s", seconds)
    }
  }

  static func bytes(_ bytes: Double) -> String {
    bytes < 1e6 ? String(format: "%.1f KiB", bytes / 1024) : String(format: "%.1f MiB", bytes / 1024 / 1024)
  }

  static func ratio(_ value: Double) -> String { String(format: value < 0.1 ? "%.3f" : "%.2f", value) }
}
