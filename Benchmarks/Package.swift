// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "PageKit", path: ".."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
  ],
  targets: [
    .systemLibrary(name: "CSystemJavaScriptCore", pkgConfig: "javascriptcoregtk-4.1"),
    // The peer of the pages: the script engine without PageKit.
    .executableTarget(name: "bare-engine", dependencies: ["CSystemJavaScriptCore"]),
    // The peer of the daemon: the HTTP server and client that it is built on, with nothing between.
    .executableTarget(
      name: "bare-server",
      dependencies: [
        .product(name: "HTTPCache", package: "PageKit"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]),
    .executableTarget(
      name: "pagekit-bench",
      dependencies: [
        .product(name: "PageKit", package: "PageKit"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
  ]
)
