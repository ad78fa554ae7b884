import ArgumentParser

/// Flags whose values are texts, which the settings' reader judges with those of the other layers.
protocol FlagOptions {
  var given: [SettingKey: [String]] { get }
}

extension FlagOptions {
  static func collect(_ values: [(SettingKey, String?)]) -> [SettingKey: [String]] {
    var given: [SettingKey: [String]] = [:]
    for case (let key, let value?) in values { given[key] = [value] }
    return given
  }
}

struct ServingFlags: ParsableArguments, FlagOptions {
  @Option(help: ArgumentHelp("The folder of bundles to serve, and to watch.", valueName: "dir"))
  var bundles: String?

  @Option(help: ArgumentHelp("The manifest of another server to follow instead.", valueName: "url"))
  var manifest: String?

  @Option(help: ArgumentHelp("How often the other server is asked. (default: 60)", valueName: "seconds"))
  var follow: String?

  @Option(
    help: ArgumentHelp(
      "The folder of the store.", discussion: "Default: $XDG_DATA_HOME/pagekit.", valueName: "dir"))
  var store: String?

  @Option(
    help: ArgumentHelp(
      "Where bundles, releases and health are served, to everybody. (default: 127.0.0.1:8080)", valueName: "host:port"))
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "Where pages, dashboard, status, metrics and administration are.",
      discussion:
        "Default: with the rest if --listen is loopback, else 127.0.0.1 and a free port, which the log names. "
        + "What is beyond loopback asks for the admin token.", valueName: "host:port"))
  var adminListen: String?

  @Option(
    name: .customLong("public"),
    help: ArgumentHelp(
      "What --listen carries besides: \(RouteGroup.guarded.list), with commas between them; may be repeated.",
      valueName: "names"))
  var publicRoutes: [String] = []

  @Option(
    help: ArgumentHelp(
      "A name by which clients call this server, besides localhost and IP addresses; may be repeated.",
      discussion: "Pages, status and administration answer to no other name.", valueName: "name"))
  var host: [String] = []

  var given: [SettingKey: [String]] {
    var given = Self.collect([
      (.bundles, bundles), (.manifest, manifest), (.follow, follow), (.store, store), (.listen, listen),
      (.adminListen, adminListen),
    ])
    if !publicRoutes.isEmpty { given[.publicRoutes] = publicRoutes }
    if !host.isEmpty { given[.host] = host }
    return given
  }
}

struct GatewayFlags: ParsableArguments, FlagOptions {
  @Option(
    help: ArgumentHelp("Where the gateway listens: a shared cache before another server.", valueName: "host:port"))
  var gateway: String?

  @Option(
    help: ArgumentHelp(
      "The server behind the gateway.",
      discussion: "Several, each with its own limits and rules, are named in the file, under origins.",
      valueName: "url"))
  var origin: String?

  var given: [SettingKey: [String]] { Self.collect([(.gateway, gateway), (.origin, origin)]) }
}

struct PageFlags: ParsableArguments, FlagOptions {
  @Option(help: ArgumentHelp("Processes that run pages. (default: one for each core)", valueName: "n"))
  var workers: String?

  @Option(help: ArgumentHelp("How long one entry into a page may take. (default: 5)", valueName: "seconds"))
  var pageTime: String?

  @Option(help: ArgumentHelp("Resident memory of one worker. (default: 512MB)", valueName: "size"))
  var workerMemory: String?

  @Option(
    help: ArgumentHelp("Pages at once. (default: as many as fit the workers' memory, at most 200)", valueName: "n"))
  var maxPages: String?

  @Option(help: ArgumentHelp("How long a page lives that nobody asks for. (default: 300)", valueName: "seconds"))
  var pageIdle: String?

  @Option(
    help: ArgumentHelp(
      "Calls of pages that may wait while the workers are busy; more get 503 at once. (default: 512)", valueName: "n"))
  var pageQueue: String?

  @Option(
    help: ArgumentHelp("How long such a call may wait until it gets 503. (default: 5)", valueName: "seconds"))
  var pageWait: String?

  @Option(
    help: ArgumentHelp(
      "An origin that pages may fetch from, besides the manifest's and their own; may be repeated.",
      valueName: "origin"))
  var allowOrigin: [String] = []

  @Option(
    help: ArgumentHelp("The framework file for bundles of a type; may be repeated.", valueName: "type=file"))
  var framework: [String] = []

  @Option(
    help: ArgumentHelp(
      "A script that runs in a page before bundles of a type: weex-rax-api.js for Rax 1; may be repeated.",
      valueName: "type=file"))
  var prelude: [String] = []

  @Option(
    help: ArgumentHelp(
      "A member of WXEnvironment, JSON where it can be read as that, else text; may be repeated.",
      valueName: "key=value"))
  var env: [String] = []

  var given: [SettingKey: [String]] {
    var given = Self.collect([
      (.workers, workers), (.pageTime, pageTime), (.workerMemory, workerMemory), (.maxPages, maxPages),
      (.pageIdle, pageIdle), (.pageQueue, pageQueue), (.pageWait, pageWait),
    ])
    if !allowOrigin.isEmpty { given[.allowOrigin] = allowOrigin }
    if !framework.isEmpty { given[.framework] = framework }
    if !prelude.isEmpty { given[.prelude] = prelude }
    if !env.isEmpty { given[.env] = env }
    return given
  }
}

struct SecurityFlags: ParsableArguments, FlagOptions {
  @Option(
    help: ArgumentHelp(
      "The certificate and its chain, PEM: serves TLS with HTTP/2. SIGHUP reads it again.", valueName: "file"))
  var tlsCert: String?

  @Option(help: ArgumentHelp("The certificate's key, PEM.", valueName: "file"))
  var tlsKey: String?

  @Option(
    help: ArgumentHelp(
      "The token of admin routes, and of all that is not for everybody beyond loopback; 16 bytes or more.",
      discussion: "Arguments are seen in ps: rather set RENDERHOST_ADMIN_TOKEN, or name a file.", valueName: "token"))
  var adminToken: String?

  @Option(help: ArgumentHelp("A file with that token.", valueName: "file"))
  var adminTokenFile: String?

  @Flag(help: "Let pages, dashboard, status and metrics answer other machines without that token.")
  var insecureAdmin = false

  @Option(
    help: ArgumentHelp(
      "What signs calls of the webhook, 16 bytes or more; there is none without it.",
      discussion: "Rather set RENDERHOST_WEBHOOK_SECRET, or name a file.", valueName: "secret"))
  var webhookSecret: String?

  @Option(help: ArgumentHelp("A file with that secret.", valueName: "file"))
  var webhookSecretFile: String?

  var given: [SettingKey: [String]] {
    Self.collect([
      (.tlsCert, tlsCert), (.tlsKey, tlsKey), (.adminToken, adminToken), (.adminTokenFile, adminTokenFile),
      (.insecureAdmin, insecureAdmin ? "true" : nil), (.webhookSecret, webhookSecret),
      (.webhookSecretFile, webhookSecretFile),
    ])
  }
}
