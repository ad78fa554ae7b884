import Dispatch
import RenderHost

// A worker drops what it can before anything starts a thread, so this file never awaits.
if CommandLine.arguments.dropFirst().first == "worker" {
  HostCommand.runWorker()
}
HostCommand.limitArenas()
Task { await HostCommand.runHost(commit: BuildCommit.short) }
dispatchMain()
