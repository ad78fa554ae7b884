import DiskStorage
import Foundation
import HTTPTransport
import Logging
import PageWorkers

/// Everything the daemon may be told. Flags come first, then the environment, then a file.
public struct Settings: Sendable {
  /// A folder of bundles that are served, and watched; nil with ``manifest``.
  public var bundles: String?
  /// The manifest of another server, which is followed; nil with ``bundles``.
  public var manifest: PageURL?
  /// How often the other server is asked.
  public var follow: Duration = .seconds(60)
  public var store: StoreDirectory = .standard()
  /// The address to listen on, and the port; 0 for any that is free.
  public var address = "127.0.0.1"
  public var port = 8080
  /// The address of pages, dashboard, status, metrics and administration. With `nil` a loopback ``address`` carries them
  /// beside what is for everybody; with any other they are on 127.0.0.1 and a free port.
  public var adminListen: (host: String, port: Int)?
  /// The groups that ``address`` carries besides bundles, releases and health, if there is another listener.
  public var publicRoutes: Set<RouteGroup> = []
  /// True if pages, dashboard, status and metrics may answer other machines without a token.
  public var allowsInsecureAdmin = false
  /// Names by which clients call this server, besides IP addresses, `localhost` and the addresses it listens on.
  public var hosts: [String] = []

  /// The address and port of the gateway, and the servers behind it; both or none.
  public var gateway: (host: String, port: Int)?
  public var origins: [OriginSettings] = []

  /// Processes that run pages; one for each core unless told otherwise.
  public var workers = ProcessInfo.processInfo.activeProcessorCount
  /// How long one entry into a page may take, of the clock's time.
  public var pageTime: Duration = .seconds(5)
  /// Resident bytes of one worker.
  public var workerMemory: Int64 = 512 << 20
  /// Pages that are open at once; `nil` for as many as fit the workers' memory, and at most 200.
  public var pages: Int?
  /// Calls of pages that may wait while the workers are busy; more are refused at once.
  public var waitingCalls = 512
  /// How long a call may wait until it is refused.
  public var waitingTime: Duration = .seconds(5)
  /// How long a page lives that nobody asks for.
  public var pageIdle: Duration = .seconds(300)
  /// Origins that pages may fetch from, besides those of the manifest and their own.
  public var allowedOrigins: [String] = []
  /// For bundles that are not plain: framework files by their type.
  public var frameworks: [String: String] = [:]
  /// Files of scripts that run in a page before its bundle, by the bundle's type.
  public var preludes: [String: String] = [:]
  /// Members of `WXEnvironment`: JSON where they can be read as that, else text.
  public var environment: [String: String] = [:]

  /// PEM files; both or none.
  public var certificate: String?
  public var privateKey: String?
  /// The token of callers of admin routes, and of pages, dashboard, status and metrics where other machines can reach
  /// these; without one there are no admin routes.
  public var adminToken: String?
  /// What signs calls of the webhook; without one there is none.
  public var webhookSecret: String?
  public var limits = Limits()
  /// How long what is under way may take once the process is told to stop.
  public var shutdownTime: Duration = .seconds(30)

  public var logLevel: Logger.Level = .info
  public var logFormat: LogFormat = .text

  /// How log lines are written.
  public enum LogFormat: String, CaseIterable, Sendable {
    case text, json
  }

  /// What a client may ask for.
  public struct Limits: Sendable {
    /// Bytes of a request's body.
    public var body = 1 << 20
    /// Bytes of all header fields.
    public var header = 16 << 10
    /// Bytes of a URL.
    public var url = 8 << 10
    /// Connections from one address.
    public var connectionsPerAddress = 64
    /// Connections of each listener at once; more wait to be accepted. `nil` for as many as the limit of open files
    /// allows, at most 4,096.
    public var connections: Int?
    /// How long a client may take for its TLS handshake and its first request's head.
    public var headTime: Duration = .seconds(15)
    /// How long a client may take to send one request's body.
    public var bodyTime: Duration = .seconds(60)
    /// How long a client may leave its connection idle.
    public var idle: Duration = .seconds(60)

    public init() {}
  }

  /// How many pages fit the workers' memory, about.
  var fittingPages: Int {
    Int(Int64(Double(workerMemory) * Placement.full) * Int64(workers) / Placement.pageBytes)
  }

  /// How many pages may be open at once.
  var pageLimit: Int { pages ?? min(200, max(1, fittingPages)) }

  public init() {}
}
