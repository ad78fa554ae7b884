import DiskStorage
import Dispatch
import Foundation
import PageWorkers

@main
enum Program {
  /// A worker confines itself before any thread starts, so this function never awaits.
  static func main() {
    if CommandLine.arguments.dropFirst().first == "worker" { WorkerMain.run(for: "bundlectl") }
    if let problem = AddressSpace.problem(least: AddressSpace.leastToRun) {
      Terminal.error.line("bundlectl: \(problem)")
      exit(1)
    }
    Task {
      await Bundlectl.main()
      exit(0)
    }
    dispatchMain()
  }
}
