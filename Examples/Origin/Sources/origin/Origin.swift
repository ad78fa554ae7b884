import ArgumentParser
import Foundation
import Hummingbird
import Logging

/// Serves a folder over HTTP: the other end of a preloader while one tries it out.
@main
struct Origin: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "origin", abstract: "Serves a folder over HTTP, with entity tags, conditions and ranges.")

  @Option(help: ArgumentHelp("The folder to serve.", valueName: "dir"))
  var root: String

  @Option(help: "The address to listen on.")
  var host = "127.0.0.1"

  @Option(help: "The port to listen on, 0 for a free one.")
  var port = 8080

  @Option(help: ArgumentHelp("A file to write the port into once the server listens.", valueName: "file"))
  var portFile: String?

  func validate() throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: root, isDirectory: &isFolder), isFolder.boolValue else {
      throw ValidationError("\(root) is not a folder")
    }
    let portFolder = portFile.map { URL(filePath: $0).deletingLastPathComponent().path }
    guard portFolder.map(FileManager.default.fileExists) ?? true else {
      throw ValidationError("there is no folder for the port file \(portFile ?? "")")
    }
    guard (0...65_535).contains(port) else { throw ValidationError("\(port) is not a port") }
  }

  func run() async throws {
    var logger = Logger(label: "origin")
    logger.logLevel = .warning
    let router = Router()
    router.add(middleware: FileMiddleware(root, logger: logger))
    let app = Application(
      router: router,
      configuration: .init(address: .hostname(host, port: port)),
      onServerRunning: { announce(port: $0.localAddress?.port ?? port) },
      logger: logger)
    try await app.runService()
  }

  /// Tells people and scripts where the server is; the file appears only with the whole port in it.
  private func announce(port: Int) {
    do {
      try portFile.map { try Data("\(port)\n".utf8).write(to: URL(filePath: $0), options: .atomic) }
    } catch {
      Self.exit(withError: error)
    }
    print("serving \(root) at http://\(host):\(port)/")
    fflush(nil)
  }
}
