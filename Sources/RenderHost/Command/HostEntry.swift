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

  /// Reads the flags and runs the daemon; never returns.
  ///
  /// - Parameter commit: the commit that the program was built from, for `--version`; `nil` if it is unknown.
  package static func runHost(commit: String?) async -> Never {
    ProcessLimits.raise()
    let processors = Int(pk_usable_processors())
    if processors > 0 { NIOSingletons.groupLoopCountSuggestion = processors }
    // Each arena keeps what is freed in it for itself. As many as run at once are enough; the C library has eight for
    // each processor.
    mallopt(M_ARENA_MAX, Int32(max(2, processors)))
    await HostVersion.$commit.withValue(commit) { await HostCommand.main() }
    exit(0)
  }
}
