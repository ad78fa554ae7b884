/// Records the events of a daemon's parts: as metrics, and as failures for the dashboard.
package struct HostRecord: Sendable {
  package var metrics = HostMetrics()
  package var failures = FailureLog()

  package init(
    metrics: HostMetrics = HostMetrics(), failures: FailureLog = FailureLog()
  ) {
    self.metrics = metrics
    self.failures = failures
  }
}
