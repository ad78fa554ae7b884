import HTTPTransport

/// The result of a look at all files of a complete release, and its time. While the folders of blobs are unchanged since
/// then, no file was added, removed or replaced, and the files need not be looked at again.
struct CheckedFiles: Equatable {
  /// The time for which the folders are believed, in seconds: a file that was changed in place leaves no trace in them.
  static let validity: Double = 86_400
  /// A folder that changed so short a time before the look, in seconds, may change again without another time.
  static let settling: Double = 2

  /// The time of the look, in seconds since 1970.
  let time: Double
  /// Identifies the state of the folders.
  let folders: SHA256Digest
  let counts: ReleaseCounts

  init(time: Double, folders: SHA256Digest, counts: ReleaseCounts) {
    (self.time, self.folders, self.counts) = (time, folders, counts)
  }

  /// Returns `true` if the files are as they were.
  ///
  /// - Parameters:
  ///   - now: the time in seconds since 1970.
  ///   - folders: the present state of the folders.
  func holds(at now: Double, folders: SHA256Digest) -> Bool {
    folders == self.folders && (0..<Self.validity).contains(now - time)
  }

  /// The text in the column `checked`.
  var text: String {
    let numbers = [
      counts.bundles, counts.files, counts.storedBundles, counts.storedFiles, counts.onDemand,
    ]
    return ([folders.hex, String(time)] + numbers.map { String($0) }).joined(separator: " ")
  }

  /// - Parameter text: a text of the column `checked`; `nil` is returned for any other.
  init?(_ text: String) {
    let parts = text.split(separator: " ")
    let numbers = parts.dropFirst(2).compactMap { Int($0) }
    guard parts.count == 7, numbers.count == 5, let folders = SHA256Digest(hex: String(parts[0])),
      let time = Double(parts[1])
    else { return nil }
    var counts = ReleaseCounts()
    (counts.bundles, counts.files) = (numbers[0], numbers[1])
    (counts.storedBundles, counts.storedFiles, counts.onDemand) = (numbers[2], numbers[3], numbers[4])
    self.init(time: time, folders: folders, counts: counts)
  }
}
