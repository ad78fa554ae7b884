import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import ScriptEngine

extension ModuleTable {
  /// `stream`: the requests of scripts.
  static let stream: [String: ModuleMethod] = [
    "fetch": .deferred { try await fetch($0[0], $0.callback(at: 1), $0.callback(at: 2), $1) },
    "fetchWithArrayBuffer": .deferred { call, page in
      var options = call[1].object ?? [:]
      if let bytes = call[0].bytes { options["body"] = .data(bytes) }
      try await fetch(.object(options), call.callback(at: 2), call.callback(at: 3), page)
    },
    "sendHttp": .answering(at: 1) { call, page in .string(try await sendHTTP(call[0], page)) },
  ]

  /// The older form of `fetch`: gives the body as text, empty if there was no answer.
  @PageActor private static func sendHTTP(_ given: ScriptValue, _ page: PageInstance) async throws -> String {
    var options = given.object ?? [:]
    options["headers"] = options["header"] ?? options["headers"]
    var text = ""
    guard let request = try? makeRequest(.object(options), page) else { return text }
    for await update in page.counted(for: request, within: timeout(in: given) ?? .seconds(60)) {
      switch update {
      case .cached(let loaded), .network(let loaded), .notModified(let loaded):
        text = try await loaded.text()
      case .failed(let failure):
        guard text.isEmpty, let loaded = failure.answer else { break }
        text = try await loaded.text()
      }
    }
    return text
  }

  /// The script's time limit.
  private static func timeout(in options: ScriptValue) -> Duration? {
    options["timeout"].milliseconds(in: 1...86_400_000)
  }

  @PageActor private static func fetch(
    _ options: ScriptValue, _ callback: String?, _ progress: String?, _ page: PageInstance
  ) async throws {
    func answer(_ payload: Payload, keepAlive: Bool = false) async throws {
      guard let callback else { return }
      let json = payload.json.map { (name: "data", text: $0) }
      try await page.callback(callback, payload.value, keepAlive: keepAlive, json: json)
    }
    func failed(_ reason: String) -> Payload {
      (
        ["status": -1, "ok": false, "statusText": "ERR_CONNECT_FAILED", "data": .string(reason), "headers": [:]], nil
      )
    }
    let request: ResourceRequest
    do {
      request = try makeRequest(options, page)
    } catch {
      return try await answer(failed("\(error)"))
    }
    if let progress { try await page.callback(progress, ["readyState": 1], keepAlive: true) }
    let type = options["type"].string?.lowercased()
    let isTwofold = page.environment.resources.behavior(for: page.rewritten(request)).refresh == .always
    var hasAnswered = false
    for await update in page.counted(for: request, within: timeout(in: options)) {
      switch update {
      case .cached(let loaded) where isTwofold:
        try await answer(try await payload(loaded, as: type, fromCache: true), keepAlive: true)
        hasAnswered = true
      case .notModified where hasAnswered: break
      case .cached(let loaded), .network(let loaded), .notModified(let loaded):
        if let progress { try await page.callback(progress, Self.state(of: loaded), keepAlive: true) }
        try await answer(try await payload(loaded, as: type, fromCache: isTwofold ? false : nil))
        hasAnswered = true
      case .failed(let failure):
        // An answer that was given stays valid.
        if hasAnswered { break }
        if let loaded = failure.answer {
          try await answer(try await payload(loaded, as: type, fromCache: isTwofold ? false : nil))
        } else {
          try await answer(failed(failure.description))
        }
        hasAnswered = true
      }
    }
  }

  private static func state(of loaded: Resource) -> ScriptValue {
    [
      "readyState": 4, "status": .number(Double(loaded.status)),
      "length": .number(loaded.response.headerFields[.contentLength].flatMap { Double($0) } ?? 0),
      "statusText": .string(loaded.response.status.standardPhrase), "headers": headers(of: loaded),
    ]
  }

  private static func headers(of loaded: Resource) -> ScriptValue {
    var values: [String: String] = [:]
    for field in loaded.response.headerFields {
      let name = field.name.rawName
      values[name] = values[name].map { "\($0), \(field.value)" } ?? field.value
    }
    return values.scriptValue
  }

  @PageActor private static func makeRequest(_ options: ScriptValue, _ page: PageInstance) throws -> ResourceRequest {
    guard let url = options["url"].string, !url.isEmpty else { throw LoadError.invalidReference("") }
    let name = (options["method"].string ?? "GET").uppercased()
    guard let method = HTTPRequest.Method(name) else { throw LoadError.invalidReference("the method \(name)") }
    var fields = HTTPFields()
    for (name, value) in options["headers"].object ?? [:] {
      guard let name = HTTPField.Name(name), let text = value.plainText, HTTPField.isValidValue(text) else { continue }
      fields[name] = text
    }
    var body: [UInt8] = []
    if method != .get, method != .head {
      switch options["body"] {
      case .string(let text): body = Array(text.utf8)
      case .object, .array:
        body = Array(options["body"].jsonText.utf8)
        if !fields.contains(.contentType) { fields[.contentType] = "application/json" }
      case .data(let bytes): body = bytes
      default: break
      }
      if !body.isEmpty, !fields.contains(.contentType) { fields[.contentType] = "application/x-www-form-urlencoded" }
    }
    var request = ResourceRequest(url, base: page.url, type: .fetch, method: method, fields: fields, body: body)
    if let mode = options["cache"].string { request.behavior = LoadBehavior(named: mode) }
    return request
  }

  /// The argument of the script's callback, and its member `data` as JSON; `nil` if the value has it.
  private typealias Payload = (value: ScriptValue, json: String?)

  /// - Parameter type: the form in which the script wants the answer's body: `json`, `jsonp`, or text.
  private static func payload(_ loaded: Resource, as type: String?, fromCache: Bool?) async throws -> Payload {
    let text = try await loaded.text()
    var value: [String: ScriptValue] = [
      "status": .number(Double(loaded.status)), "ok": .bool((200..<300).contains(loaded.status)),
      "statusText": .string(loaded.response.status.standardPhrase), "headers": headers(of: loaded),
    ]
    if let fromCache { value["fromCache"] = .bool(fromCache) }
    if type == "json" { return (.object(value), text) }
    // Text that is not a call is given as text.
    if type == "jsonp", let json = jsonpArgument(of: text), ScriptValue(json: json) != nil {
      return (.object(value), json)
    }
    value["data"] = .string(text)
    return (.object(value), nil)
  }

  /// `name({…});`
  private static func jsonpArgument(of text: String) -> String? {
    guard let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")"), start < end else { return nil }
    return String(text[text.index(after: start)..<end])
  }
}

// MARK: Charsets

extension Resource {
  /// The body as text, decoded by the charset of its `Content-Type` as both SDKs do. It is read as UTF-8 if there is no
  /// charset, or if the charset is unknown or does not fit the bytes.
  fileprivate func text() async throws -> String {
    let bytes = try await body.collect()
    return response.headerFields[.contentType].flatMap(String.Encoding.init(of:))?.text(bytes)
      ?? String(decoding: bytes, as: UTF8.self)
  }
}

/// The charsets that pages' servers use, by the names of IANA and their usual aliases. `scripts/trim-icu-data` keeps their
/// tables in released programs.
extension String.Encoding {
  /// Reads the parameter `charset` of a media type, such as `text/html; charset="GBK"`; `nil` if there is none that is
  /// known.
  fileprivate init?(of mediaType: String) {
    let lowercased = mediaType.lowercased()
    guard let start = lowercased.firstRange(of: "charset=")?.upperBound else { return nil }
    let rest = lowercased[start...].drop { $0 == "\"" || $0 == "'" }
    let name = String(rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.:".contains($0)) })
      .replacing("_", with: "-")
    if let part = Self.number(in: name, after: "iso-8859-"), 1...16 ~= part, part != 12 {
      self.init(rawValue: 0x8000_0200 + UInt(part))
    } else if let page = Self.number(in: name, after: "windows-") ?? Self.number(in: name, after: "cp"),
      1250...1258 ~= page
    {
      // Foundation's numbers of the first three are in another order.
      let number = [1250: 1, 1251: 2, 1252: 0][page] ?? page - 1250
      self.init(rawValue: 0x8000_0500 + UInt(number))
    } else if let known = Self.named[name] {
      self = known
    } else {
      return nil
    }
  }

  /// Returns `nil` if the bytes are not text in this charset.
  fileprivate func text(_ bytes: [UInt8]) -> String? {
    guard self == .japaneseEUC else { return String(data: Data(bytes), encoding: self) }
    return Self.iso2022(fromEUCJP: bytes).flatMap { String(data: $0, encoding: .init(rawValue: 0x8000_0822)) }
  }

  private static func number(in name: String, after prefix: String) -> Int? {
    name.hasPrefix(prefix) ? Int(name.dropFirst(prefix.count)) : nil
  }

  /// Returns the same text in ISO-2022-JP-1, which has the same character sets; `nil` if the bytes are not EUC-JP.
  ///
  /// Foundation on Linux does not decode EUC-JP, and iconv reads its tables from files, which a confined worker cannot.
  private static func iso2022(fromEUCJP bytes: [UInt8]) -> Data? {
    var result = Data(capacity: bytes.count + 8)
    // The sequences that switch to ASCII, JIS X 0208, JIS X 0212 and the katakana of JIS X 0201.
    let (ascii, kanji, rareKanji, katakana) = ("\u{1B}(B", "\u{1B}$B", "\u{1B}$(D", "\u{1B}(I")
    var current = ascii
    func append(_ characters: ArraySlice<UInt8>, in set: String) -> Bool {
      if set != current { result.append(contentsOf: set.utf8) }
      current = set
      result.append(contentsOf: characters.map { $0 & 0x7F })
      return characters.allSatisfy { 0xA1...0xFE ~= $0 }
    }
    var rest = bytes[...]
    while let lead = rest.first {
      switch lead {
      case 0x1B, 0x0E, 0x0F: return nil  // would switch the set
      case ..<0x80:
        if current != ascii { result.append(contentsOf: ascii.utf8) }
        current = ascii
        result.append(lead)
        rest = rest.dropFirst()
      case 0x8E:
        guard rest.count >= 2, append(rest.dropFirst().prefix(1), in: katakana) else { return nil }
        rest = rest.dropFirst(2)
      case 0x8F:
        guard rest.count >= 3, append(rest.dropFirst().prefix(2), in: rareKanji) else { return nil }
        rest = rest.dropFirst(3)
      default:
        guard rest.count >= 2, append(rest.prefix(2), in: kanji) else { return nil }
        rest = rest.dropFirst(2)
      }
    }
    if current != ascii { result.append(contentsOf: ascii.utf8) }
    return result
  }

  private static let named: [String: String.Encoding] = {
    let gb18030 = String.Encoding(rawValue: 0x8000_0632)
    let big5 = String.Encoding(rawValue: 0x8000_0A03)
    let hongKong = String.Encoding(rawValue: 0x8000_0A06)
    // With the Hangul that Windows adds to EUC-KR; Foundation loses those bytes with EUC-KR itself.
    let korean = String.Encoding(rawValue: 0x8000_0422)
    let thai = String.Encoding(rawValue: 0x8000_041D)
    return [
      // GB 18030 has all characters of GB 2312 and GBK at the same places; pages that name the first use those of the
      // second.
      "gb18030": gb18030, "gbk": gb18030, "x-gbk": gb18030, "cp936": gb18030, "gb2312": gb18030,
      "gb-2312-80": gb18030, "euc-cn": gb18030,
      "big5": big5, "x-x-big5": big5, "cn-big5": big5, "csbig5": big5, "cp950": big5, "big5-hkscs": hongKong,
      "shift-jis": .shiftJIS, "sjis": .shiftJIS, "x-sjis": .shiftJIS, "ms-kanji": .shiftJIS, "cp932": .shiftJIS,
      "windows-31j": .shiftJIS, "iso-2022-jp": .iso2022JP, "euc-jp": .japaneseEUC, "eucjp": .japaneseEUC,
      "x-euc-jp": .japaneseEUC,
      "euc-kr": korean, "ks-c-5601-1987": korean, "ksc5601": korean, "windows-949": korean, "cp949": korean,
      "latin1": .isoLatin1, "latin2": .isoLatin2, "tis-620": thai, "windows-874": thai,
      "koi8-r": .init(rawValue: 0x8000_0A02), "koi8-u": .init(rawValue: 0x8000_0A08),
      "utf-16": .utf16, "utf-16le": .utf16LittleEndian, "utf-16be": .utf16BigEndian,
    ]
  }()
}

extension HTTPResponse.Status {
  /// The reason phrase of RFC 9110 §15, since HTTP/2 has none on the wire. Empty for a code that is not registered.
  var standardPhrase: String { Self.phrases[code] ?? "" }

  private static let phrases = Dictionary(
    [
      .continue, .switchingProtocols, .earlyHints, .ok, .created, .accepted, .nonAuthoritativeInformation, .noContent,
      .resetContent, .partialContent, .multipleChoices, .movedPermanently, .found, .seeOther, .notModified,
      .temporaryRedirect, .permanentRedirect, .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed,
      .notAcceptable, .proxyAuthenticationRequired, .requestTimeout, .conflict, .gone, .lengthRequired,
      .preconditionFailed, .contentTooLarge, .uriTooLong, .unsupportedMediaType, .rangeNotSatisfiable,
      .expectationFailed, .misdirectedRequest, .unprocessableContent, .tooEarly, .upgradeRequired,
      .preconditionRequired, .tooManyRequests, .requestHeaderFieldsTooLarge, .unavailableForLegalReasons,
      .internalServerError, .notImplemented, .badGateway, .serviceUnavailable, .gatewayTimeout,
      .httpVersionNotSupported, .networkAuthenticationRequired,
    ].map { (status: HTTPResponse.Status) in (status.code, status.reasonPhrase) }
  ) { first, _ in first }
}
