import Foundation
import HTTPCache
import HTTPTransport
import ScriptEngine

/// How the scripts of a host's pages run.
public struct ScriptConfiguration: Sendable {
  /// Texts of framework files, by the type of the bundles that they run. The built-in framework runs `vanilla` bundles.
  public var frameworks: [BundleType: String] = [:]
  /// Tells how to give the framework for a type, in terms of the program that shows the message.
  package var frameworkAdvice: @Sendable (BundleType) -> String = {
    "give the framework's text as scripts.frameworks[.\($0.rawValue.lowercased())]"
  }
  /// Texts of scripts that run in a page's context before its bundle, by the bundle's type. Rax 1 needs one: on a device
  /// it is `weex-rax-api.js`.
  public var preludes: [BundleType: String] = [:]
  /// Tells how to give the prelude for a type, in terms of the program that shows the message.
  package var preludeAdvice: @Sendable (BundleType) -> String = {
    "give the script's text as scripts.preludes[.\($0.rawValue.lowercased())]"
  }
  /// The number of engines that are kept booted for the next page, for each type of bundle that was opened. They are booted
  /// in the background, once no page has opened for 50 ms.
  public var ready = 1
  /// Runs a page that is not shown in each of these engines, so that the first page of an engine opens faster.
  public var primes = true
  /// The number of engines that are kept of pages that have ended, for the same bundle's next opening. The least recently
  /// used goes first.
  public var kept = 4
  /// The limits of one entry into a script: processor time and memory.
  public var limits = ScriptLimits()
  /// The number of entries into scripts that run at once, of all pages, and of pages that open at once; others wait for
  /// their turn. One that takes longer than 0.1 s makes room for the next, and goes on. The default is the number of
  /// processors.
  public var entriesAtOnce = ProcessInfo.processInfo.activeProcessorCount
  /// The value of `process.env.NODE_ENV` for frameworks and pages. `development` turns on the warnings of frameworks and
  /// bundles that have some.
  public var nodeEnvironment = Self.defaultNodeEnvironment
  /// The `WXEnvironment` that frameworks see. `__enable_native_promise__` is added if it is missing. A host sets it from
  /// its device.
  package var environment: ScriptValue = [:]
  static let defaultNodeEnvironment = "production"
  /// Hears of all that takes a thread for a page.
  package var observer: WorkObserver?

  /// The defaults.
  public init() {}
}

/// Work that takes a thread for a page.
package enum PageWork: Hashable, Sendable {
  /// An entry into its script, on the script's thread: everything that the script does.
  case entry
  /// Changes of its elements and their layout, while all other pages wait.
  case elements
  /// The layout for a picture of it, beside other pages. A process draws one picture at a time.
  case picture

  /// A moment at which an observer hears of work.
  package enum Moment: Hashable, Sendable {
    case begin
    /// Another thread goes on with it.
    case otherThread
    case end
  }
}

/// Hears when work for a page begins, goes on in another thread, and ends, on the thread that does it. Work on elements may
/// begin within work on elements.
package typealias WorkObserver = @Sendable (_ page: String, PageWork, PageWork.Moment) -> Void

extension FrameworkGroup {
  /// The files of the framework that comes with PageKit, in the order in which they are evaluated. It runs bundles that are
  /// written for the document API.
  ///
  /// - Parameter isSealed: `true` freezes the classes, so that pages cannot change them. This takes 1 MB: the engine has to
  ///   make each function that is frozen.
  static func builtInSource(isSealed: Bool) -> Source { isSealed ? builtInFiles : builtInFiles.dropLast() }

  private static let builtInFiles: Source = [
    ("nodes.js", PackageResources.nodes_js), ("elements.js", PackageResources.elements_js),
    ("changes.js", PackageResources.changes_js), ("documents.js", PackageResources.documents_js),
    ("tasks.js", PackageResources.tasks_js), ("pages.js", PackageResources.pages_js),
    ("sealing.js", PackageResources.sealing_js),
  ].map { ($0, String(decoding: $1, as: UTF8.self)) }
}

/// Script groups with a booted framework. Some are kept ready, so that a page need not wait for one; some have run a
/// bundle, and are kept so that it opens faster the next time.
package actor FrameworkPool {
  /// While fewer groups than this have pages, groups of the built-in framework are sealed, so that they can be kept, and
  /// primed. Each further page takes 2.2 MB less (measured with a hundred cells).
  static let fullGroups = 8

  /// The time without an opening after which a group is booted for the next.
  private static let quietTime = Duration.milliseconds(50)

  let configuration: ScriptConfiguration
  private let turns: FairGate<String>
  /// Limits the number of pages that open at once, so that few groups serve many pages one after the other: a group that
  /// ran a bundle often runs it faster, and takes its memory once.
  nonisolated let openings: FairGate<String>
  /// All groups, with pages and without, as long as they are used.
  private var made: [() -> FrameworkGroup?] = []
  private var waiting: [BundleType: [FrameworkGroup]] = [:]
  private var booting: [BundleType: Task<Void, Never>] = [:]
  private var bootsUnderWay = 0
  /// The number of openings after which there were too few groups.
  private var openingsEnded = 0
  /// The groups of pages that have ended, least recently used first.
  private var kept: [(purpose: Purpose, group: FrameworkGroup)] = []

  /// The bundle and the registered parts that a group is for. A group that ran a page may run another of the same purpose
  /// only, so that no bundle reaches another one's data.
  struct Purpose: Hashable, Sendable {
    let type: BundleType
    let url: String
    let source: String
    let modules: ModuleTable
    let components: ComponentTable
    var partition: CachePartition = .private
    /// The time, the random numbers, the zone and the locale that are given; `nil` for those of the machine.
    var determinism: PageDeterminism?

    static func == (left: Purpose, right: Purpose) -> Bool {
      left.type == right.type && left.url == right.url && left.modules.names == right.modules.names
        && left.components.names == right.components.names && left.source == right.source
        && left.partition == right.partition
    }

    func hash(into hasher: inout Hasher) { hasher.combine(url) }
  }

  /// The registered parts of the last page; the next page most likely has the same.
  private var lastPurpose: Purpose?

  /// A page that does something of everything: an engine runs code faster that it has run often.
  private static let primer = """
    var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
    for (var i = 0; i < 150; i++) {
      var e = d.createElement('div', { style: { color: 'red' } }), t = d.createElement('text', { attr: { value: 'a' } })
      e.appendChild(t); e.addEvent('click', function () {}); b.appendChild(e)
      t.setAttr('value', 'b'); t.setStyle('color', 'blue')
      if (i % 3) b.insertBefore(e, b.children[0])
      if (i % 5) b.removeChild(e)
    }
    """

  package init(_ configuration: ScriptConfiguration = ScriptConfiguration()) {
    self.configuration = configuration
    let width = max(1, configuration.entriesAtOnce)
    turns = FairGate(width: width, patience: .milliseconds(100))
    openings = FairGate(width: width, patience: .milliseconds(100))
  }

  /// A group of its own for one page.
  ///
  /// - Throws: ``PageError``.
  func group(for purpose: Purpose) async throws -> FrameworkGroup {
    guard hasFramework(for: purpose.type) else {
      throw PageError.noFramework(
        purpose.type, url: purpose.url, advice: configuration.frameworkAdvice(purpose.type))
    }
    if purpose.determinism == nil, let index = kept.lastIndex(where: { $0.purpose == purpose }) {
      return kept.remove(at: index).group
    }
    do {
      let group: FrameworkGroup
      if let determinism = purpose.determinism {
        // One that is ready has read the machine's time and random numbers.
        group = try await boot(purpose.type, determinism)
      } else if let ready = waiting[purpose.type]?.popLast() {
        group = ready
      } else {
        group = try await boot(purpose.type)
      }
      lastPurpose = purpose
      // Parts may have been registered since the group was made.
      try await group.register(purpose.modules, purpose.components)
      return group
    } catch let error as ScriptError {
      throw PageError.script(url: "\(purpose.type.rawValue) framework", error)
    }
  }

  /// Boots a group for the next page in the background, once no page has opened for a while: booting takes a processor for
  /// longer than most openings, which would wait for it.
  nonisolated func opened(_ type: BundleType) { Task(priority: .low) { await refillWhenQuiet(type) } }

  /// - Returns: `true` if it was quiet.
  @discardableResult
  func refillWhenQuiet(_ type: BundleType) async -> Bool {
    guard booting[type] == nil, readyCount(type) < configuration.ready else { return false }
    openingsEnded += 1
    let opening = openingsEnded
    try? await Task.sleep(for: Self.quietTime)
    guard opening == openingsEnded else { return false }
    refill(type)
    return true
  }

  /// Takes back the group of a page that has ended without an error.
  func keep(_ group: FrameworkGroup, for purpose: Purpose) {
    guard configuration.kept > 0, group.isReusable else { return }
    kept.append((purpose, group))
    if kept.count > configuration.kept { kept.removeFirst() }
  }

  /// Frees the groups of pages that have ended.
  package func forgetKept() { kept = [] }

  /// Frees all groups that no page uses. The next page waits until one is booted.
  package func releaseMemory() {
    kept = []
    waiting = [:]
  }

  /// Boots groups for bundles of a type, and returns when they are ready.
  package func prepare(_ type: BundleType = .vanilla) async {
    guard hasFramework(for: type) else { return }
    refill(type)
    while let task = booting[type] { await task.value }
  }

  /// Ends the booting of groups, and frees those that wait.
  package func shutDown() async {
    openingsEnded += 1
    for task in booting.values { task.cancel() }
    while let task = booting.values.first { await task.value }
    (waiting, kept) = ([:], [])
  }

  /// The limits of one entry into a script.
  package nonisolated var limits: ScriptLimits { configuration.limits }

  /// Hears of all that takes a thread for a page.
  nonisolated var observer: WorkObserver? { configuration.observer }

  /// The script that runs before bundles of a type.
  nonisolated func prelude(for type: BundleType) -> String? { configuration.preludes[type] }

  /// The error with which a bundle failed to open. If it lacks a prelude, the message tells how to give one.
  nonisolated func explained(_ error: ScriptError, of type: BundleType) -> ScriptError {
    guard case .exception(var exception) = error, prelude(for: type) == nil, exception.asksForPrelude(of: type) else {
      return error
    }
    exception.message +=
      ": bundles of \(type.rawValue) 1 run behind a script of their own, weex-rax-api.js on devices, and none was "
      + "given: \(configuration.preludeAdvice(type))"
    return .exception(exception)
  }

  var keptCount: Int { kept.count }

  /// The number of groups that wait for pages of a type.
  func readyCount(_ type: BundleType) -> Int { waiting[type]?.count ?? 0 }

  private func hasFramework(for type: BundleType) -> Bool { type == .vanilla || configuration.frameworks[type] != nil }

  /// The number of groups that have pages.
  private var busyCount: Int {
    made.count { $0() != nil } - kept.count - waiting.values.reduce(0) { $0 + $1.count }
  }

  private func boot(_ type: BundleType, _ determinism: PageDeterminism? = nil) async throws -> FrameworkGroup {
    var isReusable = determinism == nil
    let source: FrameworkGroup.Source
    if type != .vanilla, let text = configuration.frameworks[type] {
      source = [("\(type.rawValue.lowercased())-framework.js", text)]
    } else {
      let isKept = configuration.kept > 0 && busyCount + bootsUnderWay < Self.fullGroups
      isReusable = isKept && determinism == nil
      // Whether pages can change the framework must not depend on how many are open.
      source = FrameworkGroup.builtInSource(isSealed: isKept || determinism != nil)
    }
    bootsUnderWay += 1
    defer { bootsUnderWay -= 1 }
    let group = try await FrameworkGroup.boot(
      source, for: type, environment: configuration.environment, components: ComponentTable.builtIn.descriptions,
      isReusable: isReusable, determinism: determinism, nodeEnvironment: configuration.nodeEnvironment,
      limits: configuration.limits, turns: turns, observer: configuration.observer)
    made.removeAll { $0() == nil }
    made.append { [weak group] in group }
    return group
  }

  /// Boots groups until enough wait for pages, one after the other.
  private func refill(_ type: BundleType) {
    guard booting[type] == nil, readyCount(type) < configuration.ready else { return }
    booting[type] = Task(priority: .low) { [weak self] in
      while let group = try? await self?.boot(type) {
        if let last = await self?.lastPurpose { try? await group.register(last.modules, last.components) }
        if type == .vanilla, group.isReusable, self?.configuration.primes == true { await group.prime(Self.primer) }
        await group.collectGarbage()
        guard await self?.add(group, type) == true else { return }
      }
      await self?.stopBooting(type)
    }
  }

  /// - Returns: `true` if more are wanted.
  private func add(_ group: FrameworkGroup, _ type: BundleType) -> Bool {
    waiting[type, default: []].append(group)
    let wantsMore = readyCount(type) < configuration.ready
    if !wantsMore { booting[type] = nil }
    return wantsMore
  }

  private func stopBooting(_ type: BundleType) { booting[type] = nil }
}

extension ScriptException {
  /// The names that only the scripts define that devices run before a bundle of Rax.
  private static let preludeNames: Set<String> = [
    "window", "document", "define", "require", "__weex_define__", "__weex_require__",
  ]

  /// Returns `true` if a bundle of this type fails because no prelude ran before it.
  fileprivate func asksForPrelude(of type: BundleType) -> Bool {
    // As JavaScriptCore says it: "ReferenceError: Can't find variable: window".
    guard type == .rax, let start = message.firstRange(of: "Can't find variable: ")?.upperBound else { return false }
    return Self.preludeNames.contains(String(message[start...].prefix { !$0.isWhitespace }))
  }
}
