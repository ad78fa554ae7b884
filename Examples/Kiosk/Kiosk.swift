import Foundation
import PageKit

/// Shows a page in a picture file that is drawn again when the page changes, and does to the page what lines of standard
/// input say.
@main
enum Kiosk {
  static func main() async {
    guard let options = Options(CommandLine.arguments) else {
      complain("usage: kiosk PAGE PICTURE.png [SCREEN [PICTURES-A-SECOND [MANIFEST]]]")
      exit(64)
    }
    do {
      let host = try PageHost.launch(options.configuration())
      let work = Task { try await run(options, on: host) }
      let signals = [SIGINT, SIGTERM].map { cancel(work, at: $0) }
      let result = await work.result
      // The page's last words are stored before the process ends.
      await host.shutDown()
      withExtendedLifetime(signals) {}
      try result.get()
    } catch is CancellationError {
      // A signal is how a kiosk ends.
    } catch {
      complain("kiosk: \(error)")
      exit(1)
    }
  }

  static func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

  /// Opens the page, draws it, and forwards what its user does, until the input ends or the page fails.
  private static func run(_ options: Options, on host: PageHost) async throws {
    let page = await host.page()
    // Pages that it opens with `navigator` are put on top of it.
    await host.stack.show(page)
    try await page.renderByURL(options.page)
    let screen = Screen(stack: host.stack, file: options.picture, interval: options.interval)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await screen.follow() }
      group.addTask { for await event in page.events { if case .failed(let error) = event { throw error } } }
      group.addTask {
        for await line in StandardInput.lines() { await obey(line, on: host.stack) }
        try Task.checkCancellation()
        await host.stack.top?.settle(within: .seconds(5))
      }
      // The first that ends, ends the others: the input, or what has failed.
      defer { group.cancelAll() }
      try await group.next()
    }
    try await screen.draw()
  }

  /// A line that cannot be obeyed, such as a tap beside everything, is told and changes nothing.
  private static func obey(_ line: String, on stack: PageStack) async {
    guard let page = await stack.top else { return }
    guard let action = UserAction(line) else { return complain("kiosk: \(line) is none of \(UserAction.forms)") }
    do {
      try await action.perform(on: page, of: stack)
    } catch {
      complain("kiosk: \(line): \(error)")
    }
  }

  private static func cancel(_ work: Task<Void, any Error>, at number: Int32) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler { work.cancel() }
    source.resume()
    return source
  }
}

/// The arguments.
private struct Options {
  /// The URL of the page's bundle.
  let page: String
  /// The folder of a page that is a file, in which its pictures are; `nil` for other pages.
  let folder: String?
  let picture: URL
  let screen: PictureOptions.Screen
  /// The shortest time from one picture to the next.
  let interval: Duration
  /// The manifest whose bundles are kept for openings without network; `nil` for a page by itself.
  let manifest: String?

  init?(_ arguments: [String]) {
    func argument(_ place: Int) -> String? { arguments.count > place ? arguments[place] : nil }
    guard (3...6).contains(arguments.count), let screen = PictureOptions.Screen(argument(3) ?? "375x667@2"),
      let rate = Double(argument(4) ?? "10"), (0.1...60).contains(rate)
    else { return nil }
    let bundle = arguments[1].contains("://") ? nil : URL(fileURLWithPath: arguments[1])
    (page, folder) = (bundle?.absoluteString ?? arguments[1], bundle?.deletingLastPathComponent().path)
    picture = URL(fileURLWithPath: arguments[2])
    (self.screen, interval, manifest) = (screen, .seconds(1 / rate), argument(5))
  }

  /// The page's script is told of the screen. Pictures and taps go by it too.
  func configuration() throws -> HostConfiguration {
    var configuration = try manifest.map { try HostConfiguration(manifest: $0) } ?? HostConfiguration()
    configuration.resources.localFolder = folder
    configuration.pages.device = DefaultConfiguration([
      "deviceWidth": .number(Double(screen.width) * screen.scale),
      "deviceHeight": .number(Double(screen.height) * screen.scale), "scale": .number(screen.scale),
    ])
    return configuration
  }
}
