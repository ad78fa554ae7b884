import Foundation
import PageKit

/// Samples of "Caching" and the README.
enum CachingSamples {
  static func behavior(_ host: PageHost) async throws {
    let prices = ResourceRequest("https://api.example.com/prices", behavior: .networkFirst(timeout: .seconds(1)))
    let answer = try await host.resources.response(for: prices)
    print(answer.status, answer.source, try await answer.body.collect().count)
  }

  static func reading(_ host: PageHost) async throws {
    let news = ResourceRequest("https://api.example.com/news.json", fields: [.accept: "application/json"])
    let loaded = try await host.resources.response(for: news)
    print(loaded.status, loaded.response.headerFields[.lastModified] ?? "", loaded.cacheStatus.map { "\($0)" } ?? "")
    let items = try await loaded.decoded(as: [Item].self)  // or loaded.body, which is a sequence of chunks
    _ = items
  }

  static func foundation(_ host: PageHost, _ site: URL) async throws {
    let feed = ResourceRequest(site.appending(path: "feed.json"), behavior: .cacheFirst)
    let picture = ResourceRequest(site.appending(path: "logo.png"), type: .image)
    let items = try await host.resources.response(for: feed).decoded(as: [Item].self)
    let bytes = try await host.resources.response(for: picture).data
    print(items.count, bytes.count)
  }

  static func rules(_ configuration: inout HostConfiguration) {
    configuration.resources.rules = [
      ResourceRule(.glob("/prices/*"), lifetime: .atMost(30)),
      ResourceRule(.prefix("https://cdn.example.com/"), types: [.image], behavior: .cacheFirst),
    ]
  }

  static func fromBoth(_ host: PageHost) async throws {
    let list = ResourceRequest("https://api.example.com/list.json", behavior: .cacheThenNetwork)
    for await update in host.resources.updates(for: list) {
      switch update {
      case .cached(let loaded): print("at once:", loaded.age ?? 0, "s old")
      case .network(let loaded): print("new:", loaded.status)
      case .notModified: print("what was shown is current")
      case .failed(let failure): print("what was shown stays:", failure)
      }
    }
  }

  static func sharedCache() throws {
    ResponseCache.setShared(try ResponseCache(memoryCapacity: 4 << 20, diskCapacity: 100 << 20))
  }

  static func keeping(_ host: PageHost) async throws {
    if let article = PageURL("https://api.example.com/articles/7") {
      let isKept = try await host.responses.keep(CacheKey(article))
      print(isKept ? "kept" : "not stored yet")
    }
  }

  static func regions(_ host: PageHost) async throws {
    let chats = try host.responses.region("chats", diskCapacity: 50 << 20, lifetime: .exactly(86_400))
    await chats.store(Array("hello".utf8), forKey: "chat-7", at: .now)
    let stored = await chats.response(forKey: "chat-7")
    try await chats.removeAll()
    _ = stored
  }

  static func figures(_ host: PageHost) async throws {
    let request = ResourceRequest("https://cdn.example.com/photo.jpg", type: .image)
    let photo = try await host.resources.response(for: request)
    let pixels = try await photo.data { received, total in print(received, "of", total ?? 0) }
    if let times = await photo.transfer {
      print(times.nameLookup, times.connected, times.secured, times.firstByte, times.total)
      print(times.bytesReceived, times.reusedConnection, times.httpVersion ?? "", pixels.count)
    }
  }

  static func listing(_ host: PageHost) async throws {
    var position: ResponseListing.Position?
    repeat {
      let part = try await host.responses.listing(after: position, limit: 100)
      for entry in part.entries { print(entry.url?.text ?? entry.key.name, entry.size, entry.storedAt, entry.isKept) }
      position = part.next
    } while position != nil
  }

  static func hook(_ host: PageHost) {
    host.responses.willCache = { proposed in
      var proposed = proposed
      if proposed.response.headerFields[.contentType] == "text/html" { return nil }  // refuse
      proposed.storagePolicy = .memoryOnly
      proposed.userInfo["screen"] = "list"
      return proposed
    }
  }
}
