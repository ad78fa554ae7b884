import Foundation
import NIOCore
import ServiceLifecycle

/// An error of listening on an address.
struct ListenError: Error, CustomStringConvertible {
  let flag: String
  let address: (host: String, port: Int)
  let reason: String

  var description: String {
    "\(flag): cannot listen on \(SettingText.bracketed(address.host)):\(address.port): \(reason)"
  }
}

extension SocketAddress {
  /// The address as settings have it, such as `127.0.0.1:8080` or `[::1]:8080`.
  package var hostAndPort: String {
    guard let ipAddress, let port else { return description }
    return "\(SettingText.bracketed(ipAddress)):\(port)"
  }

  /// `true` if only this machine can reach the address.
  package var isLoopback: Bool {
    ipAddress.flatMap { HostAddress(host: $0) }.map { AddressKind($0) == .loopback } ?? false
  }
}

/// A server whose errors name the address that it cannot listen on.
package struct ListeningService: Service {
  package let server: any Service
  /// The setting that contains the address.
  package let flag: String
  package let address: (host: String, port: Int)

  package init(
    server: any Service, flag: String, address: (host: String, port: Int)
  ) {
    self.server = server
    self.flag = flag
    self.address = address
  }

  /// - Throws: ``ListenError``, and the errors of the server.
  package func run() async throws {
    do { try await server.run() } catch let error as IOError {
      throw ListenError(flag: flag, address: address, reason: String(cString: strerror(error.errnoCode)))
    } catch let error as SocketAddressError.UnknownHost {
      throw ListenError(flag: flag, address: address, reason: error.errorDescription)
    }
  }
}
