/// The places where the parts of a daemon record events: as metrics, and as failures for the dashboard.
struct HostRecord: Sendable {
  var metrics = HostMetrics()
  var failures = FailureLog()
}
