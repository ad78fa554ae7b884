import Dispatch
import Foundation
import PageWorkers

@main
enum Program {
  /// A worker drops what it can before anything starts a thread: so this never awaits.
  static func main() {
    if CommandLine.arguments.dropFirst().first == "worker" { WorkerMain.run(for: "bundlectl") }
    Task {
      await Bundlectl.main()
      exit(0)
    }
    dispatchMain()
  }
}
