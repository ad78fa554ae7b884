// Opens pages of a store, as it is told line by line, and prints what they get, until it is killed.
let arguments = CommandLine.arguments
let opener = try PageOpener(store: arguments[1], manifest: arguments[2])
opener.print("ready")
while let line = readLine() {
  // Not on the main actor, which is waiting for the next line.
  Task.detached { await opener.perform(line.split(separator: " ").map(String.init)) }
}
