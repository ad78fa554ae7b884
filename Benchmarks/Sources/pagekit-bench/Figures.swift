import Foundation

enum Figures {
  static func time(_ seconds: Double) -> String {
    switch seconds {
    case ..<0.001: String(format: "%.1f µs", seconds * 1e6)
    case ..<1: String(format: "%.1f ms", seconds * 1e3)
    default: String(format: "%.2f s", seconds)
    }
  }

  static func ratio(_ value: Double) -> String { String(format: value < 0.1 ? "%.3f" : "%.2f", value) }
}
