import PageTesting

// Stores responses from eight tasks, until it is killed; says so once it is at work.
let arguments = CommandLine.arguments
let flood = try ResponseFlood(cache: arguments[1], durable: arguments[2], seed: UInt64(arguments[3]) ?? 0)
try await flood.run(tasks: 8)
