import Foundation
import Testing

// Made once from the contents named here; every text is the base64 of what the tool wrote.

extension EncodedFixture {
  /// The content of most fixtures.
  private static let script = Array(
    (0..<12).map { number in
      #"export const item\#(number) = { name: "Item \#(number)", price: \#(number * number * 7 + 99), tags: ["new", "sale"] };"#
        + "\n"
    }.joined().utf8)

  private static func letters(_ count: Int) -> [UInt8] { Array(repeating: UInt8(ascii: "a"), count: count) }

  static let gzip = EncodedFixture(
    "gzip", "a script", of: script,
    """
    H4sIAAAAAAACA5XSzQrCMAzA8btPEXreYenSdp34AD6DeBijyMB9sBYUxHd3txYjQq4p/AjpPzzXZUswLHNMMKYw1XCCF8z9FDpQ
    530Atapg3cZhH3hfQepvsYOLmsNjf1Cxvwd1hffxEL4pZBRmCmsrsTSzdGFpJ7EaZjWFZbXEImZRtjSixDLMMoXlSGJZZtlsNUa0
    l2OWyxaR6F4ts9psGRL9o2eWz5a1or6Qd49F+E5Y/o/0i/Y9/dvtA1CujQOTAwAA
    """)

  static let brotli = EncodedFixture(
    "br", "a script", of: script,
    """
    G5ID0CwKbBulN9LiIYdXJH6YtblplZ8b/t7333daG0MiyBaFhqh3epLmtAhLl5sEUaDLsLI36N+d6+2+f2rPLPfWPJMwAIsx4CiV
    ZVvx+TE80/EzV7rug5O+7bWhbiQmFb83EZvlnM3OvSTa3Sk/BQ7gGNi4UNrEPTO3mbhCYwJ4YWlzdYPFcoE7PKYqXlFjRd0DETOz
    PdgClvOIAsBoqAE=
    """)

  static let zstd = EncodedFixture(
    "zstd", "a script", of: script,
    """
    KLUv/QRo1QQAIggaGIBPB+zamOHyxWmImxMh4yTSbl9mLyxTGKucmczQ5XN3maEOBPFUIcxB2FU4DJlP9a0gwPfeuswEjOxK62ep
    2oNmddSSF1WzxAfML5pxqOlBc4c6Iu1FQ0t07Mcd1NF5rCKJeaSk6eoiqBGQot7/O9A71xE8kAmXxTvx9wEDNToi78sMiyKnByWa
    LZU0u7K8p6O5OIxUA4KIKrQ=
    """)

  static let gzipEmpty = EncodedFixture(
    "gzip", "nothing", of: [],
    """
    H4sIAAAAAAACAwMAAAAAAAAAAAA=
    """)

  static let brotliEmpty = EncodedFixture(
    "br", "nothing", of: [],
    """
    Ow==
    """)

  static let zstdEmpty = EncodedFixture(
    "zstd", "nothing", of: [],
    """
    KLUv/SQAAQAAmenYUQ==
    """)

  static let gzip65535 = EncodedFixture(
    "gzip", "65535 equal bytes", of: letters(65535),
    """
    H4sIAAAAAAACA+3BgQAAAACAINb9JRapCgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    AAAAAAAAAAAAAAAAABq6LnUj//8AAA==
    """)

  static let gzip65536 = EncodedFixture(
    "gzip", "65536 equal bytes", of: letters(65536),
    """
    H4sIAAAAAAACA+3BgQAAAACAINb9JRapCgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    AAAAAAAAAAAAAAAAAGr/kSDDAAABAA==
    """)

  static let gzip131072 = EncodedFixture(
    "gzip", "131072 equal bytes", of: letters(131072),
    """
    H4sIAAAAAAACA+3BMQEAAADCoKzrX8LDGkABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    AAAA3AAwUZfKAAACAA==
    """)

  static let brotli65535 = EncodedFixture(
    "br", "65535 equal bytes", of: letters(65535),
    """
    G/7/+CXC4rFAAPceAA==
    """)

  static let brotli65536 = EncodedFixture(
    "br", "65536 equal bytes", of: letters(65536),
    """
    G///+CXC4rFAIPceAA==
    """)

  static let brotli131072 = EncodedFixture(
    "br", "131072 equal bytes", of: letters(131072),
    """
    W///gV8iLB4LBHLvAwA=
    """)

  static let zstd65535 = EncodedFixture(
    "zstd", "65535 equal bytes", of: letters(65535),
    """
    KLUv/QRoTQAACGEBAPt/HQgB/aLh1w==
    """)

  static let zstd65536 = EncodedFixture(
    "zstd", "65536 equal bytes", of: letters(65536),
    """
    KLUv/QRoTQAACGEBAPx/HQgBmx7iQA==
    """)

  static let zstd131072 = EncodedFixture(
    "zstd", "131072 equal bytes", of: letters(131072),
    """
    KLUv/QRoTQAACGEBAPz/ORACJPclQA==
    """)

  static let zstdUnchecked65536 = EncodedFixture(
    "zstd", "65536 equal bytes without a checksum", of: letters(65536),
    """
    KLUv/QBoTQAACGEBAPx/HQgB
    """)

  static let zstdUnchecked131072 = EncodedFixture(
    "zstd", "131072 equal bytes without a checksum", of: letters(131072),
    """
    KLUv/QBoTQAACGEBAPz/ORAC
    """)

  static let gzipMembers = EncodedFixture(
    "gzip", "two members", of: script,
    """
    H4sIAAAAAAACA0utKMgvKlFIzs8rLlHILEnNNVCwVahWyEvMTbVSUPIECigYKOkoFBRlJgMFLC11FEoS04utFKKV8lLLgRJKxYk5
    qUqxCrXWXKnoRhliGGWIMMrQwIwUs4wwzDJCMsvIHAAytu+lyAAAAB+LCAAAAAAAAgOV0E0KwjAQBeC9pxiy7qLTTJKmxQN4BnER
    SpCC/aENKIh3t7sRBoTZPngfj1dBSfe9g6uZ89NUYPb0yOYGn/6UX+uyFRiWeS8wljxZOMMb5jTlDszlCMAejXUbhyNA31QKi4RF
    bDWIGssJy/1YgTSWF5ZnyzrVriCswBaR6q9WWC1bjoLGisKKbHnvNRbWAsOatRCjSkOpIWuR/m37AswssXrLAgAA
    """)

  static let gzipThenBrotli = EncodedFixture(
    "gzip, br", "gzip, then br", of: script,
    """
    i2KAH4sIAAAAAAACA5XSzQrCMAzA8btPEXreYenSdp34AD6DeBijyMB9sBYUxHd3txYjQq4p/AjpPzzXZUswLHNMMKYw1XCCF8z9
    FDpQ530Atapg3cZhH3hfQepvsYOLmsNjf1Cxvwd1hffxEL4pZBRmCmsrsTSzdGFpJ7EaZjWFZbXEImZRtjSixDLMMoXlSGJZZtls
    NUa0l2OWyxaR6F4ts9psGRL9o2eWz5a1or6Qd49F+E5Y/o/0i/Y9/dvtA1CujQOTAwAAAw==
    """)

  static let brotliThenGzip = EncodedFixture(
    "br, gzip", "br, then gzip", of: script,
    """
    H4sIAAAAAAACAwGhAF7/G5ID0CwKbBulN9LiIYdXJH6YtblplZ8b/t7333daG0MiyBaFhqh3epLmtAhLl5sEUaDLsLI36N+d6+2+
    f2rPLPfWPJMwAIsx4CiVZVvx+TE80/EzV7rug5O+7bWhbiQmFb83EZvlnM3OvSTa3Sk/BQ7gGNi4UNrEPTO3mbhCYwJ4YWlzdYPF
    coE7PKYqXlFjRd0DETOzPdgClvOIAsBoqAGFCS5qoQAAAA==
    """)

  static let zstdWide = EncodedFixture(
    "zstd", "a window of 128 MiB (--long=27)", of: script,
    """
    KLUv/QSI1QQAIggaGIBPB+zamOHyxWmImxMh4yTSbl9mLyxTGKucmczQ5XN3maEOBPFUIcxB2FU4DJlP9a0gwPfeuswEjOxK62ep
    2oNmddSSF1WzxAfML5pxqOlBc4c6Iu1FQ0t07Mcd1NF5rCKJeaSk6eoiqBGQot7/O9A71xE8kAmXxTvx9wEDNToi78sMiyKnByWa
    LZU0u7K8p6O5OIxUA4KIKrQ=
    """)

  /// The script in each coding.
  static let scripts = [gzip, brotli, zstd]
  static let empties = [gzipEmpty, brotliEmpty, zstdEmpty]
  /// Contents of the size of the decoders' buffers, and one byte less.
  static let bufferfuls = [
    gzip65535, gzip65536, gzip131072, brotli65535, brotli65536, brotli131072, zstd65535, zstd65536, zstd131072,
    zstdUnchecked65536, zstdUnchecked131072,
  ]
  static let all = scripts + empties + bufferfuls + [gzipMembers, gzipThenBrotli, brotliThenGzip]
}

/// 100 MiB of zeros in a few hundred bytes.
enum Bomb: CaseIterable {
  case gzip, brotli, zstd

  var coding: String {
    switch self {
    case .gzip: "gzip, gzip"
    case .brotli: "br"
    case .zstd: "zstd"
    }
  }

  var bytes: [UInt8] {
    get throws {
      let base64 =
        switch self {
        case .gzip:
          """
          H4sIAAAAAAACA+3dLW4CQQCG4V1205AKfgQKUZKaHgFDAgZTg6C2hANwht2EoGpqmvQWVRygDlm31HGApgKBot2ye4tpnkeNft0k
          X2ZunppRpZF8vcfx5ZA//759N68jAAAAAAAAACBw+ec6qcYA0aAsprMHAAAAAAAAACB0y3YrrUcB50V/IgcAAAAAAAAABG8zGnbq
          FwKO2SqVAwAAAAAAAACC1zsdxvUWYFduu3M9AAAAAAAAACB4+3USV1uAQVlMZ3IAAAAAAAAAQPCW7VZabQHy86I/kQMAAAAAAAAA
          grcZDTv1JwHHbJXKAQAAAAAAAADB650O43oLsCu33bkeAAAAAAAAABC8/TqJqy3AoCymMzkAAAAAAAAAIHjLdiuttgD5edGfyAEA
          AAAAAAAAwduMhp36k4BjtkrlAAAAAAAAAIDgvZwOefUwwPijLH6avQgAAOC/eWy83t7dX+49V38XyRtSn40BAA==
          """
        case .brotli:
          """
          y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v0f////4J8AiMMCAN37P/7//8E/ARCHBQC693/8//+DfwIgDgsAdO//+P//B/8EQBwW
          AOje//H//w/+CYA4LADQvf/j//8f/BMAcVgAoHv/x///P/gnAOKwAED3/o///3/wTwDEYQGA7v0f////4J8AiMMCAN37P/7//8E/
          ARCHBQC693/5//+DfwIgDgsAdO9/AA==
          """
        case .zstd:
          // One frame of 1 MiB; consecutive frames are one content.
          """
          KLUv/QRoTAAACAABAPz/ORACAgAQAAIAEAACABAAAgAQAAIAEAACABAAAwAQAPE+FuE=
          """
        }
      let bytes = try Array(#require(Data(base64Encoded: base64, options: .ignoreUnknownCharacters)))
      return self == .zstd ? Array(repeatElement(bytes, count: 100).joined()) : bytes
    }
  }
}
