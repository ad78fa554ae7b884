// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "PageKit", path: "..")],
  targets: [
    .executableTarget(name: "pagekit-bench", dependencies: [.product(name: "PageKit", package: "PageKit")])
  ]
)
