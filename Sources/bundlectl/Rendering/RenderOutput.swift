import Foundation
import PageKit

extension Rendering {
  /// The JSON of `render`.
  ///
  /// - Parameter withTimings: pass `true` for the stages too, which differ from run to run.
  func json(isFile: Bool, withTimings: Bool) -> JSONObject {
    let stages = look.timings.stages.map { ($0.name, $0.time?.seconds) }
    let object: JSONObject = [
      // `memory`, `store`, `network`, `stale`, `kept` or `file`; `null` if the bundle was not available.
      "source": isFile ? "file" : look.bundle?.source.rawValue,
      "bundle": ["name": bundle.name, "url": bundle.url, "md5": bundle.md5] as JSONObject,
      "state": state.rawValue, "settled": look.pending.isSettled, "pending": look.pending.json,
      // Hits are requests that were answered without the network.
      "requests": ["total": look.timings.requests, "hits": look.timings.hits, "bytes": look.timings.bytes]
        as JSONObject,
      "root": look.tree.json, "messages": look.messages.map(\.json), "errors": faults.map(\.json),
      "missing": missingJSON,
      "logged": notices.logged,
    ]
    return object.adding(ifPresent: [
      "note": look.bundle?.note, "timings": withTimings ? Dictionary(stages) { first, _ in first } : nil,
    ])
  }

  /// Modules and components that the page uses and that are not registered; methods as `module.method`.
  private var missingJSON: [String: [String]] {
    var names: [String: [String]] = ["components": [], "modules": [], "methods": []]
    for part in notices.missing {
      switch part {
      case .component(let type): names["components", default: []].append(type)
      case .module(let name): names["modules", default: []].append(name)
      case .method(let module, let name): names["methods", default: []].append("\(module).\(name)")
      }
    }
    return names
  }

  /// The page's timings as lines of text.
  func timingLines(isFile: Bool) -> [String] {
    let timings = look.timings
    let found = isFile ? "bundle read" : look.bundle?.source == .network ? "bundle downloaded" : "bundle found"
    let stages: [(String, Duration?)] = [
      (found, timings.bundleReady), ("createInstance", timings.createInstance), ("first element", timings.firstElement),
      ("script evaluated", timings.evaluated),
      ("createFinish", timings.createFinish), ("first interaction", timings.interaction),
    ]
    // The stages in order, each with the time since the previous one.
    var former = 0.0
    var lines: [String] = []
    for (name, end) in stages.compactMap({ name, end in end.map { (name, $0.seconds) } }).sorted(by: { $0.1 < $1.1 }) {
      let padded = name.padding(toLength: 18, withPad: " ", startingAt: 0)
      lines.append("\(padded) \(Self.milliseconds(end))   +\(Self.milliseconds(end - former).drop { $0 == " " })")
      former = end
    }
    let bytes = Formatting.bytes(timings.bytes)
    lines.append(
      "\(Formatting.count(timings.requests, "request")), \(timings.hits) answered without the network, \(bytes)")
    return lines
  }

  private static func milliseconds(_ seconds: Double) -> String { String(format: "%8.1f ms", seconds * 1_000) }
}

extension Terminal {
  /// An outline of a page with highlighted types and dimmed refs.
  func styled(outline: String) -> String {
    guard isColoured else { return outline }
    return outline.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let indentation = line.prefix { $0 == " " }
      let parts = line.dropFirst(indentation.count).split(
        separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count >= 2 else { return String(line) }
      let rest = parts.count == 3 ? " \(parts[2])" : ""
      return
        "\(indentation)\(styled(String(parts[0]), .bold)) \(styled(String(parts[1]), .dim))\(rest)"
    }.joined(separator: "\n")
  }
}

extension ElementTree {
  /// The name and the code of the first language of the texts that needs a font of its own; `nil` if there is none.
  private var fontLanguage: (name: String, code: String)? {
    var found: (name: String, code: String)?
    for element in root.map({ preorder(from: $0) }) ?? [] {
      for text in ["value", "placeholder"].compactMap({ element.attributes[$0]?.string }) {
        for scalar in text.unicodeScalars where scalar.value >= 0x3040 {
          switch scalar.value {
          case 0x3040...0x30ff: return ("Japanese", "ja")
          case 0xac00...0xd7af: return ("Korean", "ko")
          // Japanese text has these too, with kana.
          case 0x3400...0x9fff, 0xf900...0xfaff, 0x2_0000...0x3_ffff: found = ("Chinese", "zh")
          default: break
          }
        }
      }
    }
    return found
  }

  /// The warning that this machine, whose browsers show the page's HTML, has no font for its text; `nil` if it has one,
  /// or no `fc-list` that tells.
  var fontWarning: String? {
    guard let language = fontLanguage, Self.fonts(for: language.code)?.isEmpty == true else { return nil }
    return
      "the page has \(language.name) text, and this machine has no font for it: a browser here shows boxes "
      + "(on Debian: apt install fonts-noto-cjk)"
  }

  /// The names of the fonts; `nil` if they cannot be listed.
  private static func fonts(for language: String) -> String? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["fc-list", ":lang=\(language)", "family"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let names = (try? output.fileHandleForReading.readToEnd()) ?? Data()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? String(decoding: names, as: UTF8.self) : nil
  }
}
