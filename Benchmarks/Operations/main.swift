import Dispatch
import Foundation

// Runs an operation as often as it is told, so that `scripts/perf-check` can count its instructions: those of many runs less
// those of few.
//
//   Operations                     the names, and how often each is to run
//   Operations FOLDER NAME COUNT

let arguments = CommandLine.arguments
if arguments.count == 1 {
  for (name, count) in Operation.counts { print(name, count, separator: "\t") }
  exit(0)
}
guard arguments.count == 4, let count = Int(arguments[3]), count > 0 else {
  FileHandle.standardError.write(Data("usage: Operations [FOLDER NAME COUNT]\n".utf8))
  exit(64)
}

// The main thread waits: callgrind crashes when it ends before the process, as it does under an asynchronous main function.
let end = DispatchSemaphore(value: 0)
Task.detached {
  do {
    let operation = try await Operation.named(CommandLine.arguments[2], in: CommandLine.arguments[1])
    for _ in 0..<count { try await operation.run() }
    end.signal()
  } catch {
    FileHandle.standardError.write(Data("Operations: \(error)\n".utf8))
    exit(1)
  }
}
end.wait()
