import ScriptEngine

/// A step of a request that a page makes.
package struct InspectedExchange: Codable, Hashable, Sendable {
  package enum Step: Codable, Hashable, Sendable {
    case began(method: String, fields: [[String]])
    case answered(status: Int, fields: [[String]], mediaType: String)
    /// - Parameter bytes: the length of the body.
    case ended(bytes: Int)
    case failed(String)
  }

  /// The request's id, which no other request has.
  let id: String
  let url: String
  /// The request's purpose, such as `image`.
  let type: String
  /// `true` if the response came from the cache, without the network.
  let isFromCache: Bool
  /// The milliseconds since 1970.
  let time: Double
  let step: Step

  package init(id: String, url: String, type: String, isFromCache: Bool = false, time: Double, _ step: Step) {
    (self.id, self.url, self.type, self.isFromCache) = (id, url, type, isFromCache)
    (self.time, self.step) = (time, step)
  }

  /// The events of the domain `Network`.
  ///
  /// - Parameters:
  ///   - document: the URL of the page's script.
  ///   - loader: the id of the page's opening.
  func events(document: String, loader: String) -> [(method: String, params: ScriptValue)] {
    let seconds = ScriptValue.number(time / 1_000)
    let kinds = ["image": "Image", "font": "Font", "script": "Script", "fetch": "Fetch", "page": "Document"]
    let kind = ScriptValue.string(kinds[type] ?? "Other")
    let common: [String: ScriptValue] = ["requestId": .string(id), "timestamp": seconds]
    func with(_ members: [String: ScriptValue]) -> ScriptValue { .object(common.merging(members) { $1 }) }
    switch step {
    case .began(let method, let fields):
      let request: ScriptValue = [
        "url": .string(url), "method": .string(method), "headers": Self.headers(fields), "initialPriority": "Medium",
        "referrerPolicy": "no-referrer",
      ]
      return [
        (
          "Network.requestWillBeSent",
          with([
            "loaderId": .string(loader), "documentURL": .string(document), "request": request, "wallTime": seconds,
            "initiator": ["type": "script"], "type": kind, "redirectHasExtraInfo": false,
          ])
        )
      ]
    case .answered(let status, let fields, let mediaType):
      let response: ScriptValue = [
        "url": .string(url), "status": ScriptValue(status), "statusText": "", "headers": Self.headers(fields),
        "mimeType": .string(mediaType), "charset": "", "connectionReused": false, "connectionId": 0,
        "fromDiskCache": .bool(isFromCache), "encodedDataLength": 0, "securityState": "unknown",
      ]
      return [
        (
          "Network.responseReceived",
          with(["loaderId": .string(loader), "type": kind, "response": response, "hasExtraInfo": false])
        )
      ]
    case .ended(let bytes):
      let sent = ScriptValue(isFromCache ? 0 : bytes)
      return [
        ("Network.dataReceived", with(["dataLength": ScriptValue(bytes), "encodedDataLength": sent])),
        ("Network.loadingFinished", with(["encodedDataLength": sent])),
      ]
    case .failed(let reason):
      return [("Network.loadingFailed", with(["type": kind, "errorText": .string(reason), "canceled": false]))]
    }
  }

  /// Fields of one name are lines of one value.
  private static func headers(_ fields: [[String]]) -> ScriptValue {
    let pairs = fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) }
    return .object(Dictionary(pairs) { "\($0)\n\($1)" }.mapValues { .string($0) })
  }
}
