// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "PreloadExample",
  dependencies: [.package(name: "PageKit", path: "../..")],
  targets: [.executableTarget(name: "preload", dependencies: [.product(name: "PageKit", package: "PageKit")])]
)
