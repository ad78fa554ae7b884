import Foundation
import PageKit

/// The fonts of this machine for a page's text, which browsers here use to show its HTML.
enum PreviewFonts {
  /// A language whose text needs a font of its own.
  enum Language: String {
    case chinese = "zh"
    case japanese = "ja"
    case korean = "ko"
  }

  /// The first language of a page's texts that needs a font of its own; `nil` if there is none.
  static func language(of tree: ElementTree) -> Language? {
    var found: Language?
    for element in tree.root.map({ tree.preorder(from: $0) }) ?? [] {
      for text in ["value", "placeholder"].compactMap({ element.attributes[$0]?.string }) {
        for scalar in text.unicodeScalars where scalar.value >= 0x3040 {
          switch scalar.value {
          case 0x3040...0x30ff: return .japanese
          case 0xac00...0xd7af: return .korean
          // Japanese text has these too, with kana.
          case 0x3400...0x9fff, 0xf900...0xfaff, 0x2_0000...0x3_ffff: found = .chinese
          default: break
          }
        }
      }
    }
    return found
  }

  /// Says that this machine has no font for a page's text; `nil` if it has one, or `fc-list` is not here to tell.
  static func note(for tree: ElementTree) -> String? {
    guard let language = language(of: tree), fonts(for: language)?.isEmpty == true else { return nil }
    return
      "the page has \("\(language)".capitalized) text, and this machine has no font for it: a browser here shows boxes "
      + "(on Debian: apt install fonts-noto-cjk)"
  }

  /// The names of the fonts; `nil` if they cannot be listed.
  private static func fonts(for language: Language) -> String? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["fc-list", ":lang=\(language.rawValue)", "family"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let names = (try? output.fileHandleForReading.readToEnd()) ?? Data()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? String(decoding: names, as: UTF8.self) : nil
  }
}
