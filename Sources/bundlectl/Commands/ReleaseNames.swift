import PageKit

/// Unique names of a source's releases, since a server may publish other bytes under a former name.
struct ReleaseNames {
  private let repeated: Set<String>

  init(_ releases: [StoredRelease]) {
    repeated = Set(Dictionary(grouping: releases, by: \.name).filter { $0.value.count > 1 }.keys)
  }

  /// The release's name; if others have it too, with the beginning of the manifest's SHA-256.
  func unique(_ release: StoredRelease) -> String {
    repeated.contains(release.name) ? "\(release.name)@\(release.digest.hex.prefix(8))" : release.name
  }
}
