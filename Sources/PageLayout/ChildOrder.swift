/// The places of children among their siblings, for parents with many children.
///
/// Each such parent has a splay tree of its children. A place is found in a time that grows with the logarithm of their
/// number, averaged over all calls whatever their order, and at once near the child that was found last.
struct ChildOrder: Sendable {
  /// A child in the tree of its parent; −1 for no neighbour.
  private struct Entry {
    var up: Int32 = -1
    var left: Int32 = -1
    var right: Int32 = -1
    /// The number of children at and below this one in the tree.
    var size: Int32 = 1
  }

  /// By the places of the children in the layout's nodes.
  private var entries: [Entry] = []
  /// The tops of the trees, by the parents.
  private var tops: [Int32: Int32] = [:]

  func has(_ parent: Int32) -> Bool { !tops.isEmpty && tops[parent] != nil }

  /// Takes the children of a parent that has no tree.
  mutating func build(_ parent: Int32, _ children: [Int32]) {
    var top: Int32 = -1
    for child in children {
      reset(child)
      link(left: top, to: child)
      resize(child)
      top = child
    }
    if top >= 0 { tops[parent] = top }
  }

  mutating func removeTree(of parent: Int32) { if !tops.isEmpty { tops[parent] = nil } }

  /// The child at a place; `nil` if there is none.
  mutating func child(at index: Int, of parent: Int32) -> Int32? {
    var next = tops[parent] ?? -1
    var index = index
    while next >= 0 {
      let before = size(entries[Int(next)].left)
      if index == before {
        tops[parent] = splayed(next)
        return next
      }
      if index < before {
        next = entries[Int(next)].left
      } else {
        index -= before + 1
        next = entries[Int(next)].right
      }
    }
    return nil
  }

  /// The place of a child in the tree of its parent.
  mutating func position(of child: Int32, in parent: Int32) -> Int {
    tops[parent] = splayed(child)
    return size(entries[Int(child)].left)
  }

  /// Adds a child to the tree of its parent, if that has one.
  ///
  /// - Parameters:
  ///   - previous: the child before it; −1 if it is the first.
  ///   - next: the child after it; −1 if it is the last.
  mutating func insert(_ child: Int32, between previous: Int32, and next: Int32, in parent: Int32) {
    guard has(parent) else { return }
    reset(child)
    if next >= 0 {
      _ = splayed(next)
      link(left: entries[Int(next)].left, to: child)
      entries[Int(next)].left = -1
      resize(next)
      link(right: next, to: child)
    } else if previous >= 0 {
      link(left: splayed(previous), to: child)
    }
    resize(child)
    tops[parent] = child
  }

  /// Takes a child out of the tree of its parent, if that has one.
  mutating func remove(_ child: Int32, from parent: Int32) {
    guard has(parent) else { return }
    _ = splayed(child)
    let (left, right) = (entries[Int(child)].left, entries[Int(child)].right)
    if left >= 0 { entries[Int(left)].up = -1 }
    if right >= 0 { entries[Int(right)].up = -1 }
    guard left >= 0 else {
      tops[parent] = right >= 0 ? right : nil
      return
    }
    var last = left
    while entries[Int(last)].right >= 0 { last = entries[Int(last)].right }
    _ = splayed(last)
    link(right: right, to: last)
    resize(last)
    tops[parent] = last
  }

  // MARK: The tree

  private func size(_ child: Int32) -> Int { child < 0 ? 0 : Int(entries[Int(child)].size) }

  private mutating func reset(_ child: Int32) {
    while entries.count <= Int(child) { entries.append(Entry()) }
    entries[Int(child)] = Entry()
  }

  private mutating func resize(_ child: Int32) {
    let entry = entries[Int(child)]
    entries[Int(child)].size = Int32(1 + size(entry.left) + size(entry.right))
  }

  private mutating func link(left: Int32, to child: Int32) {
    entries[Int(child)].left = left
    if left >= 0 { entries[Int(left)].up = child }
  }

  private mutating func link(right: Int32, to child: Int32) {
    entries[Int(child)].right = right
    if right >= 0 { entries[Int(right)].up = child }
  }

  /// Brings a child to the top of its tree.
  private mutating func splayed(_ child: Int32) -> Int32 {
    while case let up = entries[Int(child)].up, up >= 0 {
      let outer = entries[Int(up)].up
      if outer >= 0 {
        let isStraight = (entries[Int(up)].left == child) == (entries[Int(outer)].left == up)
        rotate(isStraight ? up : child)
      }
      rotate(child)
    }
    return child
  }

  /// Exchanges a child with the one above it.
  private mutating func rotate(_ child: Int32) {
    let up = entries[Int(child)].up
    let outer = entries[Int(up)].up
    if entries[Int(up)].left == child {
      link(left: entries[Int(child)].right, to: up)
      link(right: up, to: child)
    } else {
      link(right: entries[Int(child)].left, to: up)
      link(left: up, to: child)
    }
    entries[Int(child)].up = outer
    if outer >= 0 {
      if entries[Int(outer)].left == up { entries[Int(outer)].left = child } else { entries[Int(outer)].right = child }
    }
    resize(up)
    resize(child)
  }
}
