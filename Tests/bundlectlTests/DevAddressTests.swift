import Testing

@testable import bundlectl

struct DevAddressTests {
  private static func interface(
    _ name: String, _ address: String, isUp: Bool = true, isLoopback: Bool = false
  ) -> NetworkInterface {
    NetworkInterface(name: name, address: address, isUp: isUp, isLoopback: isLoopback)
  }

  private static let machine = [
    interface("lo", "127.0.0.1", isLoopback: true), interface("docker0", "172.17.0.1"),
    interface("br-5f1c", "172.18.0.1"), interface("veth12", "172.19.0.1"), interface("vmnet1", "192.168.78.1"),
    interface("virbr0", "192.168.122.1"), interface("tun0", "10.8.0.2"), interface("eth0", "169.254.7.7"),
    interface("wlan0", "192.168.1.20"), interface("wlan0", "192.168.1.21"), interface("eth1", "10.0.0.9", isUp: false),
  ]

  @Test("the interface of the default route comes first, and networks inside of the machine never")
  func decision() {
    for (interfaces, route, address, others) in [
      (Self.machine, "wlan0", "192.168.1.20", ["10.8.0.2", "192.168.1.21"]),
      (Self.machine, "tun0", "10.8.0.2", ["192.168.1.20", "192.168.1.21"]),
      // Without a usable default route the first one is taken.
      (Self.machine, nil, "10.8.0.2", ["192.168.1.20", "192.168.1.21"]),
      (Self.machine, "docker0", "10.8.0.2", ["192.168.1.20", "192.168.1.21"]),
      (Self.machine, "eth0", "10.8.0.2", ["192.168.1.20", "192.168.1.21"]),
      (Self.machine, "eth1", "10.8.0.2", ["192.168.1.20", "192.168.1.21"]),
      (Self.machine, "ppp0", "10.8.0.2", ["192.168.1.20", "192.168.1.21"]),
      (Array(Self.machine.prefix(6)), "docker0", nil, []), ([], "wlan0", nil, []),
      ([Self.interface("lo0", "127.0.0.2")], nil, nil, []),
      // Names and addresses that only look similar.
      (
        [Self.interface("bridge0", "169.25.4.1"), Self.interface("br0", "172.17.0.1")], nil, "169.25.4.1",
        ["172.17.0.1"]
      ),
    ] as [([NetworkInterface], String?, String?, [String])] {
      let decided = DevAddress(interfaces, defaultRoute: route)
      #expect(decided.address == address, "\(route ?? "-")")
      #expect(decided.others.map(\.address) == others, "\(route ?? "-")")
    }
  }

  @Test("an advertised address is taken as it is, and the others are listed with the option that picks them")
  func advertised() {
    let picked = DevAddress(Self.machine, defaultRoute: "wlan0", advertised: "10.8.0.2")
    #expect(picked.address == "10.8.0.2")
    #expect(picked.hints == ["--advertise 192.168.1.20 for wlan0", "--advertise 192.168.1.21 for wlan0"])
    // Also one that is never chosen, or that another machine passes on.
    for address in ["172.17.0.1", "203.0.113.9", "dev.example.com"] {
      #expect(DevAddress(Self.machine, defaultRoute: "wlan0", advertised: address).address == address)
    }
    #expect(DevAddress([], defaultRoute: nil, advertised: "203.0.113.9").address == "203.0.113.9")
  }

  private static let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

  @Test("the default route is the one with the lowest metric among those that are up")
  func routes() {
    let network = "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    let cable = "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    let radio = "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
    for (text, name) in [
      (Self.head + network, nil), (Self.head + cable + network, "eth0"), (Self.head + radio + cable + network, "eth0"),
      (Self.head + radio, "wlan0"), (Self.head + cable.replacing("0003", with: "0002") + radio, "wlan0"),
      // An unreachable default route, as some VPNs make.
      (Self.head + cable.replacing("0003", with: "0203") + radio, "wlan0"),
      // Two halves of all addresses are not a default route.
      (Self.head + "tun0\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0\n" + radio, "wlan0"),
      // The first of equal ones.
      (Self.head + cable + cable.replacing("eth0", with: "eth1"), "eth0"),
    ] as [(String, String?)] {
      #expect(DevAddress.defaultRoute(in: text) == name, "\(text)")
    }
  }

  @Test(
    "lines that are not routes are passed over",
    arguments: [
      "", "\n\n", head, "eth0", "eth0\t00000000\t0\t0003\t0\t0\t0", "eth0\tx\t0\t0003\t0\t0\t0\t00000000",
      "eth0\t00000000\t0\t-3\t0\t0\t0\t00000000", "eth0\t00000000\t0\t0003\t0\t0\t-1\t00000000",
      "eth0\t00000000\t0\t0003\t0\t0\t99999999999999999999\t00000000",
      "eth0\t0000000000000000000000000\t0\tFFFFFFFFFFFFFFFFFFFF\t0\t0\t0\t00000000", "\u{0}\u{FFFD}\t\t\t",
      "é é é é é é é é",
    ])
  func badRoutes(text: String) {
    #expect(DevAddress.defaultRoute(in: text) == nil)
    let good = "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0"
    #expect(DevAddress.defaultRoute(in: text + "\n" + good) == "wlan0")
  }

  @Test("the system's own interfaces can be read, and a chosen address is one of IPv4")
  func system() {
    let address = DevAddress.ofSystem()
    for text in [address.address].compactMap(\.self) + address.others.map(\.address) {
      #expect(text.split(separator: ".").compactMap { UInt8($0) }.count == 4, "\(text)")
      #expect(!text.hasPrefix("127."))
    }
    #expect(DevAddress.ofSystem(advertised: "203.0.113.9").address == "203.0.113.9")
  }
}
