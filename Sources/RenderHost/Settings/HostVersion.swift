/// The version of the daemon, as `--version` and the dashboard show it.
enum HostVersion {
  static let current = "0.1.0"
}
