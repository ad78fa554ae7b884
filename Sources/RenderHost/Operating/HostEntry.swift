import ArgumentParser
import Foundation

/// The two ways the executable starts.
public enum HostEntry {
  /// Runs pages for the daemon that started this process; never returns.
  public static func runWorker() -> Never { WorkerMain.run() }

  /// Reads the flags and runs the daemon; never returns.
  public static func runHost() async -> Never {
    await HostCommand.main()
    exit(0)
  }
}
