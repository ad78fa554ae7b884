// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "PageKit", path: ".."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    .executableTarget(
      name: "pagekit-bench",
      dependencies: [
        .product(name: "PageKit", package: "PageKit"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ])
  ]
)
