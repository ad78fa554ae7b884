import LivePages
import PageKit
import PageWorkers

/// Pages whose authors save their files while they run.
struct Development: Sendable {
  /// `true` to keep what users do with pages, for the next runs of their scripts.
  var keepsInputs: Bool
  /// Records the runs of pages; `nil` to record none.
  var recordings: RunRecordings?
  /// Is told what happens, in order.
  var news: @Sendable (DevelopmentNews) -> Void
}

/// An event of a page whose author runs it.
enum DevelopmentNews: Sendable {
  /// A page was opened, by its id: its file may have been saved meanwhile.
  case opened(String)
  /// The saved file runs.
  case reloaded(OpenedPage, took: Duration)
  /// The script has thrown; the page shows what it has made.
  case threw(OpenedPage, ScriptException, source: LoadedBundle?)
  /// The same, by the page's number in workers, for an error that has come as an event: of the page, or of one that it embeds.
  case threwInside(UInt64, ScriptException)
  /// The saved file does not run, or the script was stopped; the page stays as it was.
  case failed(OpenedPage, PageFailure, source: LoadedBundle?)
  /// A file that the page is made of was removed; the page stays as it was.
  case removed(OpenedPage, PageURL)
  /// The file is there again, with the bytes that run.
  case returned(OpenedPage, PageURL)
  /// The run of a page is recorded, or cannot be.
  case recording(PageURL, RunRecordings.News)
}

/// The reloads of a page since its files were saved.
struct ReloadState: Sendable {
  /// The number of saves.
  var saves = 0
  var isUnderWay = false
  /// The error that the page's viewers see; `nil` if they see none.
  var fault: Fault?
  /// The files of the page that were removed while it runs.
  var removed: Set<PageURL> = []
  /// `true` if the script was stopped: the same bytes run again.
  var isStopped = false
  /// The number of inputs that the last run has done again before one that fits no element; `nil` if all were done.
  var fitting: Int?
  /// The number of calls that enter the script.
  var entering = 0
  /// Ends when the page runs anew. Until then its users' inputs wait.
  var gate: Task<Void, Never>?

  enum Fault: Hashable, Sendable {
    /// A saved file does not run; the page runs as before.
    case ofSave
    /// The script has thrown, in the run of this number.
    case ofRun(UInt64)
  }
}

extension PageDirectory {
  /// The types of events that are inputs of a page's user, which are kept for the next runs of a script. A browser says by itself
  /// again what it shows and where it has scrolled to.
  static let inputTypes: Set<String> = [
    "blur", "change", "click", "focus", "input", "loadmore", "longpress", "return", "swipe",
  ]
  /// The limit of inputs that are kept; what is done after them is not done again.
  private static let inputLimit = 500
  /// The name under which reloaded pages take turns with the clients.
  private static let client = "saved pages"
  /// The time after which an error of a saved file is told. A file that is written in parts may be complete by then.
  private static let errorDelay: Duration = .milliseconds(150)
  /// The longest wait for inputs that are under way when a page is reloaded.
  private static let entryWait: Duration = .milliseconds(200)
  private static let step: Duration = .milliseconds(5)

  /// Keeps what the user of a page has done.
  func keep(_ input: PageInput, of id: String) {
    guard configuration.development?.keepsInputs == true, Self.inputTypes.contains(input.firing.type) else { return }
    // Who goes on after an input that fits no element goes on from there.
    if let page = pages[id], let fitting = page.reloads.fitting {
      pages[id]?.inputs = Array(page.inputs.prefix(fitting))
      pages[id]?.reloads.fitting = nil
    }
    // Of typing the latest text counts.
    if let last = pages[id]?.inputs.last, last.firing.type == "input", input.firing.type == "input",
      last.place.steps == input.place.steps
    {
      pages[id]?.inputs.removeLast()
    }
    guard let count = pages[id]?.inputs.count, count < Self.inputLimit else { return }
    pages[id]?.inputs.append(input)
  }

  /// The bundles of the open pages and of those that they embed, up to a number.
  func bundles(upTo limit: Int) -> Set<PageURL> {
    var found: Set<PageURL> = []
    for page in pages.values {
      found.insert(page.target.url)
      found.formUnion((numbers[page.number]?.embeddedBundles ?? [:]).keys)
      if found.count >= limit { break }
    }
    return found
  }

  /// Reloads the pages that a saved file is part of.
  ///
  /// - Parameter isPart: tells whether a file may have been saved.
  /// - Returns: `true` if a page is made of such a file, and its bytes are others.
  @discardableResult
  func reload(whose isPart: @Sendable (PageURL) -> Bool) async -> Bool {
    let concerned = pages.values.filter { page in
      isPart(page.target.url) || numbers[page.number]?.embeddedBundles.keys.contains(where: isPart) == true
    }
    return await withTaskGroup(of: Bool.self) { group in
      for page in concerned { group.addTask { await self.reloadSaved(page.id) } }
      var hadNews = false
      for await hasNews in group where hasNews { hadNews = true }
      return hadNews
    }
  }

  /// Reloads a page until it shows its files as they were saved last.
  ///
  /// - Returns: `true` if it had other bytes.
  @discardableResult
  func reloadSaved(_ id: String) async -> Bool {
    guard let page = pages[id] else { return false }
    pages[id]?.reloads.saves += 1
    guard !page.reloads.isUnderWay else { return true }
    pages[id]?.reloads.isUnderWay = true
    defer { pages[id]?.reloads.isUnderWay = false }
    var (done, hadNews) = (page.reloads.saves, false)
    while let saves = pages[id]?.reloads.saves, saves != done {
      done = saves
      hadNews = await reloadOnce(id, saves) || hadNews
    }
    return hadNews
  }

  /// The files of the pages that a page embeds: those that were removed since they run, and whether others have other bytes.
  private func embeddedFiles(of page: OpenedPage) -> (removed: Set<PageURL>, haveChanged: Bool) {
    guard let working = answers.working else { return ([], false) }
    var (removed, haveChanged): (Set<PageURL>, Bool) = ([], false)
    for (url, md5) in numbers[page.number]?.embeddedBundles ?? [:] where url.isFile {
      if md5 != nil, working.isGone(url) {
        removed.insert(url)
      } else if (try? working.load(url).md5) != md5 {
        haveChanged = true
      }
    }
    return (removed, haveChanged)
  }

  private func reloadOnce(_ id: String, _ saves: Int) async -> Bool {
    guard let former = pages[id], let development = configuration.development else { return false }
    let began = configuration.now()
    if answers.working?.isGone(former.target.url) == true {
      return await tellRemoved([former.target.url], of: id, saves, since: began)
    }
    do {
      let bundle = try await answers.bundle(former.target.url)
      let embedded = embeddedFiles(of: former)
      if bundle.md5 == former.target.bundle.md5, !former.reloads.isStopped, !embedded.haveChanged {
        guard embedded.removed.isEmpty else {
          return await tellRemoved(embedded.removed, of: id, saves, since: began)
        }
        // The same bytes again: they may have been restored after an error.
        for url in former.reloads.removed { development.news(.returned(former, url)) }
        pages[id]?.reloads.removed = []
        guard former.reloads.fault == .ofSave else { return false }
        mend(id)
        return true
      }
      let page = try await runAnew(id, development)
      let took = configuration.now() - began
      pages[id]?.reloads.removed = []
      // An error of the new run may have been told already.
      if pages[id]?.reloads.fault != .ofRun(page.number) { mend(id) }
      development.news(.reloaded(page, took: took))
      if let fault = page.reply.errors.last, page.reply.newErrors > 0 {
        pages[id]?.reloads.fault = .ofRun(page.number)
        development.news(.threw(page, fault, source: page.target.bundle))
      }
    } catch {
      let failure = PageFailure(error, url: former.location, configuration.hints).withoutPaths(locations)
      guard let page = await afterDelay(id, saves, since: began) else { return true }
      pages[id]?.reloads.fault = .ofSave
      development.news(.failed(page, failure, source: try? await answers.bundle(page.target.url)))
    }
    return true
  }

  /// Waits for further saves, up to ``errorDelay``.
  ///
  /// - Returns: the page; `nil` if it was saved meanwhile, or closed.
  private func afterDelay(_ id: String, _ saves: Int, since began: ContinuousClock.Instant) async -> OpenedPage? {
    let deadline = began + Self.errorDelay
    while configuration.now() < deadline, pages[id]?.reloads.saves == saves {
      try? await Task.sleep(for: Self.step)
    }
    guard let page = pages[id], page.reloads.saves == saves else { return nil }
    return page
  }

  /// Tells once of each file of a page that was removed, unless it comes back at once: bundlers replace files.
  ///
  /// - Returns: `false`, since the page stays as it was.
  private func tellRemoved(
    _ files: Set<PageURL>, of id: String, _ saves: Int, since began: ContinuousClock.Instant
  ) async -> Bool {
    guard let page = await afterDelay(id, saves, since: began) else { return false }
    let gone = files.filter { answers.working?.isGone($0) == true }
    pages[id]?.reloads.removed.formUnion(gone)
    for url in gone.subtracting(page.reloads.removed) { configuration.development?.news(.removed(page, url)) }
    return false
  }

  /// Reloads a page, and does its user's inputs again. Inputs that come meanwhile wait for the new run.
  private func runAnew(_ id: String, _ development: Development) async throws -> OpenedPage {
    let (open, opener) = AsyncStream.makeStream(of: Void.self)
    pages[id]?.reloads.gate = Task { for await _ in open {} }
    defer {
      opener.finish()
      pages[id]?.reloads.gate = nil
    }
    let deadline = ContinuousClock.now + Self.entryWait
    while let entering = pages[id]?.reloads.entering, entering > 0, .now < deadline {
      try await Task.sleep(for: Self.step)
    }
    let (page, _) = try await reload(
      id, for: Self.client, repeating: development.keepsInputs ? pages[id]?.inputs ?? [] : nil)
    let replay = page.reply.replay
    pages[id]?.reloads.fitting = replay?.stopped == nil ? nil : replay?.count
    pages[id]?.reloads.isStopped = false
    return page
  }

  /// Ends a run of a page. If it is recorded, the end is in its recording.
  ///
  /// - Parameter number: the page's number in workers.
  func close(run number: UInt64) async {
    guard let recordings = configuration.development?.recordings else { return await pool.close(number) }
    // A page may take a second to leave; a new run does not wait for it.
    Task { [pool] in
      _ = try? await pool.end(number)
      recordings.close(number)
    }
  }

  /// Takes an error away that a page's viewers see.
  private func mend(_ id: String) {
    guard pages[id]?.reloads.fault != nil else { return }
    pages[id]?.reloads.fault = nil
    pages[id]?.live.append(LiveEvent.mended, JSONValue.object([:]).text)
  }

  /// Records that the viewers of a page see an error, and returns the page.
  ///
  /// - Parameter number: its number in workers.
  /// - Returns: `nil` if no page has the number now.
  func pageWithFault(_ number: UInt64) -> OpenedPage? {
    guard let page = pages.values.first(where: { $0.number == number }) else { return nil }
    pages[page.id]?.reloads.fault = .ofRun(number)
    return page
  }

  /// The bundle of a page, or of one that it embeds, as it runs; `nil` if the file has other bytes now.
  ///
  /// - Parameter location: its public URL.
  func bundle(at location: String, of page: OpenedPage) -> LoadedBundle? {
    if location == page.location { return page.target.bundle }
    guard let url = locations.source(of: location)?.url, let bundle = try? answers.working?.load(url),
      numbers[page.number]?.embeddedBundles.first(where: { $0.key.filePath == url.filePath })?.value == bundle.md5
    else { return nil }
    return bundle
  }
}
