// Opens pages of a store, as it is told line by line, and prints what they get, until it is killed. With commands as
// arguments it performs them one after the other, prints how often it changed a file, and ends.
import CKillPoints
import Foundation

let arguments = CommandLine.arguments
let opener = try PageOpener(store: arguments[1], manifest: arguments[2])
if arguments.count > 3 {
  for command in arguments.dropFirst(3) { await opener.perform(command.split(separator: " ").map(String.init)) }
  opener.print("changes", "\(pk_changes())")
  exit(0)
}
opener.print("ready")
while let line = readLine() {
  // Not on the main actor, which is waiting for the next line.
  Task.detached { await opener.perform(line.split(separator: " ").map(String.init)) }
}
