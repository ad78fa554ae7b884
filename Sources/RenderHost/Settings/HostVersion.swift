/// The version of the daemon, as `--version` and the dashboard show it.
enum HostVersion {
  static let current = "0.1.0"
  /// The commit that the program was built from; `nil` if it is unknown.
  @TaskLocal static var commit: String?

  /// The version, with the commit if it is known.
  static var text: String { current + (commit.map { " (\($0))" } ?? "") }
}
