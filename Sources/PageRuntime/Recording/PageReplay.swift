import HTTPTransport
import ScriptEngine

/// Runs the script of a recorded page again, in an engine of its own, step by step. Nothing but the script runs: modules do
/// nothing, and what they answered is given.
package actor PageReplay {
  private let group: FrameworkGroup
  private let head: RecordingHead
  private let opening: (purpose: FrameworkPool.Purpose, prelude: String?)

  /// Boots the framework.
  ///
  /// - Parameters:
  ///   - bundle: the text of the bundle to run; `nil` for that of the recording.
  ///   - limits: the limits of an entry.
  /// - Throws: ``RecordingError``; ``PageError`` if the framework does not boot.
  package init(_ recording: Recording, bundle: String? = nil, limits: ScriptLimits = ScriptLimits()) async throws {
    let head = recording.head
    var scripts = ScriptConfiguration()
    scripts.limits = limits
    scripts.ready = 0
    scripts.environment = head.environment
    scripts.nodeEnvironment = head.nodeEnvironment
    if let framework = head.framework { scripts.frameworks[head.type] = try recording.text(framework) }
    let purpose = FrameworkPool.Purpose(
      type: head.type, url: head.url, source: try bundle ?? recording.text(head.bundle),
      modules: head.modules,
      components: head.components, determinism: head.determinism)
    let prelude = try head.prelude.map(recording.text)
    let services = try head.services.map { (name: $0.name, source: try recording.text($0.digest)) }
    let group = try await FrameworkPool(scripts).group(for: purpose)
    _ = try await group.register(services)
    (self.group, self.head, opening) = (group, head, (purpose, prelude))
  }

  /// Runs a step: the first one opens the page.
  ///
  /// - Returns: the calls and changes of the script.
  /// - Throws: ``ScriptError`` if the page's context cannot be made. An error of the script is in the result.
  package func run(_ step: RecordedStep) async throws -> ReplayedStep {
    group.clock?.begin(at: step.time)
    let outcome: EntryOutcome
    switch step.input {
    case .open(let config, let data):
      outcome = try await group.enter(
        head.page,
        .open(
          ScriptOpening(
            purpose: opening.purpose, config: config, data: data, prelude: opening.prelude,
            answers: .given(step.answers[...]))))
    case .entry(let input):
      try await group.give(.given(step.answers[...]), to: head.page)
      outcome = try await group.enter(head.page, input)
    }
    var text = RecordedText()
    text.write(outcome.commands)
    return ReplayedStep(
      commands: outcome.commands, digest: String(RecordingLine.digest(text.bytes).prefix(32)),
      exceptions: outcome.exceptions.map(\.message) + [outcome.failure.map { "\($0)" }].compactMap(\.self))
  }

  /// Ends the page.
  package func close() async { await group.close(head.page) }
}

/// The calls and changes of a recorded page's script in a step that was run again.
package struct ReplayedStep: Sendable {
  /// The changes of the elements.
  package let commands: [RenderCommand]
  /// The digest of the changes.
  package let digest: String
  /// The messages of the errors that it has thrown.
  package let exceptions: [String]

  init(commands: [RenderCommand], digest: String, exceptions: [String]) {
    (self.commands, self.digest, self.exceptions) = (commands, digest, exceptions)
  }

  /// The step as JSON, without its changes if they are those of the recording.
  package func text(besides recorded: RecordedStep) -> [UInt8] {
    var text = RecordedText()
    text.append(#"{"digest":"#)
    text.write(digest)
    text.append(#","exceptions":"#)
    text.write(exceptions) { $0.write($1) }
    if digest != recorded.digest {
      text.append(#","commands":"#)
      text.write(commands)
      // Of a process that may have been taken over: its texts are named by digests, so they are part of the answer.
      text.append(#","texts":"#)
      text.write(text.texts.values.sorted()) { $0.write($1) }
    }
    text.append("}")
    return text.bytes
  }

  /// Reads a step of a process that ran it.
  ///
  /// - Throws: ``RecordingError/malformedRun`` if it is not one.
  package init(reading bytes: [UInt8], besides recorded: RecordedStep) throws {
    do {
      guard case .object(let members) = try JSONValue(reading: bytes, limits: Recording.limits),
        let digest = ScriptValue(members["digest"] ?? .null).string
      else { throw RecordingError.malformedRun }
      func texts(_ name: String) -> [String] {
        (ScriptValue(members[name] ?? .null).array ?? []).compactMap(\.string)
      }
      var commands = recorded.commands
      if let changed = members["commands"] {
        let texts = Dictionary(texts("texts").map { (RecordingLine.digest(Array($0.utf8)), $0) }) { $1 }
        commands = try RecordedTextReader(texts: texts).commands(changed)
      }
      self.init(commands: commands, digest: digest, exceptions: texts("exceptions"))
    } catch is RecordedTextReader.Fault {
      throw RecordingError.malformedRun
    } catch is JSONError {
      throw RecordingError.malformedRun
    }
  }
}

/// The first step that is not as it was recorded.
package struct ReplayDifference: Sendable {
  package let step: RecordedStep
  /// The elements after the recorded step, and after that of the run.
  package let recorded: ElementTree
  package let found: ElementTree
  /// The errors that the script has thrown in the run.
  package let exceptions: [String]
}

extension Recording {
  /// Runs the script again, and compares the elements after each step with those of the recording.
  ///
  /// - Parameters:
  ///   - bundle: the text of the bundle to run; `nil` for that of the recording.
  ///   - last: the number of the last step to run; `nil` for all.
  ///   - limits: the limits of an entry.
  /// - Returns: the first step after which the elements differ; `nil` if there is none.
  /// - Throws: ``RecordingError``; ``PageError`` and ``ScriptError`` if the script cannot run.
  package func replay(
    bundle: String? = nil, to last: Int? = nil, limits: ScriptLimits = ScriptLimits()
  ) async throws -> ReplayDifference? {
    let replay = try await PageReplay(self, bundle: bundle, limits: limits)
    do {
      let difference = try await compare(to: last) { try await replay.run($0) }
      await replay.close()
      return difference
    } catch {
      await replay.close()
      throw error
    }
  }

  /// Compares the elements after each step with those of a run.
  ///
  /// - Parameter run: runs a step.
  /// - Throws: ``RecordingError``, and the errors of `run`.
  package func compare(
    to last: Int? = nil, _ run: (RecordedStep) async throws -> ReplayedStep
  ) async throws -> ReplayDifference? {
    var tree = ElementTree()
    tree.applyAll(try changes(after: 0))
    for number in 0..<min(stepCount, last ?? .max) {
      let step = try step(number + 1)
      let found = try await run(step)
      if found.digest == step.digest {
        tree.applyAll(step.commands)
      } else {
        var other = tree
        other.applyAll(found.commands)
        tree.applyAll(step.commands)
        // Other changes may make the same elements.
        if other != tree {
          return ReplayDifference(step: step, recorded: tree, found: other, exceptions: found.exceptions)
        }
      }
      tree.applyAll(try changes(after: number + 1))
    }
    return nil
  }
}
