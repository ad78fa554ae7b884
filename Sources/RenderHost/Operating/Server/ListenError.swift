/// The address to listen on cannot be had.
struct ListenError: Error, CustomStringConvertible {
  let address: String
  let port: Int
  let reason: String

  init(_ settings: Settings, reason: String) {
    (address, port, self.reason) = (settings.address, settings.port, reason)
  }

  var description: String {
    "--listen: cannot listen on \(SettingText.bracketed(address)):\(port): \(reason)"
  }
}
