import Foundation
import Testing

@testable import CacheGateway
@testable import RenderHost
@testable import ServerKit

/// Without a help text, a metric is described only by its name.
struct MetricHelpTests {
  @Test("every metric has a help text of its own")
  func helpTexts() throws {
    let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardizedFileURL
    let parts = [
      ("ServerKit/Metrics/HostMetrics.swift", HostMetrics.descriptions),
      ("RenderHost/Pages/HostMetrics+Pages.swift", HostMetrics.pageDescriptions),
      ("CacheGateway/HostMetrics+Gateway.swift", HostMetrics.gatewayDescriptions),
    ]
    for (path, descriptions) in parts {
      let text = try String(contentsOf: root.appendingPathComponent("Sources/\(path)"), encoding: .utf8)
      let names = text.matches(of: /(?:label: |counter\()"(renderhost_[a-z_]+)"/).map { String($0.1) }
      #expect(names.count >= 5, "\(path)")
      for name in names { #expect(descriptions[name] != nil, "\(name) of \(path)") }
    }
  }
}
