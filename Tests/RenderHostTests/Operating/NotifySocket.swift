import Foundation
import PageTesting
import Synchronization

/// A socket in place of systemd's.
final class NotifySocket: Sendable {
  struct Failed: Error {}

  let path: String
  private let descriptor: Int32
  private let heard = Monitor<[String]>([])

  init(path: String) throws {
    self.path = path
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0 else { throw Failed() }
    Thread.detachNewThread { [descriptor, heard] in
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        let text = String(decoding: buffer[..<count], as: UTF8.self)
        heard.change { $0.append(text) }
      }
    }
  }

  deinit {
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  var soFar: [String] { heard.read { $0 } }

  func hear(_ condition: @escaping @Sendable ([String]) -> Bool) async throws {
    try await heard.wait(within: .seconds(30), until: condition)
  }
}
