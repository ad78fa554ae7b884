/// The address to listen on cannot be had.
struct ListenError: Error, CustomStringConvertible {
  let flag: String
  let address: String
  let port: Int
  let reason: String

  init(_ settings: Settings, reason: String) {
    self.init(flag: "--listen", (settings.address, settings.port), reason: reason)
  }

  init(flag: String, _ address: (host: String, port: Int), reason: String) {
    (self.flag, self.address, port, self.reason) = (flag, address.host, address.port, reason)
  }

  var description: String {
    "\(flag): cannot listen on \(SettingText.bracketed(address)):\(port): \(reason)"
  }
}
