import Signing

/// The keys whose signatures a host asks for, as a root lists them.
///
/// The root that the app has is the beginning: the host follows it to the newest one that is published beside the
/// manifest, each of which enough keys of the one before have signed.
public struct ReleaseTrust: Hashable, Sendable {
  package let root: TrustRoot
  /// The longest time since a manifest was signed, or the status beside it if the root has the role `online`; `nil` if
  /// only the end counts that they give themselves. A server that hides newer releases is found out after this time.
  public var freshFor: Duration?
  /// `false` for a release that comes without its server, whose status would be over.
  package var needsStatus = true

  /// - Parameters:
  ///   - root: the bytes of a root, as `bundlectl root new` writes them.
  ///   - freshFor: the longest time since a manifest or its status was signed.
  /// - Throws: an error with the reason if the bytes are no root.
  public init(root: [UInt8], freshFor: Duration? = nil) throws {
    self.init(try TrustRoot(reading: root), freshFor: freshFor)
  }

  package init(_ root: TrustRoot, freshFor: Duration? = nil) { (self.root, self.freshFor) = (root, freshFor) }

  /// The same for a release that comes without its server.
  package var withoutStatus: ReleaseTrust {
    var trust = self
    trust.needsStatus = false
    return trust
  }
}
