import Blobs
import Hummingbird
import PageKit
import PageWorkers
import ServerKit

/// `/steps`: the steps of pages that are recorded, in their present runs. No script of a page runs to show them, and one runs
/// again to go on from a step.
struct StepRoutes: Sendable {
  let directory: PageDirectory
  let folder: WorkingFolder
  let pages: PageRoutes
  private let reader = RecordingReader()

  /// The number of steps in one list, and the limits of a step's texts: their number, and the characters of one.
  private static let listLimit = 200
  private static let numberLimit = 10_000_000
  private static let (textLimit, textLength) = (1_000, 2_000)

  func add(to router: some RouterMethods<HostRequestContext>) {
    router.get("/steps") { _, context in try await pages.answer(context) { await list() } }
    router.get("/steps/:id") { _, context in
      try await pages.answer(context) { try await document(try context.parameters.require("id")) }
    }
    router.get("/steps/:id/list") { request, context in
      try await pages.answer(context) {
        let recorded = try await recorded(try context.parameters.require("id"))
        return try Self.list(recorded, from: Self.number(request.uri.queryParameters["from"] ?? "1"))
      }
    }
    router.get("/steps/:id/:step") { _, context in
      try await pages.answer(context) {
        let recorded = try await recorded(try context.parameters.require("id"))
        return try Self.step(recorded, Self.number(try context.parameters.require("step")[...]))
      }
    }
    router.get("/steps/:id/:step/preview") { _, context in
      try await pages.answer(context) {
        let id = try context.parameters.require("id")
        let recording = try await recorded(id).recording
        return try Self.preview(recording, Self.number(try context.parameters.require("step")[...]), of: id)
      }
    }
    router.post("/steps/:id/:step/live") { request, context in
      try await pages.answer(context) {
        try LiveRoutes.checkOrigin(request)
        let id = try context.parameters.require("id")
        let step = try Self.number(try context.parameters.require("step")[...])
        let (run, recording, _) = try await recorded(id)
        guard request.uri.queryParameters["run"].map({ $0 == "\(run)" }) ?? true else {
          throw PageFailure.bundle(
            status: 409, reason: "the page has run anew since the step was shown: go on from a step of the present run")
        }
        let page = try await directory.goOn(from: recording, of: id, run: run, after: step, for: context.client)
        return Response.json(
          ["page": .string(page.id), "url": .string("/live?page=\(page.id)")], status: .created)
      }
    }
  }

  private static func number(_ text: Substring) throws -> Int {
    guard let number = Int(text), (1...numberLimit).contains(number) else {
      throw PageFailure.badRequest(
        "\(String(text).quotedForMessage) is not the number of a step: they are from 1 to \(numberLimit)")
    }
    return number
  }

  /// A recording of a run, and the time of its first step.
  private typealias Recorded = (run: UInt64, recording: Recording, began: Double)

  /// The recording of a page's present run.
  ///
  /// - Throws: ``PageFailure``.
  private func recorded(_ id: String) async throws -> Recorded {
    let page = try await directory.page(id, as: .glance)
    guard let path = directory.configuration.development?.recordings?.path(of: page.number) else {
      throw PageFailure.bundle(
        status: 404, reason: "the page is not recorded: start bundlectl dev with --record FILE")
    }
    do {
      let (recording, began) = try await reader.recording(at: path)
      return (page.number, recording, began)
    } catch {
      throw PageFailure.bundle(status: 404, reason: "the recording cannot be shown: \(error.sentence)")
    }
  }

  // MARK: Documents

  /// The pages that are recorded.
  private func list() async -> Response {
    let recordings = directory.configuration.development?.recordings
    let rows = await directory.pages.values.sorted { $0.opened < $1.opened }
      .filter { recordings?.path(of: $0.number) != nil }
      .map { page in
        let name = folder.name(of: page.target.url) ?? page.location
        return "<li><a href=\"/steps/\(page.id)\">\(name.escaped)</a></li>"
      }
    let text =
      recordings == nil
      ? "<p>Steps are those of recordings: start bundlectl dev with --record FILE.</p>"
      : rows.isEmpty ? "<p>No page is open.</p>" : "<ul>\n\(rows.joined(separator: "\n"))\n</ul>"
    return DevelopmentRoutes.document(title: "Steps", "<h1>Steps</h1>\n\(text)")
  }

  private func document(_ id: String) async throws -> Response {
    let page = try await directory.page(id, as: .glance)
    let name = folder.name(of: page.target.url) ?? page.location
    return DevelopmentRoutes.document(
      title: "Steps of \(name)", Self.body,
      script: Self.script.replacing("PAGE", with: String(decoding: JSONValue.string(page.id).text, as: UTF8.self)))
  }

  private static func list(_ recorded: Recorded, from first: Int) throws -> Response {
    let (run, recording, began) = recorded
    let last = min(recording.stepCount, first - 1 + listLimit)
    let steps = try first > last ? [] : (first...last).map { try head(recording.step($0), began) }
    return Response.json([
      "run": .integer(Int64(clamping: run)), "count": .integer(Int64(recording.stepCount)),
      "ending": recording.ending.map { .string($0) } ?? .null, "steps": .array(steps.map { .object($0) }),
    ])
  }

  private static func head(_ step: RecordedStep, _ began: Double) -> [String: JSONValue] {
    [
      "step": .integer(Int64(step.number)), "milliseconds": .number(step.time - began), "title": .string(step.title),
      "commandCount": .integer(Int64(step.commands.count)), "failed": .bool(!step.exceptions.isEmpty),
    ]
  }

  private static func step(_ recorded: Recorded, _ number: Int) throws -> Response {
    let (run, recording, began) = recorded
    let step = try found { try recording.step(number) }
    func texts(_ all: some Sequence<String>) -> JSONValue {
      .array(all.prefix(textLimit).map { .string(String($0.prefix(textLength))) })
    }
    var members = head(step, began)
    members["run"] = .integer(Int64(clamping: run))
    members["commands"] = texts(step.commands.lazy.map(\.description))
    (members["calls"], members["logs"], members["exceptions"]) = (
      texts(step.calls), texts(step.logs), texts(step.exceptions)
    )
    return Response.json(members)
  }

  /// The elements after a step. Their pictures are those that are there now.
  private static func preview(_ recording: Recording, _ number: Int, of id: String) throws -> Response {
    let tree = try found { try recording.tree(after: number) }
    let base = PageURL(recording.url)
    let preview = HTMLPreview(tree, title: "Step \(number)") { reference in
      if reference.isDataURL { return reference }
      guard let target = base.map({ $0.resolving(reference) }) ?? PageURL(reference) else { return nil }
      return "/pages/\(id)/live/resource?url=\(target.text.percentEncoded)"
    }
    // Other machines' browsers send their cookie with requests of this origin alone.
    return PageRoutes.response(html: Array(preview.html.utf8), pictures: "'self'", rights: " allow-same-origin")
  }

  private static func found<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as RecordingError {
      throw PageFailure.bundle(status: 404, reason: "\(error)")
    }
  }

  private static let body = """
    <div class="steps">
    <section><h1></h1><input type="range" min="1" max="1" value="1" aria-label="Step">
    <button type="button" disabled>Go on from here</button><ol></ol></section>
    <iframe title="The elements after the step" width="375" height="667" sandbox="allow-same-origin"></iframe>
    <section id="facts"></section>
    </div>
    """

  /// The document asks for one step at a time: while the slider moves, the latest place counts.
  private static let script = #"""
    addEventListener("DOMContentLoaded", () => {
      const page = PAGE, one = (selector) => document.querySelector(selector);
      const [heading, slider, button, list, frame, facts] = ["h1", "input", "button", "ol", "iframe", "#facts"].map(one);
      let run, count = 0, steps = [], wanted = 0, isAsking = false, follows = true;
      const ask = async (path, method = "GET") => {
        const answer = await fetch(`/steps/${page}/${path}`, { method, cache: "no-store" });
        const found = await answer.json();
        if (!answer.ok) throw new Error(found.error);
        return found;
      };
      const made = (tag, text, parent) => {
        const element = document.createElement(tag);
        element.textContent = text;
        parent.append(element);
        return element;
      };
      const time = (step) => `+${(step.milliseconds / 1000).toFixed(3)} s`;
      const showList = () => {
        list.replaceChildren();
        list.start = steps[0]?.step ?? 1;
        for (const step of steps) {
          const row = made("li", `${time(step)} ${step.title}: ${step.commandCount === 1 ? "1 change" : `${step.commandCount} changes`}`, list);
          if (step.failed) row.classList.add("failed");
          if (step.step === wanted) { row.classList.add("shown"); row.scrollIntoView({ block: "nearest" }); }
          row.addEventListener("click", () => show(step.step));
        }
      };
      const lists = async (number) => {
        if (steps.some((step) => step.step === number)) return;
        const found = await ask(`list?from=${Math.max(1, number - 100)}`);
        if (found.run === run) steps = found.steps;
      };
      const showStep = (step) => {
        facts.replaceChildren();
        made("h2", `Step ${step.step}: ${step.title}`, facts);
        const parts = [["Errors", "exceptions"], ["Calls and requests", "calls"], ["Logs", "logs"], ["Changes", "commands"]];
        for (const [title, part] of parts) {
          if (!step[part].length) continue;
          made("h3", title, facts);
          made("pre", step[part].join("\n"), facts);
        }
        const more = step.commandCount - step.commands.length;
        if (more > 0) made("p", `${more} more changes`, facts);
      };
      const show = async (number) => {
        wanted = Math.min(Math.max(1, number), count);
        follows = wanted === count;
        slider.value = wanted;
        button.disabled = !count;
        heading.textContent = `Step ${wanted} of ${count}`;
        if (isAsking) return;
        isAsking = true;
        try {
          for (let shown = 0; shown !== wanted;) {
            shown = wanted;
            frame.contentWindow.location.replace(`/steps/${page}/${shown}/preview`);
            const step = await ask(shown);
            if (step.run !== run) break;
            await lists(shown);
            showStep(step);
            showList();
          }
        } catch (error) { heading.textContent = error.message; }
        isAsking = false;
      };
      const update = async () => {
        if (document.hidden) return;
        try {
          const found = await ask(`list?from=${count + 1}`);
          const isOther = found.run !== run;
          if (!isOther && found.count === count) return;
          if (isOther) { steps = []; follows = true; }
          else if (steps.length < 200 && steps.at(-1)?.step === count) steps.push(...found.steps);
          (run = found.run), (count = found.count), (slider.max = Math.max(1, count));
          if (count) await show(follows ? count : wanted); else heading.textContent = "No step yet";
        } catch (error) { heading.textContent = error.message; }
      };
      slider.addEventListener("input", () => show(Number(slider.value)));
      button.addEventListener("click", async () => {
        button.disabled = true;
        try { location.assign((await ask(`${wanted}/live?run=${run}`, "POST")).url); }
        catch (error) { heading.textContent = error.message; }
        button.disabled = false;
      });
      update();
      setInterval(update, 2000);
    });
    """#
}

/// Reads the recordings of runs. It keeps the latest one, since a viewer asks for one step after the other, and reads only
/// what was appended to it since.
private actor RecordingReader {
  private var kept: (path: String, file: [UInt64], recording: Recording, began: Double?)?

  /// The longest recording that is shown, in bytes. `bundlectl replay` shows longer ones.
  private static let limit: Int64 = 64 << 20

  /// - Returns: the recording, and the time of its first step: reading a first step with many elements takes longer than
  ///   others.
  /// - Throws: ``RecordingError``, ``RegularFileError``.
  func recording(at path: String) throws -> (recording: Recording, began: Double) {
    let status = FileStatus(ofLink: path)
    let file = status.map { [$0.device, $0.inode] } ?? []
    var known = kept
    // Bytes that nothing else refers to are appended to without a copy.
    kept = nil
    if let size = status?.size, let count = known.map({ Int64($0.recording.byteCount) }), count <= size,
      known?.path == path, known?.file == file
    {
      if count < size {
        try known?.recording.append(RegularFile.contents(of: path, from: count, upTo: Self.limit))
      }
    } else {
      known = nil
    }
    var found = try known ?? (path, file, Recording(reading: RegularFile.contents(of: path, upTo: Self.limit)), nil)
    if found.began == nil, found.recording.stepCount > 0 { found.began = try found.recording.step(1).time }
    kept = found
    return (found.recording, found.began ?? 0)
  }
}
