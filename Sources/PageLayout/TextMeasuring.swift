/// Measures texts for a layout. All numbers are units of the design, of which a page is ``LayoutWindow/width`` wide.
///
/// A layout keeps what it was told, by text and width, until the text, its style or the measurer changes.
///
///     struct Monospaced: TextMeasuring {
///       func size(of text: LayoutText, width: Double) -> LayoutSize {
///         let (letter, line) = (text.style.fontSize * 0.6, text.style.lineHeight ?? text.style.fontSize * 1.2)
///         let count = Double(text.spans.reduce(0) { $0 + $1.text.count })
///         guard count > 0 else { return .zero }
///         let perLine = max(1, min(count, (width / letter).rounded(.down)))
///         return LayoutSize(width: perLine * letter, height: (count / perLine).rounded(.up) * line)
///       }
///     }
///
/// It is called within ``LayoutTree/update()``, which for a page runs while all pages wait: it must not block. For deep trees,
/// and for pictures of pages, it is called on another thread, one call at a time for a tree. Sizes that are negative or not finite are bounded.
public protocol TextMeasuring: Sendable {
  /// Returns the size of a text in lines that are no wider than a width, but for a character that is wider.
  ///
  /// - Parameters:
  ///   - text: the text and its style. An empty text has no height.
  ///   - width: the width of the lines, at least 0; infinite for lines that only line ends end.
  /// - Returns: the width of the widest line and the height of all lines, finite and at least 0.
  func size(of text: LayoutText, width: Double) -> LayoutSize
}

/// A paragraph: the value of a `text`, an `input` or a `textarea`, or the parts of a `richtext`.
public struct LayoutText: Hashable, Sendable {
  /// A part of a text with one style, or a picture in the text.
  public struct Span: Hashable, Sendable {
    /// The characters; empty for a picture.
    public var text: String
    /// The style of the characters.
    public var style: TextStyle
    /// The size of a picture that stands in the text; `nil` for characters.
    public var picture: LayoutSize?
    /// The ref of the element that the part comes from.
    public var ref: String

    /// Makes a part of a text.
    ///
    /// - Parameters:
    ///   - text: the characters; empty for a picture.
    ///   - style: the style of the characters.
    ///   - picture: the size of a picture; `nil` for characters.
    ///   - ref: the ref of the element that the part comes from.
    public init(text: String, style: TextStyle = TextStyle(), picture: LayoutSize? = nil, ref: String = "") {
      self.text = text
      self.style = style
      self.picture = picture
      self.ref = ref
    }
  }

  /// The parts, in order. A `text` has one.
  public var spans: [Span]
  /// The style of the paragraph: its alignment, the height and number of its lines, its direction. The style of characters
  /// is that of their span.
  public var style: TextStyle

  /// Makes a paragraph.
  ///
  /// - Parameters:
  ///   - spans: the parts, in order.
  ///   - style: the style of the paragraph.
  public init(spans: [Span], style: TextStyle = TextStyle()) {
    self.spans = spans
    self.style = style
  }

  /// A text with one style.
  public init(_ text: String, style: TextStyle = TextStyle()) {
    self.init(spans: [Span(text: text, style: style)], style: style)
  }

  /// `true` if there are neither characters nor pictures.
  public var isEmpty: Bool { spans.allSatisfy { $0.text.isEmpty && $0.picture == nil } }
}

/// The properties of a style by which the size of a text changes. Colours and decorations are the drawer's to read.
public struct TextStyle: Hashable, Sendable {
  /// How a line begins and ends.
  public enum Alignment: UInt8, Hashable, Sendable {
    /// Where the direction of the paragraph begins.
    case start
    /// Where it ends.
    case end
    /// At the left.
    case left
    /// In the middle.
    case center
    /// At the right.
    case right
    /// From side to side.
    case justify
  }
  /// How a text ends that has more lines than it may.
  public enum Overflow: UInt8, Hashable, Sendable {
    /// With three dots.
    case ellipsis
    /// Where its lines end.
    case clip
  }
  /// Where a line may break.
  public enum WordBreak: UInt8, Hashable, Sendable {
    /// Between words, and within a word that is wider than the line.
    case normal
    /// Anywhere: `wordWrap: anywhere`, `wordBreak: break-all`.
    case anywhere
  }

  /// `fontSize` in units; 32 by default, as in both SDKs (`WXText.sDEFAULT_SIZE`, `WX_TEXT_FONT_SIZE`). 0 to 10,000.
  public var fontSize = 32.0
  /// `fontFamily` as the page wrote it; `nil` for the default font.
  public var fontFamily: String?
  /// `fontWeight`: 100 to 900; `normal` is 400, `bold` 700.
  public var fontWeight = 400
  /// `fontStyle: italic`.
  public var isItalic = false
  /// `lineHeight` in units; `nil` for the font's own.
  public var lineHeight: Double?
  /// `letterSpacing` in units.
  public var letterSpacing = 0.0
  /// `lines`: the largest number of lines; `nil` for any number.
  public var lines: Int?
  /// `textAlign`.
  public var alignment = Alignment.start
  /// `textOverflow`.
  public var overflow = Overflow.ellipsis
  /// `wordWrap` and `wordBreak`.
  public var wordBreak = WordBreak.normal
  /// The direction of the paragraph, from `direction` of the element or of one around it.
  public var isRightToLeft = false

  /// The initial values.
  public init() {}
}

/// A measurer without fonts: every character is half as wide as its font is high, those of East Asian scripts and emoji as
/// wide, and a line is 1.2 times as high as its font. Lines break after spaces and around wide characters; a word that is
/// wider than a line is broken.
public struct FixedAdvances: TextMeasuring {
  /// The width of a character as a share of `fontSize`.
  public var advance = 0.5
  /// The width of a wide character as a share of `fontSize`.
  public var wideAdvance = 1.0
  /// The height of a line as a share of `fontSize`, without a `lineHeight`.
  public var lineHeight = 1.2

  /// The measurer with the standard shares.
  public init() {}

  /// Returns the size of a text in lines that are no wider than a width.
  public func size(of text: LayoutText, width: Double) -> LayoutSize {
    var lines = Lines(width: width, limit: text.style.lines)
    spans: for span in text.spans {
      let height = text.style.lineHeight ?? span.style.lineHeight ?? span.style.fontSize * lineHeight
      if let picture = span.picture {
        lines.add(width: picture.width, height: max(height, picture.height), breaks: true)
        continue
      }
      let narrow = max(0, span.style.fontSize * advance + span.style.letterSpacing)
      let wide = max(0, span.style.fontSize * wideAdvance + span.style.letterSpacing)
      let breaks = span.style.wordBreak == .anywhere
      for scalar in span.text.unicodeScalars {
        if lines.isFull { break spans }
        switch scalar {
        case "\n": lines.end(height)
        case " ", "\t": lines.addSpace(width: narrow, height: height)
        default:
          let isWide = Self.isWide(scalar)
          let width = Self.isCombining(scalar) ? 0 : isWide ? wide : narrow
          lines.add(width: width, height: height, breaks: isWide || breaks)
        }
      }
    }
    return lines.size()
  }

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
      0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
      true
    default: false
    }
  }

  private static func isCombining(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x300...0x36F, 0x200B...0x200F, 0xFE00...0xFE0F, 0x1F3FB...0x1F3FF, 0xE0100...0xE01EF: true
    default: false
    }
  }

  /// Lines of a text as it is read: one pass, no memory per line.
  private struct Lines {
    let width: Double
    private var widest = 0.0
    private var heights = 0.0
    private var count = 0
    /// The line: up to its last break, spaces after it, and the word after them.
    private var line = 0.0
    private var spaces = 0.0
    private var word = 0.0
    private var height = 0.0
    private var isBegun = false
    /// The largest number of lines.
    private let limit: Int
    /// The size up to the last line that there may be; `nil` before.
    private var whole: LayoutSize?

    init(width: Double, limit: Int?) {
      self.width = width
      self.limit = limit ?? .max
    }

    /// `true` if there are as many lines as there may be: what follows does not count.
    var isFull: Bool { whole != nil }

    mutating func add(width added: Double, height: Double, breaks: Bool) {
      if breaks {
        commit()
        if line > 0, line + spaces + added > width { finish() }
        line += spaces + added
        spaces = 0
      } else {
        // A word that is wider than the line is broken.
        if word + added > width, word > 0 {
          if line > 0 { finish() }
          line = word
          word = 0
          finish()
        } else if line + spaces + word + added > width, line > 0 {
          finish()
        }
        word += added
      }
      begin(height)
    }

    mutating func addSpace(width added: Double, height: Double) {
      commit()
      spaces += added
      begin(height)
    }

    mutating func end(_ height: Double) {
      begin(height)
      commit()
      finish()
    }

    private mutating func begin(_ height: Double) {
      isBegun = true
      self.height = max(self.height, height)
    }

    private mutating func commit() {
      guard word > 0 else { return }
      line += spaces + word
      spaces = 0
      word = 0
    }

    private mutating func finish() {
      widest = max(widest, line)
      heights += height
      count += 1
      if count == limit { whole = LayoutSize(width: widest, height: heights) }
      line = 0
      spaces = 0
      isBegun = word > 0
    }

    mutating func size() -> LayoutSize {
      if isBegun {
        commit()
        finish()
      }
      return whole ?? LayoutSize(width: widest, height: heights)
    }
  }
}
