// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "CustomHandlersExample",
  dependencies: [.package(name: "PageKit", path: "../..")],
  targets: [
    .executableTarget(
      name: "custom-handlers",
      dependencies: [
        .product(name: "PageKit", package: "PageKit"),
        .product(name: "PageTesting", package: "PageKit"),
      ])
  ]
)
