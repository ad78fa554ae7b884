import Foundation

/// An IPv4 address of this machine, and the network interface that has it.
struct NetworkInterface: Equatable, Sendable {
  let name: String
  /// Such as `192.168.1.20`.
  let address: String
  /// `true` if it is switched on and connected.
  let isUp: Bool
  let isLoopback: Bool
}

/// The address at which a phone in the same network reaches this machine.
struct DevAddress: Equatable, Sendable {
  /// The address that is shown; `nil` if only this machine itself reaches the server.
  let address: String?
  /// Other interfaces that might be the right one.
  let others: [NetworkInterface]

  /// - Parameters:
  ///   - interfaces: all of the machine, in the system's order.
  ///   - defaultRoute: the interface by which the machine reaches the internet, whose address is taken first; `nil` if
  ///     there is none.
  ///   - advertised: the address that the user has chosen; `nil` if none.
  init(_ interfaces: [NetworkInterface], defaultRoute: String?, advertised: String? = nil) {
    let reachable = interfaces.filter(\.isReachable)
    let first = reachable.first { $0.name == defaultRoute } ?? reachable.first
    address = advertised ?? first?.address
    others = reachable.filter { [address] in $0.address != address }
  }

  /// A line for each other address, with the option that picks it.
  var hints: [String] { others.map { "--advertise \($0.address) for \($0.name)" } }

  /// Decides by what the system says.
  static func ofSystem(advertised: String? = nil) -> DevAddress {
    let routes = FileHandle(forReadingAtPath: "/proc/net/route").flatMap { try? $0.read(upToCount: routesLimit) }
    return DevAddress(
      NetworkInterface.all(), defaultRoute: defaultRoute(in: String(decoding: routes ?? Data(), as: UTF8.self)),
      advertised: advertised)
  }

  /// The bytes of the routes that are read. A router may have a million of them.
  private static let routesLimit = 256 << 10

  /// The interface of the default route with the lowest metric.
  ///
  /// - Parameter routes: the text of `/proc/net/route`, proc_net(5). Lines that are not routes are passed over.
  /// - Returns: `nil` if there is no such route.
  static func defaultRoute(in routes: String) -> String? {
    let lines = routes.split(separator: "\n")
    let defaults = lines.compactMap { line -> (name: String, metric: UInt32)? in
      let fields = line.split { $0 == " " || $0 == "\t" }
      // A VPN may cover all addresses by routes to two halves of them, whose masks are not zero.
      guard fields.count >= 8, UInt32(fields[1], radix: 16) == 0, UInt32(fields[7], radix: 16) == 0,
        let flags = UInt32(fields[3], radix: 16), let metric = UInt32(fields[6])
      else { return nil }
      // RTF_UP, and not RTF_REJECT: linux/route.h.
      return flags & 0x1 != 0 && flags & 0x200 == 0 ? (String(fields[0]), metric) : nil
    }
    return defaults.min { $0.metric < $1.metric }?.name
  }
}

extension NetworkInterface {
  /// The beginnings of the names of networks that are inside of this machine.
  private static let inner = ["docker", "veth", "br-", "vmnet", "virbr"]

  /// `true` if another machine might reach it.
  fileprivate var isReachable: Bool {
    // RFC 3927: an address of 169.254/16 is one that a machine gives itself if no network does.
    isUp && !isLoopback && !address.hasPrefix("127.") && !address.hasPrefix("169.254.")
      && !Self.inner.contains { name.hasPrefix($0) }
  }

  /// All IPv4 addresses of this machine, by getifaddrs(3); none if the system refuses.
  fileprivate static func all() -> [NetworkInterface] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return [] }
    defer { freeifaddrs(list) }
    var interfaces: [NetworkInterface] = []
    var next = list
    while let entry = next?.pointee {
      next = entry.ifa_next
      guard let address = entry.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET) else { continue }
      var number = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_addr }
      var text = [CChar](repeating: 0, count: Int(INET_ADDRSTRLEN))
      guard inet_ntop(AF_INET, &number, &text, socklen_t(text.count)) != nil else { continue }
      func has(_ flag: Int) -> Bool { Int(entry.ifa_flags) & flag != 0 }
      interfaces.append(
        NetworkInterface(
          name: String(cString: entry.ifa_name),
          address: String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self),
          isUp: has(IFF_UP) && has(IFF_RUNNING), isLoopback: has(IFF_LOOPBACK)))
    }
    return interfaces
  }
}
