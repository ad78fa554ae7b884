import ArgumentParser
import Blobs
import Foundation
import HTTPTypes
import PageKit
import Releases

/// The manifest, and the options of transfers.
struct SourceOptions: ParsableArguments {
  @Option(
    name: .long, help: ArgumentHelp("The manifest: an http or https URL, or a file.", valueName: "url|file"),
    completion: .file(extensions: ["json"]))
  var manifest: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A header field for the manifest and its bundles, as 'Authorization: …'. Repeatable.",
      discussion: "Sent to the manifest's origin only, never to another, and never logged.", valueName: "field"))
  var header: [String] = []

  @Option(
    name: .long, help: ArgumentHelp("PEM file of the certificate authorities to trust.", valueName: "file"),
    completion: .file())
  var caFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The root whose keys must have signed the manifest.",
      discussion: "Nothing is stored or run that they have not signed.", valueName: "file"),
    completion: .file(extensions: ["json"]))
  var root: String?

  @Option(
    name: .long,
    help: ArgumentHelp("With --root: the longest time since the manifest was signed, such as 7d.", valueName: "time"))
  var freshFor: TimeArgument?

  mutating func validate() throws {
    _ = try fields()
    if freshFor != nil, root == nil { throw ValidationError("--fresh-for needs --root.") }
    if let manifest, manifest.contains("://"), PageURL(manifest) == nil {
      throw ValidationError(PageURL.fault(inArgument: manifest, field: "The manifest's URL"))
    }
    if let caFile, !FileManager.default.isReadableFile(atPath: caFile) {
      throw ValidationError("The CA file \(caFile) cannot be read.")
    }
  }

  func fields() throws -> HTTPFields { try Self.fields(header) }

  /// Header fields in the form `Name: value`.
  static func fields(_ header: [String]) throws -> HTTPFields {
    var fields = HTTPFields()
    for text in header {
      // The message does not contain the value, which may be a secret.
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let name = HTTPField.Name(parts[0].trimmingCharacters(in: .whitespaces)) else {
        throw ValidationError("A --header is not a header field: write it as 'Name: value'.")
      }
      let value = parts[1].trimmingCharacters(in: .whitespaces)
      guard HTTPField.isValidValue(value) else {
        throw ValidationError("The value of --header '\(name): …' has characters that a header field must not contain.")
      }
      fields.append(HTTPField(name: name, value: value))
    }
    return fields
  }

  /// The manifest of `--manifest`, or the one in the current folder, or else the only one whose releases are stored.
  func manifestToPreload(into store: StoreOptions) async throws -> PageURL {
    if let manifest { return try PageURL(manifestArgument: manifest) }
    guard !FileManager.default.fileExists(atPath: "manifest.json") else {
      return try PageURL(manifestArgument: "manifest.json")
    }
    guard let opened = try? store.reading(), try await !opened.sources().isEmpty else {
      throw ValidationError("There is no manifest.json here: name one with --manifest URL|FILE.")
    }
    return try await StoredSource.chosen(nil, in: opened).url
  }

  /// - Parameter manifest: `nil` for a host without one.
  func configuration(_ store: StoreOptions, manifest: PageURL?) throws -> HostConfiguration {
    var configuration = HostConfiguration(store: store.directory)
    configuration.manifest = manifest
    configuration.network.fields = try fields()
    configuration.network.certificateAuthorities = caFile
    if let root {
      configuration.releases.trust = ReleaseTrust(try TrustRoot(file: root), freshFor: freshFor?.duration)
    }
    configuration.logger = store.logger
    configuration.releases.decides = false
    return configuration
  }
}

extension PageURL {
  /// The reason why a URL argument cannot be used.
  static func fault(inArgument text: String, field: String) -> String {
    URLComponents(string: text)?.user != nil
      ? "\(field) has credentials in it: give them with --header 'Authorization: …'."
      : "\(text.quotedForMessage) is not an http, https or file URL."
  }
}

extension PageHost {
  /// Creates a host for one piece of work, and shuts it down before it returns or throws.
  static func using<Result: Sendable>(
    _ configuration: HostConfiguration, transport: (any HTTPTransporting)? = nil,
    _ body: (PageHost) async throws -> Result
  ) async throws -> Result {
    try AddressSpace.check()
    let host = try PageHost(configuration, transport: transport)
    if let reason = host.store.readOnlyReason {
      configuration.storage.directory.warnReadOnly(
        reason, unreadable: ResponseDirectory(beside: configuration.storage.directory).unreadable)
    }
    do {
      let result = try await body(host)
      await host.shutDown()
      return result
    } catch {
      await host.shutDown()
      throw error
    }
  }
}

extension CurlTransport {
  /// Creates a transport for one piece of work, and shuts it down before it returns or throws.
  static func using<Result: Sendable>(
    _ configuration: Configuration, _ body: (CurlTransport) async throws -> Result
  ) async throws -> Result {
    try AddressSpace.check()
    let transport = try CurlTransport(configuration)
    do {
      let result = try await body(transport)
      await transport.shutDown()
      return result
    } catch {
      await transport.shutDown()
      throw error
    }
  }
}

extension StoredSource {
  /// The named source of a store, or its only one.
  static func chosen(_ manifest: String?, in store: BundleStore) async throws -> StoredSource {
    if let manifest {
      let url = try PageURL(manifestArgument: manifest)
      guard let source = try await store.source(url) else {
        throw DescribedError(
          "the store \(store.directory.path) has no release of \(url.readable): run \"bundlectl preload --manifest \(manifest)\" first"
        )
      }
      return source
    }
    let sources = try await store.sources()
    guard let only = sources.first else {
      throw DescribedError("the store \(store.directory.path) is empty: run \"bundlectl preload\" first")
    }
    guard sources.count == 1 else {
      let list = sources.map { "  " + $0.url.readable }.joined(separator: "\n")
      throw ValidationError("The store has several sources: name one with --manifest.\n\(list)")
    }
    return only
  }
}

extension AddressSpace {
  /// The minimum for a command that fetches nothing, in bytes.
  static let leastToRun = 256 << 20

  /// - Throws: ``DescribedError`` if the limit is too low for a command that fetches something.
  static func check() throws {
    if let problem = problem() { throw DescribedError(problem) }
  }
}
