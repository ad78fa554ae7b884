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
      ("RenderHost/Pages/PageRecord.swift", HostMetrics.pageDescriptions),
      ("CacheGateway/GatewayReport.swift", HostMetrics.gatewayDescriptions),
    ]
    for (path, descriptions) in parts {
      let text = try String(contentsOf: root.appendingPathComponent("Sources/\(path)"), encoding: .utf8)
      let names = text.matches(of: /(?:label: |counter\()"(renderhost_[a-z_]+)"/).map { String($0.1) }
      #expect(names.count >= 5, "\(path)")
      for name in names { #expect(descriptions[name] != nil, "\(name) of \(path)") }
    }
  }

  private static let deploy = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../deploy")
    .standardizedFileURL

  @Test(
    "alerts and boards name only metrics that there are",
    arguments: ["prometheus/renderhost.rules.yml", "prometheus/renderhost.test.yml", "grafana/renderhost.json"])
  func namedMetrics(_ path: String) throws {
    let parts = [
      HostMetrics.descriptions, HostMetrics.pageDescriptions, HostMetrics.gatewayDescriptions,
      HostMetrics.fleetDescriptions,
    ]
    let known = Set(parts.flatMap(\.keys))
    let text = try String(contentsOf: Self.deploy.appendingPathComponent(path), encoding: .utf8)
    let named = Set(text.matches(of: /\b(?:renderhost|process)_[a-z_]+\b/).map { String($0.0) })
    #expect(named.count > 5)
    for name in named {
      let base = name.replacing(/_(?:total|bucket|sum|count)$/, with: "")
      #expect(known.contains(base), "\(name) of \(path)")
    }
  }

  @Test(
    "Prometheus takes the rules, and they warn of what they are for",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool"), "promtool is not installed"))
  func rules() async throws {
    let folder = Self.deploy.appendingPathComponent("prometheus").path
    let checked = try await Tool.run("promtool", "check", "rules", "\(folder)/renderhost.rules.yml")
    #expect(checked.status == 0, "\(checked.output)\(checked.error)")
    let tested = try await Tool.run("promtool", "test", "rules", "\(folder)/renderhost.test.yml")
    #expect(tested.status == 0, "\(tested.output)\(tested.error)")
  }
}
