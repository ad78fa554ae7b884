// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "PageKit", path: ".."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    .systemLibrary(name: "CSystemJavaScriptCore", pkgConfig: "javascriptcoregtk-4.1"),
    // The peer of the pages: the script engine without PageKit.
    .executableTarget(name: "bare-engine", dependencies: ["CSystemJavaScriptCore"]),
    .executableTarget(
      name: "pagekit-bench",
      dependencies: [
        .product(name: "PageKit", package: "PageKit"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
  ]
)
