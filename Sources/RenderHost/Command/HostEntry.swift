import ArgumentParser
import CLinux
import Foundation
import NIOCore
import PageWorkers
import ServerKit

/// The two ways the executable starts.
package enum HostEntry {
  /// Runs pages for the daemon that started this process; never returns.
  package static func runWorker() -> Never { WorkerMain.runOrCheck() }

  /// Limits the arenas of the C library to one for each processor, but at least two: each keeps what is freed in it for
  /// itself, and by default there are eight for each processor. The limit holds if no other thread was started before.
  package static func limitArenas() { mallopt(M_ARENA_MAX, CInt(max(2, pk_usable_processors()))) }

  /// Reads the flags and runs the daemon; never returns.
  ///
  /// - Parameter commit: the commit that the program was built from, for `--version`; `nil` if it is unknown.
  package static func runHost(commit: String?) async -> Never {
    ProcessLimits.raise()
    let processors = Int(pk_usable_processors())
    if processors > 0 { NIOSingletons.groupLoopCountSuggestion = processors }
    await HostVersion.$commit.withValue(commit) { await HostCommand.main() }
    exit(0)
  }
}
