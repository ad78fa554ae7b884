import Bundles
import Foundation
import HTTPTransport
import Releases

/// Manifests of every dialect, and the files that have a release's name.
enum ManifestFuzzer: Fuzzer {
  static let name = "manifests"
  static let seeds = [
    """
    {"schema":1,"release":"r1","sequence":7,"base":"bundles/","bundles":[{"name":"home","path":"home.js","size":5213,
    "md5":"900150983cd24fb0d6963f7d28e17f72","sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "preload":"idle","prefetch":["https://a.example/x"],"more":[1]}],"files":[{"path":"a.png",
    "md5":"900150983cd24fb0d6963f7d28e17f72"}],"identity":{"parameters":["id"]},"x":{"y":1}}
    """,
    #"{"filesMd5":[{"page":"/a.js","md5":"900150983cd24fb0d6963f7d28e17f72"}],"jsVersion":"3","jsPath":"p"}"#,
    #"[{"path":"a.js","md5":"900150983cd24fb0d6963f7d28e17f72"},{"path":"b.png","md5":"0"}]"#,
    #"{"release":"r2"}"#, #"{"schema":2,"bundles":[]}"#, "[]", "{}",
    #"{"schema":1,"release":"r","bundles":[{"path":"../a.js","md5":"900150983cd24fb0d6963f7d28e17f72"}]}"#,
  ].map { Array($0.utf8) }

  private static let limits = ManifestLimits(manifestBytes: 4000, entries: 20, fileBytes: 10_000, releaseBytes: 50_000)

  static func read(_ bytes: [UInt8]) {
    takeName(bytes)
    let manifest: Manifest
    do {
      manifest = try Manifest(reading: bytes, limits: limits)
    } catch {
      hold(!"\(error)".isEmpty, "a refusal says why")
      return
    }
    let entries = manifest.bundles + manifest.files
    hold(entries.count <= limits.entries, "no more entries than the limit")
    hold(entries.allSatisfy { ($0.size ?? 0) <= limits.fileBytes }, "no file is longer than the limit")
    hold(entries.allSatisfy { !$0.path.split(separator: "/").contains("..") }, "no path leads out of the folder")
    guard let text = try? JSONEncoder().encode(manifest) else { return hold(false, "it can be written") }
    do {
      var again = try Manifest(reading: Array(text), limits: ManifestLimits())
      again.dialect = manifest.dialect
      hold(rounded(again) == rounded(manifest), "what was written reads the same: \(manifest) \(again)")
    } catch {
      hold(false, "what was written reads: \(error)")
    }
  }

  private static func rounded(_ manifest: Manifest) -> Manifest {
    func rounded(_ entry: Manifest.Entry) -> Manifest.Entry {
      var entry = entry
      entry.additional = entry.additional.mapValues(\.rounded)
      return entry
    }
    var manifest = manifest
    manifest.additional = manifest.additional.mapValues(\.rounded)
    (manifest.bundles, manifest.files) = (manifest.bundles.map(rounded), manifest.files.map(rounded))
    return manifest
  }

  private static func takeName(_ bytes: [UInt8]) {
    let before = Manifest(release: "before", bundles: [])
    var manifest = before
    if manifest.setName(from: bytes) {
      hold(!manifest.release.isEmpty, "a name has letters")
    } else {
      hold(manifest == before, "a name that is refused changes nothing")
    }
  }
}
