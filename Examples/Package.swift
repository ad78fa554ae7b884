// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "PageKitExamples",
  dependencies: [.package(name: "PageKit", path: "..")],
  targets: [
    .executableTarget(
      name: "preload", dependencies: [.product(name: "PageKit", package: "PageKit")], path: "Preload"),
    .executableTarget(
      name: "custom-handlers",
      dependencies: [
        .product(name: "PageKit", package: "PageKit"),
        .product(name: "PageTesting", package: "PageKit"),
      ],
      path: "CustomHandlers", exclude: ["README.md"]),
    .executableTarget(
      name: "kiosk", dependencies: [.product(name: "PageKit", package: "PageKit")], path: "Kiosk",
      exclude: ["README.md"]),
  ]
)
