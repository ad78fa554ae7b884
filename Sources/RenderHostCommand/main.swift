import Dispatch
import RenderHost

// A worker drops what it can before anything starts a thread, so this file never awaits.
if CommandLine.arguments.dropFirst().first == "worker" {
  HostEntry.runWorker()
}
HostEntry.limitArenas()
Task { await HostEntry.runHost(commit: BuildCommit.short) }
dispatchMain()
