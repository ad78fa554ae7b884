/// What the app knows of the cart; pages reach it through the module `cart`.
actor Cart {
  struct NoSuchCount: Error {
    let count: Int
  }

  private var counts: [String: Int] = [:]

  var count: Int { counts.values.reduce(0, +) }

  /// - Returns: how many of this one are in the cart now.
  func add(_ sku: String, _ count: Int) throws -> Int {
    guard (1...100).contains(count) else { throw NoSuchCount(count: count) }
    counts[sku, default: 0] += count
    return counts[sku, default: 0]
  }
}
