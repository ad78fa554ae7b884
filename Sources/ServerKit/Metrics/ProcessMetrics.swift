import CoreMetrics
import Foundation

/// Metrics of this process from the kernel, under the names that Prometheus' clients use.
struct ProcessMetrics: Sendable {
  private let registry: MetricRegistry

  init(_ registry: MetricRegistry) { self.registry = registry }

  func update() {
    #if os(Linux)
      // proc(5): after the name in parentheses come the state (3rd field) and the rest.
      guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
        let close = stat.lastIndex(of: ")")
      else { return }
      let fields = stat[close...].split(separator: " ").map(String.init)
      let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
      func field(_ number: Int) -> Double? { fields.indices.contains(number - 2) ? Double(fields[number - 2]) : nil }
      if let user = field(14), let system = field(15) {
        registry.total("process_cpu_seconds").set((user + system) / ticks)
      }
      if let pages = field(24) { gauge("process_resident_memory_bytes", pages * Double(sysconf(Int32(_SC_PAGESIZE)))) }
      if let start = field(22), let boot = bootTime { gauge("process_start_time_seconds", boot + start / ticks) }
      if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
        gauge("process_open_fds", Double(open.count))
      }
    #endif
  }

  private var bootTime: Double? {
    let stat = try? String(contentsOfFile: "/proc/stat", encoding: .utf8)
    let line = stat?.split(separator: "\n").first { $0.hasPrefix("btime ") }
    return line.flatMap { Double($0.dropFirst(6)) }
  }

  private func gauge(_ name: String, _ value: Double) {
    registry.makeMeter(label: name, dimensions: []).set(value)
  }
}
