import HTTPTransport
import PagePictures
import Synchronization

/// Bounds the drawings of a process. Those under way may wait for their files at the same time; one at a time lays out,
/// decodes and draws, which may take much memory. The others wait, and pages take turns.
///
/// In a pool of workers calls wait before they come here: the limits are those of an app that draws by itself, and of workers
/// that get more calls than these.
final class DrawingTurns: Sendable {
  /// Those of this process.
  static let shared = DrawingTurns()
  /// The bytes that the drawings under way may have beyond their shares: as many as the files and the boxes of one.
  static let roomLimit = 96 << 20

  private let drawings: FairGate<String>
  private let work = FairGate<String>(width: 1)
  private let room = Mutex(DrawingTurns.roomLimit)

  /// - Parameters:
  ///   - width: the number of drawings under way.
  ///   - limit: the largest number of drawings that wait until they may begin.
  init(width: Int = 16, limit: Int = 16) { drawings = FairGate(width: width, limit: limit) }

  /// The number of drawings that have not begun.
  var waiting: Int { drawings.counts.waiting }

  /// Waits until a drawing may begin.
  ///
  /// - Throws: `PictureError.busy` if too many wait, or this one has waited for `patience`; `CancellationError`.
  func begin(for page: String, within patience: Duration) async throws -> FairGate<String>.Pass {
    try await Self.pass(drawings, page, patience)
  }

  func end(_ drawing: FairGate<String>.Pass) { drawings.leave(drawing) }

  /// Waits until no other drawing works.
  ///
  /// - Throws: `PictureError.busy` if it has waited for `patience`; `CancellationError`.
  func beginWork(for page: String, within patience: Duration) async throws -> FairGate<String>.Pass {
    try await Self.pass(work, page, patience)
  }

  func endWork(_ turn: FairGate<String>.Pass) { work.leave(turn) }

  private static func pass(
    _ gate: FairGate<String>, _ page: String, _ patience: Duration
  ) async throws -> FairGate<String>.Pass {
    do {
      return try await gate.enter(for: page, until: .now + patience)
    } catch FairGate<String>.Refusal.full(let limit) {
      throw PictureError.busy("\(limit) other pictures wait to be drawn, which is the limit: try again later")
    } catch FairGate<String>.Refusal.late {
      throw PictureError.busy("other pictures took longer than \(patience) to be drawn: try again later")
    }
  }

  /// Takes some of the memory of the drawings under way.
  ///
  /// - Returns: `false` if the others have taken too much of it.
  func take(_ bytes: Int) -> Bool {
    room.withLock { room in
      guard bytes <= room else { return false }
      room -= bytes
      return true
    }
  }

  func give(_ bytes: Int) { room.withLock { $0 += bytes } }
}

/// How a page is drawn.
public struct PictureOptions: Codable, Hashable, Sendable {
  /// The format of the file.
  public enum Format: String, Codable, Hashable, Sendable, CaseIterable {
    /// Pixels, on white.
    case png
    /// A drawing whose texts are outlines.
    case svg
  }

  /// A screen: its size in points, and the pixels of a point. As a text, also of its coding: `375x812@2`.
  public struct Screen: Codable, Hashable, Sendable, LosslessStringConvertible {
    /// The width in points, 1 to 10,000.
    public let width: Int
    /// The height in points, 1 to 10,000.
    public let height: Int
    /// The pixels of a point, 0.1 to 10.
    public let scale: Double

    /// Reads a text such as `375x812@2` or `375x812`; `nil` for other texts, and for numbers that are not allowed.
    public init?(_ text: String) {
      let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
      let sides = (parts.first ?? "").split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
      guard sides.count == 2, let width = sides[0], let height = sides[1], (1...10_000).contains(width),
        (1...10_000).contains(height), let scale = parts.count > 1 ? Double(parts[1]) : 1, (0.1...10).contains(scale)
      else { return nil }
      (self.width, self.height, self.scale) = (width, height, scale)
    }

    /// The text that ``init(_:)`` reads.
    public var description: String {
      let scale = Int(exactly: scale).map(String.init) ?? String(scale)
      return "\(width)x\(height)" + (scale == "1" ? "" : "@\(scale)")
    }

    /// Reads the text of a screen.
    ///
    /// - Throws: `DecodingError` for texts that ``init(_:)`` does not read.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      let text = try container.decode(String.self)
      guard let screen = Self(text) else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "\"\(text)\" is not a screen such as 375x812@2")
      }
      self = screen
    }

    /// Writes the text of the screen.
    ///
    /// - Throws: `EncodingError`.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(description)
    }

    /// The pixels of the screen.
    package var pixels: Double { Double(width) * Double(height) * scale * scale }
  }

  /// The largest number of pixels of a picture: 128 MB of memory.
  public static let pixelLimit = PageDrawing.pixelLimit

  /// The format of the file.
  public var format: Format
  /// The screen that the page is laid out for; `nil` for the device of `WXEnvironment`. The script is not told of it.
  public var screen: Screen?
  /// `true` to draw all of the page's content, also below the screen. Scrollers on the page stay scrolled as they
  /// are.
  public var isFull: Bool
  /// The longest time that the picture may take, in seconds, without the waits for others that are drawn. Half of it is the
  /// longest wait for pictures and fonts.
  public var timeLimit = 5.0
  /// The largest number of pixels of this picture, at most ``pixelLimit``.
  package var allowedPixels = PictureOptions.pixelLimit

  /// Makes the options of a picture.
  ///
  /// - Parameters:
  ///   - format: the format of the file.
  ///   - screen: the screen that the page is laid out for; `nil` for the device of `WXEnvironment`.
  ///   - isFull: `true` to draw also what is below the screen.
  public init(_ format: Format = .png, screen: Screen? = nil, isFull: Bool = false) {
    (self.format, self.screen, self.isFull) = (format, screen, isFull)
  }
}
