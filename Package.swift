// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// A test may use what the module it tests uses without naming it again. Tests themselves are not optimised, only what
// they test: each line of theirs runs once.
let relaxed: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"), .unsafeFlags(["-Onone"], .when(configuration: .release)),
]

// What only the two programs need. An app that depends on the package with `traits: []` neither fetches nor builds it.
let tools: TargetDependencyCondition? = .when(traits: ["Tools"])

// What reads input from outside, for the readers of `make fuzz` and their tests.
let readers: [Target.Dependency] = [
  "Bundles", "HTTPCache", "HTTPCaching", "HTTPTransport", "PageRuntime", "PageWorkers", "ServerKit", "Releases",
  .product(name: "HTTPTypes", package: "swift-http-types"),
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOEmbedded", package: "swift-nio"),
  .product(name: "NIOHTTP1", package: "swift-nio"),
]

let package = Package(
  name: "PageKit",
  products: [
    .library(name: "PageKit", targets: ["PageKit"]),
    .library(name: "HTTPCache", targets: ["HTTPCache", "HTTPCaching", "HTTPTransport", "CurlTransport"]),
    .library(name: "HTTPCacheFoundation", targets: ["HTTPCacheFoundation"]),
    .library(name: "HTTPCaching", targets: ["HTTPCaching"]),
    .library(name: "PageTesting", targets: ["PageTesting"]),
    .executable(name: "bundlectl", targets: ["bundlectl"]),
    .executable(name: "renderhost", targets: ["RenderHostCommand"]),
  ],
  traits: [
    .default(enabledTraits: ["Tools"]),
    .trait(name: "Tools", description: "The programs bundlectl and renderhost, with the HTTP server."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.30.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // C libraries: a module map and a shim of what Swift cannot call directly.
    .systemLibrary(name: "CCrypto", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CLinux"),
    // SQLite's own functions, and reads that do not wait.
    .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
    // Loads libcurl when the first request goes out, and is built with its headers.
    .target(name: "CCurl"),
    // Loads JavaScriptCore when the first script is to run, and so is not linked with it.
    .target(name: "CJavaScriptCore"),
    // Loads libnats when the first connection is made, and is built without it.
    .target(name: "CNATS"),
    // Loads cairo and Pango when the first page is drawn, and is built without them; so too the decoders of pictures.
    .target(name: "CCairo"),

    // Generic types. They are public so that the compiler specialises them for the modules that use them, and belong to
    // no product.
    .target(name: "Containers", swiftSettings: strict),
    // CSS flexbox as Weex has it: a tree of elements in, boxes out.
    .target(name: "PageLayout", swiftSettings: strict),
    .target(
      name: "HTTPCaching",
      dependencies: [
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
      ],
      swiftSettings: strict),
    .target(
      name: "HTTPTransport",
      dependencies: [
        "HTTPCaching", "CCrypto", "CZlib", "CBrotli", "CZstd",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
      ],
      swiftSettings: strict),
    .target(
      name: "CurlTransport",
      dependencies: [
        "HTTPTransport", "CCurl", "CLinux",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict),
    .target(
      name: "Blobs",
      dependencies: [
        "HTTPTransport", "CLinux",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    // What a release is and says, who trusts it, and how one is built and signed. The store of releases is in Bundles.
    .target(name: "Releases", dependencies: ["HTTPTransport", "CCrypto"], swiftSettings: strict),
    .target(
      name: "HTTPCache",
      dependencies: [
        "Containers", "HTTPCaching", "HTTPTransport", "Blobs", "CLinux", "CSQLite",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    // Requests of Foundation's, apart since they bring FoundationNetworking to whoever links them.
    .target(
      name: "HTTPCacheFoundation",
      dependencies: ["HTTPCache", .product(name: "HTTPTypes", package: "swift-http-types")],
      swiftSettings: strict),
    .target(
      name: "Bundles",
      dependencies: [
        "Containers", "HTTPCaching", "HTTPTransport", "Blobs", "CSQLite", "Releases",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    .target(
      name: "Publishing",
      dependencies: [
        "HTTPCaching", "HTTPTransport", "Releases",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict),
    // The hosts of a fleet, and the journal of their orders.
    .target(
      name: "Fleet",
      dependencies: [
        "CNATS", "HTTPCaching", "HTTPTransport",
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .target(name: "ScriptEngine", dependencies: ["CJavaScriptCore"], swiftSettings: strict),
    // Measures texts, and draws pages. What it draws with is loaded when the first page is drawn.
    .target(
      name: "PagePictures", dependencies: ["Containers", "PageLayout", "CCairo", "CLinux", "CZlib"],
      swiftSettings: strict),
    .target(
      name: "NIOConnecting",
      dependencies: [
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .target(
      name: "PageRuntime",
      dependencies: [
        "Bundles", "CCrypto", "CCurl", "HTTPCache", "HTTPCaching", "HTTPTransport", "NIOConnecting", "PageLayout",
        "PagePictures", "Releases", "ScriptEngine",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ],
      resources: [
        .embedInCode("Framework/nodes.js"), .embedInCode("Framework/elements.js"),
        .embedInCode("Framework/changes.js"), .embedInCode("Framework/commands.js"),
        .embedInCode("Framework/documents.js"), .embedInCode("Framework/globals.js"),
        .embedInCode("Framework/tasks.js"), .embedInCode("Framework/pages.js"), .embedInCode("Framework/sealing.js"),
      ],
      swiftSettings: strict),
    .target(
      name: "PageKit",
      dependencies: [
        "Bundles", "CurlTransport", "Blobs", "HTTPCache", "HTTPCaching", "HTTPTransport", "PageLayout", "PagePictures",
        "PageRuntime", "ScriptEngine", "Releases", "CCrypto",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    // Pages that are used in browsers: their documents, patches and viewers.
    .target(
      name: "LivePages", dependencies: ["HTTPTransport", "PageRuntime", "ScriptEngine"],
      resources: [.embedInCode("live.js"), .embedInCode("live.css")], swiftSettings: strict),
    .target(
      name: "PageTesting",
      dependencies: [
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .target(
      name: "PageWorkers",
      dependencies: [
        "Blobs", "Bundles", "HTTPTransport", "LivePages", "PageKit", "PagePictures", "PageRuntime", "Releases",
        "CBrotli", "CLinux",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: tools),
      ],
      swiftSettings: strict),
    .target(
      name: "ServerKit",
      dependencies: [
        "Containers", "Blobs", "HTTPCaching", "HTTPTransport", "CCrypto", "CLinux",
        .target(name: "CNghttp2", condition: tools),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird", condition: tools),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics", condition: tools),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: tools),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: tools),
        .product(name: "NIOTLS", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: tools),
        .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: tools),
      ],
      swiftSettings: strict),
    // Lets a browser's developer tools attach to a page.
    .target(
      name: "PageInspector",
      dependencies: [
        "HTTPTransport", "PageRuntime", "ScriptEngine",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .target(
      name: "CacheGateway",
      dependencies: [
        "CurlTransport", "Blobs", "HTTPCache", "HTTPCaching", "HTTPTransport", "NIOConnecting", "ServerKit",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird", condition: tools),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics", condition: tools),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: tools),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: tools),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: tools),
      ],
      swiftSettings: strict),
    .target(
      name: "RenderHost",
      dependencies: [
        "CacheGateway", "Containers", "Fleet", "LivePages", "ServerKit", "PageInspector", "PageKit", "PageWorkers",
        "CLinux", "CZlib", "CZstd", "CCrypto",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: tools),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "Hummingbird", package: "hummingbird", condition: tools),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics", condition: tools),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: tools),
      ],
      resources: [
        .embedInCode("Dashboard/dashboard.html"), .embedInCode("Dashboard/dashboard.css"),
        .embedInCode("Dashboard/dashboard.js"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "RenderHostCommand", dependencies: ["RenderHost"], swiftSettings: strict, plugins: ["BuildCommit"]),
    .executableTarget(
      name: "bundlectl",
      dependencies: [
        "Blobs", "CurlTransport", "Fleet", "PageKit", "PageWorkers", "Publishing", "Releases", "RenderHost",
        "ServerKit", "CLinux",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: tools),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: tools),
      ],
      swiftSettings: strict, plugins: ["BuildCommit"]),
    // The commit, for --version.
    .plugin(name: "BuildCommit", capability: .buildTool()),

    .testTarget(name: "ScriptEngineTests", dependencies: ["ScriptEngine"], swiftSettings: relaxed),
    .testTarget(
      name: "PagePicturesTests", dependencies: ["PageLayout", "PagePictures", "CCairo"], swiftSettings: relaxed),
    .testTarget(
      name: "PageRuntimeTests",
      dependencies: [
        "PageRuntime", "CCrypto", "CCurl", "CurlTransport", "NIOConnecting", "PageLayout", "PagePictures",
        "PageTesting", "TestServers", "TestSupport",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ],
      exclude: ["Fixtures"], swiftSettings: relaxed),
    .testTarget(
      name: "PageInspectorTests",
      dependencies: ["PageInspector", "PageRuntime", .product(name: "NIOCore", package: "swift-nio")],
      swiftSettings: relaxed),
    .testTarget(
      name: "PageKitTests", dependencies: ["PageKit", "PageTesting", "TestServers", "TestSupport"],
      swiftSettings: relaxed),
    .testTarget(
      name: "LivePagesTests", dependencies: ["LivePages", "PageKit", "PageRuntime", "PageTesting", "TestSupport"],
      swiftSettings: relaxed),
    // The Swift code in the README and the articles, and their links.
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "CurlTransport", "HTTPCache", "HTTPCacheFoundation", "HTTPCaching", "PageKit", "PageLayout", "PageRuntime",
        "PageTesting",
      ],
      swiftSettings: relaxed),
    .testTarget(
      name: "ReleasesTests", dependencies: ["Releases", "PageTesting", "TestSupport"], swiftSettings: relaxed),
    .testTarget(
      name: "PublishingTests",
      dependencies: ["Publishing", "CurlTransport", "PageTesting", "Releases", "TestSupport"],
      swiftSettings: relaxed),
    .testTarget(
      name: "FleetTests",
      dependencies: [
        "Fleet", "HTTPCaching", "HTTPTransport", "PageTesting", "TestServers", "TestSupport", "RenderHostCommand",
        "bundlectl",
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: relaxed),
    .testTarget(name: "ContainersTests", dependencies: ["Containers"], swiftSettings: relaxed),
    .testTarget(name: "PageLayoutTests", dependencies: ["PageLayout"], swiftSettings: relaxed),
    // Lays out what scripts/layout-suite reads from public tests, and pages for scripts/compare-layout.
    .executableTarget(
      name: "LayoutTool", dependencies: ["PageLayout", "PagePictures"], path: "Tests/LayoutTool",
      swiftSettings: relaxed),
    .testTarget(name: "HTTPCachingTests", dependencies: ["HTTPCaching", "PageTesting"], swiftSettings: relaxed),
    .testTarget(
      name: "PageWorkersTests",
      dependencies: [
        "PageWorkers", "PageKit", "CLinux",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ], swiftSettings: relaxed),
    .testTarget(
      name: "RenderHostTests",
      dependencies: [
        "LivePages", "RenderHost", "PageWorkers", "PageTesting", "Publishing", "TestServers", "TestSupport",
        "RenderHostCommand",
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ], swiftSettings: relaxed),
    .testTarget(
      name: "AttackTests",
      dependencies: [
        "CurlTransport", "HTTPTransport", "PageTesting", "Publishing", "RenderHostCommand", "Releases",
        "TestServers", "TestSupport", "bundlectl",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: relaxed),
    // Files, clocks, damage and programs that several test targets need.
    .target(
      name: "TestSupport",
      dependencies: [
        "CCairo", "CLinux", "Fleet", "HTTPCaching", "HTTPTransport", "PagePictures", "PageTesting",
        .product(name: "Logging", package: "swift-log"),
      ], path: "Tests/TestSupport",
      swiftSettings: relaxed),
    .testTarget(
      name: "HTTPTransportTests", dependencies: ["HTTPTransport", "PageTesting", "TestSupport", "CCrypto"],
      swiftSettings: relaxed),
    // Real servers that several test targets start.
    .target(
      name: "TestServers",
      dependencies: [
        "CurlTransport", "PageTesting", "TestSupport",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: tools),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ],
      path: "Tests/TestServers", swiftSettings: relaxed),
    .testTarget(
      name: "CurlTransportTests", dependencies: ["CurlTransport", "CCurl", "PageTesting", "TestServers"],
      swiftSettings: relaxed),
    .testTarget(
      name: "HTTPCacheTests",
      dependencies: [
        "CSQLite", "HTTPCache", "HTTPCacheFoundation", "Bundles", "CurlTransport", "PageTesting", "TestSupport",
        "ResponseWriterTool",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: relaxed),
    // A process of its own, to be killed while it stores responses.
    .executableTarget(
      name: "ResponseWriterTool",
      dependencies: [
        "HTTPCache", "HTTPCaching", "HTTPTransport", "PageTesting",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      path: "Tests/ResponseWriterTool", swiftSettings: relaxed),
    .testTarget(
      name: "BundlesTests",
      dependencies: [
        "Bundles", "HTTPCache", "CurlTransport", "PageTesting", "TestSupport", "PageOpenerTool",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: relaxed),
    // A process of its own, to be killed while it preloads releases and opens pages.
    .executableTarget(
      name: "PageOpenerTool",
      dependencies: [
        "Bundles", "CKillPoints", "CurlTransport", "HTTPCache", "HTTPTransport",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/PageOpenerTool", swiftSettings: relaxed),
    // Ends that process after a change of a file.
    .target(name: "CKillPoints", path: "Tests/CKillPoints"),
    // What `make perf-check` counts the instructions of.
    .executableTarget(
      name: "Operations",
      dependencies: [
        "Bundles", "HTTPCache", "HTTPCaching", "HTTPTransport", "PageKit", "PageLayout", "PageRuntime", "ServerKit",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      path: "Benchmarks/Operations", exclude: ["thresholds.json"], swiftSettings: relaxed),
    .testTarget(
      name: "PageTestingTests",
      dependencies: [
        "PageTesting",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ], swiftSettings: relaxed),
    // The readers of `make fuzz`, with the inputs that they begin with.
    .testTarget(
      name: "FuzzingTests", dependencies: readers,
      path: "Tests/Fuzzing", exclude: ["PageKit", "main.swift", "frames.jsonl"], swiftSettings: relaxed),
    .testTarget(
      name: "bundlectlTests",
      dependencies: [
        "bundlectl", "PageKit", "PageWorkers", "PageTesting", "TestServers", "TestSupport",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
      ],
      exclude: ["Fixtures"], swiftSettings: relaxed),
  ]
)

// `make fuzz` builds what reads input from outside, with the counters that libFuzzer goes by, and little else: all of the
// daemon would take a quarter of an hour. Of its modules, the files that read are compiled.
if Context.environment["PAGEKIT_FUZZ"] != nil {
  let counted = strict + [.unsafeFlags(["-Xfrontend", "-sanitize=fuzzer"])]
  let wholeModules = package.targets.filter {
    [
      "CCairo", "CCrypto", "CCurl", "CJavaScriptCore", "CZlib", "CBrotli", "CZstd", "CLinux", "Containers",
      "HTTPCaching", "HTTPTransport", "Blobs", "NIOConnecting", "PageLayout", "PagePictures", "Releases", "CSQLite",
      "HTTPCache", "Bundles", "ScriptEngine", "PageRuntime",
    ].contains($0.name)
  }
  for target in wholeModules where target.type == .regular { target.swiftSettings = counted }
  package.products = []
  package.targets =
    wholeModules + [
      // In the place of the module that has all of these and more.
      .target(
        name: "PageKit",
        dependencies: [
          "Bundles", "HTTPCache", "HTTPCaching", "HTTPTransport", "PageRuntime", "Releases", "ScriptEngine",
        ],
        path: "Tests/Fuzzing/PageKit", swiftSettings: counted),
      .target(
        name: "PageWorkers",
        dependencies: ["HTTPTransport", "PageKit", .product(name: "NIOCore", package: "swift-nio")],
        sources: [
          "Pool/BarredBundles.swift", "Pool/WorkerStatus.swift", "Protocol/PageQuestion.swift",
          "Protocol/WorkerMessages.swift",
        ], swiftSettings: counted),
      .target(
        name: "ServerKit",
        dependencies: [
          "HTTPTransport",
          .product(name: "DequeModule", package: "swift-collections"),
          .product(name: "HTTPTypes", package: "swift-http-types"),
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ],
        sources: [
          "Connections/BytePipe.swift", "Connections/RequestBytesHandler.swift",
          "Connections/RequestHeadHandler.swift",
        ], swiftSettings: counted),
      .executableTarget(
        name: "Fuzzing", dependencies: readers,
        path: "Tests/Fuzzing", exclude: ["PageKit", "FuzzerTests.swift", "frames.jsonl"], swiftSettings: relaxed),
    ]
}
