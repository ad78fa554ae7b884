import CCrypto
import CCurl
import Foundation
import NIOCore
import NIOEmbedded
import PageTesting
import Testing

@testable import PageRuntime

/// TLS against a server in memory, whose bytes a test can cut, change and hold back.
struct TLSClientHandlerTests {
  private static func text(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 / 7) } }

  @Test("bytes written before and after the handshake arrive in order, and those not flushed stay")
  func order() throws {
    let wire = try Wire()
    wire.write("one ", flushes: true)
    wire.write("", flushes: true)
    wire.write("two ", flushes: false)
    try wire.connect()
    #expect(wire.server.text == "one ")
    wire.write("three", flushes: true)
    try wire.exchange()
    #expect(wire.server.text == "one two three")
    #expect(wire.written == [.success, .success, .success, .success])
    wire.server.write(Array("four".utf8))
    wire.server.write([])
    try wire.exchange()
    #expect(String(decoding: wire.seen.bytes, as: UTF8.self) == "four")
    #expect(wire.seen.errors.isEmpty)
  }

  @Test("a megabyte goes both ways", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
  func megabyte(_ version: Int32) throws {
    let wire = try Wire(version: version)
    try wire.connect()
    let bytes = Self.text(1 << 20)
    wire.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    wire.server.write(bytes)
    try wire.exchange()
    #expect(wire.server.received == bytes)
    #expect(wire.seen.bytes == bytes)
  }

  @Test("versions of TLS before 1.2 are refused")
  func oldVersion() throws {
    let wire = try Wire(version: TLS1_1_VERSION)
    try wire.connect()
    #expect(wire.seen.failure.contains("TLS with localhost failed: "))
    #expect(wire.server.text == "")
  }

  // MARK: Certificates

  enum Issuer { case trusted, itself, unknown }

  @Test(
    "a certificate counts for its names, while it is valid, from a trusted authority",
    arguments: [
      ("localhost", "DNS:localhost", -1...1, Issuer.trusted, nil),
      ("localhost.", "DNS:localhost", -1...1, .trusted, nil),
      ("127.0.0.1", "IP:127.0.0.1", -1...1, .trusted, nil),
      ("::1", "IP:::1", -1...1, .trusted, nil),
      ("a.example.com", "DNS:*.example.com", -1...1, .trusted, nil),
      ("localhost", "DNS:localhost", -1...1, .itself, "self-signed certificate"),
      ("localhost", "DNS:localhost", -1...1, .unknown, "unable to get local issuer certificate"),
      ("localhost", "DNS:localhost", -3...(-2), .trusted, "certificate has expired"),
      ("localhost", "DNS:localhost", 2...3, .trusted, "certificate is not yet valid"),
      ("localhost", "DNS:example.com", -1...1, .trusted, "hostname mismatch"),
      ("a.b.example.com", "DNS:*.example.com", -1...1, .trusted, "hostname mismatch"),
      ("ab.example.com", "DNS:a*.example.com", -1...1, .trusted, "hostname mismatch"),
      ("127.0.0.1", "IP:127.0.0.2", -1...1, .trusted, "IP address mismatch"),
      ("127.0.0.1", "DNS:127.0.0.1", -1...1, .trusted, "IP address mismatch"),
      ("::1", "IP:127.0.0.1", -1...1, .trusted, "IP address mismatch"),
    ] as [(String, String, ClosedRange<Int>, Issuer, String?)])
  func certificates(_ host: String, _ names: String, _ days: ClosedRange<Int>, _ issuer: Issuer, _ reason: String?)
    throws
  {
    let authority = try Certificate(names: nil)
    let issuing = try issuer == .itself ? nil : issuer == .trusted ? authority : Certificate(names: nil)
    let wire = try Wire(
      host: host, try Certificate(names: names, issuer: issuing, days: days), trusting: authority)
    wire.write("secret", flushes: true)
    try wire.connect()
    if let reason {
      #expect(wire.seen.failure == "the certificate of \(host) is refused: \(reason)")
      #expect(wire.server.text == "")
      #expect(!wire.channel.isActive)
      #expect(wire.written == [.failure])
    } else {
      #expect(wire.seen.failure == "")
      #expect(wire.server.text == "secret")
    }
    // An address is no server name. RFC 6066 §3.
    let asked = host.hasSuffix(".") ? "localhost" : host.contains("1") ? nil : host
    #expect(wire.server.requestedName == asked)
  }

  @Test("a certificate in the file is trusted without the authority above it")
  func partialChain() throws {
    let leaf = try Certificate(names: "DNS:localhost", issuer: try Certificate(names: nil))
    let wire = try Wire(leaf, trusting: leaf)
    wire.write("hello", flushes: true)
    try wire.connect()
    #expect(wire.server.text == "hello")
  }

  @Test("the system's authorities do not trust a test's certificate")
  func systemAuthorities() throws {
    let wire = try Wire(try Certificate(names: "DNS:localhost", issuer: try Certificate(names: nil)), trusting: nil)
    try wire.connect()
    #expect(wire.seen.failure.contains("unable to get local issuer certificate"))
  }

  @Test(
    "a file of authorities that cannot be used is named", arguments: [("none", "No such file"), ("empty", "no cert")])
  func authorities(_ name: String, _ reason: String) throws {
    let folder = try TemporaryDirectory()
    try ByteBuffer(string: "text").withUnsafeReadableBytes { bytes in
      guard let file = BIO_new_file(folder.file("empty"), "w") else { throw Certificate.Failed() }
      BIO_write(file, bytes.baseAddress, 4)
      BIO_free(file)
    }
    let error = #expect(throws: TLSError.self) { try TLSTrust(file: folder.file(name)).context() }
    let said = error.map { "\($0)" } ?? ""
    #expect(said.hasPrefix("\(folder.file(name)): the certificate authorities cannot be read: "), "\(said)")
    #expect(said.contains(reason), "\(said)")
  }

  @Test("a host that no certificate can be for is refused", arguments: ["", ".", "a\0b"])
  func invalidHosts(_ host: String) throws {
    let context = try TLSTrust(file: nil).context()
    #expect(throws: TLSError.invalidHost(host)) { _ = try TLSClientHandler(context, host: host) }
  }

  // MARK: The system's authorities

  /// The authorities of a system: one file and one directory.
  private struct System {
    private let folder: TemporaryDirectory
    let trust: TLSTrust

    init() throws {
      folder = try TemporaryDirectory()
      let (file, directory) = (folder.file("all.pem"), folder.file("certs"))
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
      // The file has two names, as it often has; one that is missing is no error.
      trust = TLSTrust(files: [folder.file("none.pem"), file, file], directories: [directory], isRequired: false)
    }

    /// Puts another file in the place of the present one, as programs that update systems do.
    func setFile(_ authority: Certificate) throws {
      try authority.write(to: folder.file("new.pem"))
      guard rename(folder.file("new.pem"), folder.file("all.pem")) == 0 else { throw Certificate.Failed() }
    }

    func addToDirectory(_ authority: Certificate) throws {
      try authority.write(to: folder.file("certs/\(authority.hashedName)"))
    }

    func removeFromDirectory(_ authority: Certificate) throws {
      try FileManager.default.removeItem(atPath: folder.file("certs/\(authority.hashedName)"))
    }

    /// Makes the directory's list as old as any, so that the next change is seen whatever the clock's steps are.
    func ageDirectory() throws {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)], ofItemAtPath: folder.file("certs"))
    }

    func trusts(_ authority: Certificate) throws -> Bool {
      let wire = try Wire(Certificate(names: "DNS:localhost", issuer: authority), context: try trust.context())
      wire.write("hello", flushes: true)
      try wire.connect()
      return wire.server.text == "hello"
    }
  }

  @Test("the system's authorities are those of its file and those of its directory")
  func fileAndDirectory() throws {
    let system = try System()
    let (one, other) = (try Certificate(names: nil), try Certificate(names: nil))
    try system.setFile(one)
    try system.addToDirectory(other)
    #expect(try system.trusts(one))
    #expect(try system.trusts(other))
    #expect(try !system.trusts(try Certificate(names: nil)))
  }

  @Test("connections share a context, which is made anew once the system's file or its directory has changed")
  func changedAuthorities() throws {
    let system = try System()
    let (one, other) = (try Certificate(names: nil), try Certificate(names: nil))
    try system.setFile(one)
    try system.ageDirectory()
    let first = try system.trust.context()
    #expect(try system.trusts(one) && !system.trusts(other))
    #expect(try system.trust.context() === first)
    try system.setFile(other)
    let second = try system.trust.context()
    #expect(second !== first)
    #expect(try !system.trusts(one) && system.trusts(other))
    try system.addToDirectory(one)
    #expect(try system.trust.context() !== second)
    #expect(try system.trusts(one) && system.trusts(other))
    try system.ageDirectory()
    #expect(try system.trusts(one))
    try system.removeFromDirectory(one)
    #expect(try !system.trusts(one) && system.trusts(other))
  }

  @Test("connections that are opened at the same time make one context")
  func oneContext() throws {
    let system = try System()
    try system.setFile(try Certificate(names: nil))
    let made = Monitor<Set<ObjectIdentifier>>([])
    let kept = Monitor<[TLSContext]>([])
    DispatchQueue.concurrentPerform(iterations: 32) { _ in
      guard let context = try? system.trust.context() else { return }
      kept.change { $0.append(context) }
      made.change { _ = $0.insert(ObjectIdentifier(context)) }
    }
    #expect(kept.read(\.count) == 32)
    #expect(made.read(\.count) == 1)
  }

  @Test("the authorities of libcurl count, unless OpenSSL's variables name others")
  func places() throws {
    #expect(pk_load_curl() == nil)
    let curl = curl_version_info(CURLVERSION_SEVENTH).pointee
    let usual = TLSTrust(system: [:])
    #expect(curl.cainfo.map { usual.files.contains(String(cString: $0)) } != false)
    #expect(curl.capath.map { usual.directories.contains(String(cString: $0)) } != false)
    #expect(TLSTrust(system: ["SSL_CERT_FILE": "/a.pem"]).files == ["/a.pem"])
    let named = TLSTrust(system: ["SSL_CERT_DIR": "/a:/b"])
    #expect(named.directories == ["/a", "/b"])
    #expect(!usual.files.dropFirst().contains { named.files.contains($0) })
  }

  // MARK: Damage

  @Test("a handshake or a message that is cut anywhere ends with one error")
  func cuts() throws {
    let certificates = try Wire.certificates()
    let whole = try Wire(certificates)
    try whole.connect()
    whole.server.write(Array("answer".utf8))
    try whole.exchange()
    #expect(whole.sentByServer > 500)
    for limit in stride(from: 0, through: whole.sentByServer, by: 5) {
      let wire = try Wire(certificates)
      wire.limit = limit
      wire.write("secret", flushes: true)
      try wire.connect()
      wire.server.write(Array("answer".utf8))
      try wire.exchange()
      wire.cut()
      #expect(wire.seen.errors.count == 1, "\(limit): \(wire.seen.errors)")
      let said = wire.seen.failure
      #expect(
        said == TLSError.endedEarly(host: "localhost").description
          || said == TLSError.truncated(host: "localhost").description, "\(limit): \(said)")
      #expect("answer".utf8.starts(with: wire.seen.bytes))
      #expect(wire.written.count == 1)
    }
  }

  @Test("a byte that is changed anywhere is noticed")
  func changes() throws {
    let certificates = try Wire.certificates()
    let whole = try Wire(certificates)
    try whole.connect()
    for place in stride(from: 0, to: whole.sentByServer, by: 5) {
      let wire = try Wire(certificates)
      wire.changed = place
      try wire.connect()
      wire.server.write(Array("answer".utf8))
      try wire.exchange()
      wire.cut()
      #expect(wire.seen.errors.count == 1, "\(place): \(wire.seen.errors)")
      #expect(wire.seen.bytes.isEmpty, "\(place)")
    }
  }

  @Test("a server that does not speak TLS is refused")
  func garbage() throws {
    for bytes in [
      Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [UInt8](repeating: 0, count: 100_000),
      [0x16, 3, 3, 0xFF, 0xFF] + [UInt8](repeating: 2, count: 100_000), [0x15, 3, 3, 0, 2, 2, 80],
      (0..<50_000).map { UInt8(truncatingIfNeeded: $0) },
    ] {
      let wire = try Wire()
      try wire.start()
      _ = try? wire.channel.writeInbound(ByteBuffer(bytes: bytes))
      #expect(wire.seen.failure.contains("TLS with localhost failed: "), "\(wire.seen.errors)")
      #expect(!wire.channel.isActive)
      #expect(wire.seen.errors.count == 1)
    }
  }

  enum Moment: CaseIterable { case handshake, open, closing }

  @Test(
    "a failure whose alert ends the connection is reported once, and before the connection is gone",
    arguments: Moment.allCases)
  func failingAlert(_ moment: Moment) throws {
    let wire = try Wire()
    if moment == .handshake { try wire.start() } else { try wire.connect() }
    if moment == .closing { try wire.holdTicket() }
    wire.write("unsent", flushes: moment == .closing)
    var isClosed: Bool?
    if moment == .closing {
      wire.channel.close().assumeIsolated().whenComplete { result in
        if case .success = result { isClosed = true } else { isClosed = false }
      }
    }
    wire.closesOnWrite = true
    let before = wire.bytesWritten
    // No record is encrypted so.
    _ = try? wire.channel.writeInbound(ByteBuffer(bytes: [0x17, 3, 3, 0, 32] + [UInt8](repeating: 7, count: 32)))
    #expect(wire.bytesWritten > before)
    #expect(wire.seen.errors.count == 1)
    #expect(wire.seen.failure.contains("TLS with localhost failed: "))
    #expect(wire.seen.lateErrors == 0)
    #expect(wire.seen.isInactive)
    #expect(wire.written == [.failure])
    #expect(isClosed == (moment == .closing ? true : nil))
  }

  // MARK: Pressure

  @Test("while the network takes nothing, nothing more is encrypted")
  func pressure() throws {
    let wire = try Wire()
    try wire.connect()
    let bytes = Self.text(1 << 20)
    wire.writableBytes = 100_000
    wire.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    #expect(!wire.channel.isWritable)
    #expect(wire.bytesWritten > 100_000)
    #expect(wire.bytesWritten < 200_000)
    wire.writableBytes = .max
    wire.channel.isWritable = true
    wire.channel.pipeline.fireChannelWritabilityChanged()
    try wire.exchange()
    #expect(wire.server.received == bytes)
  }

  @Test("a renegotiation is refused, and data that follows is read")
  func renegotiation() throws {
    let wire = try Wire(version: TLS1_2_VERSION)
    try wire.connect()
    wire.server.askToRenegotiate()
    wire.server.write(Array("still here".utf8))
    try wire.exchange()
    // OpenSSL's server ends the connection then.
    #expect(String(decoding: wire.seen.bytes, as: UTF8.self) == "still here")
    #expect(wire.server.handshakes == 1)
  }

  @Test("a server that asks for renegotiation again and again, and does not read, is given up")
  func flood() throws {
    let wire = try Wire(version: TLS1_2_VERSION)
    try wire.connect()
    wire.channel.isWritable = false
    for _ in 0..<10_000 where wire.seen.errors.isEmpty {
      wire.server.askToRenegotiate()
      try wire.exchange()
    }
    #expect(wire.seen.failure.contains("does not read what it asks for"))
  }

  @Test("keys are changed when the server asks for it")
  func keyUpdate() throws {
    let wire = try Wire()
    try wire.connect()
    for round in 0..<50 {
      SSL_key_update(wire.server.connection, SSL_KEY_UPDATE_REQUESTED)
      wire.server.write(Array("\(round),".utf8))
      try wire.exchange()
      wire.write("\(round),", flushes: true)
      try wire.exchange()
    }
    let expected = (0..<50).map { "\($0)," }.joined()
    #expect(wire.server.text == expected)
    #expect(String(decoding: wire.seen.bytes, as: UTF8.self) == expected)
  }

  enum Act: CaseIterable { case write, writeAndClose, close, closeOutput }

  @Test("bytes written in the middle of a ticket of several records are sent after it", arguments: Act.allCases)
  func ticketInParts(_ act: Act) throws {
    let wire = try Wire()
    try wire.connect()
    let rest = try wire.holdTicket()
    let before = wire.reads
    if act != .close { wire.write("hello", flushes: true) }
    switch act {
    case .write: break
    case .writeAndClose, .close: wire.channel.close(promise: nil)
    case .closeOutput: wire.channel.close(mode: .output, promise: nil)
    }
    #expect(wire.server.text == "" && wire.written == [] && wire.channel.isActive)
    // Also an application that reads nothing gets on.
    #expect(wire.reads > before)
    try wire.channel.writeInbound(rest)
    try wire.exchange()
    #expect(wire.seen.errors.isEmpty)
    #expect(wire.server.text == (act == .close ? "" : "hello"))
    #expect(wire.written == (act == .close ? [] : [.success]))
    #expect(wire.server.hasEnded == (act != .write))
    #expect(wire.outputCloses == (act == .closeOutput ? 1 : 0))
    #expect(wire.channel.isActive == (act == .write || act == .closeOutput))
    guard wire.channel.isActive else { return }
    wire.server.write(Array("answer".utf8))
    try wire.exchange()
    #expect(String(decoding: wire.seen.bytes, as: UTF8.self) == "answer")
  }

  @Test("a connection that ends in the middle of a ticket fails what waits for its rest")
  func cutTicket() throws {
    let wire = try Wire()
    try wire.connect()
    try wire.holdTicket()
    wire.write("hello", flushes: true)
    wire.cut()
    #expect(wire.seen.failure == "localhost ended the connection without ending TLS")
    #expect(wire.written == [.failure])
  }

  // MARK: Ends

  @Test("closing sends what was flushed and the end of TLS, and drops the rest")
  func close() throws {
    let wire = try Wire()
    try wire.connect()
    wire.write("last words", flushes: true)
    wire.write("unsaid", flushes: false)
    let closed = wire.channel.close()
    try wire.exchange()
    try closed.wait()
    #expect(wire.server.text == "last words")
    #expect(wire.server.hasEnded)
    #expect(wire.written == [.success, .failure])
    #expect(wire.seen.errors.isEmpty)
    #expect(wire.seen.isInactive)
  }

  @Test("closing waits for a server that does not read, until the limit")
  func closeLimit() throws {
    let wire = try Wire()
    try wire.connect()
    wire.writableBytes = 0
    wire.channel.isWritable = false
    wire.write("never read", flushes: true)
    var ends = 0
    for _ in 0..<2 { wire.channel.close().assumeIsolated().whenComplete { _ in ends += 1 } }
    wire.channel.embeddedEventLoop.advanceTime(by: .milliseconds(4_900))
    #expect(wire.channel.isActive)
    #expect(ends == 0)
    wire.channel.embeddedEventLoop.advanceTime(by: .milliseconds(200))
    #expect(!wire.channel.isActive)
    #expect(ends == 2)
    #expect(wire.written == [.failure])
  }

  @Test("a server's end closes the connection, and is answered")
  func serverEnd() throws {
    let wire = try Wire()
    try wire.connect()
    wire.server.write(Array("bye".utf8))
    wire.server.end()
    try wire.exchange()
    #expect(String(decoding: wire.seen.bytes, as: UTF8.self) == "bye")
    #expect(wire.server.hasEnded)
    #expect(wire.seen.isInactive)
    #expect(wire.seen.errors.isEmpty)
  }

  @Test("with half closure, data can be sent after the server's end")
  func halfClosedInput() throws {
    let wire = try Wire()
    wire.channel.allowRemoteHalfClosure = true
    try wire.connect()
    wire.server.end()
    try wire.exchange()
    #expect(wire.seen.inputEnds == 1)
    #expect(wire.channel.isActive)
    // The network says it too.
    wire.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(wire.seen.inputEnds == 1)
    wire.write("one more thing", flushes: true)
    try wire.exchange()
    #expect(wire.server.text == "one more thing")
    #expect(wire.seen.errors.isEmpty)
  }

  @Test("an output that is closed sends what was flushed, and goes on reading")
  func halfClosedOutput() throws {
    let wire = try Wire()
    try wire.connect()
    wire.write("all", flushes: true)
    wire.write("dropped", flushes: false)
    wire.channel.close(mode: .output, promise: nil)
    wire.write("too late", flushes: true)
    try wire.exchange()
    #expect(wire.outputCloses == 1)
    #expect(wire.server.text == "all")
    #expect(wire.server.hasEnded)
    #expect(wire.written == [.success, .failure, .failure])
    wire.server.write(Array("answer".utf8))
    try wire.exchange()
    #expect(String(decoding: wire.seen.bytes, as: UTF8.self) == "answer")
    #expect(wire.channel.isActive)
  }

  @Test("a connection that ends without the end of TLS is an error", arguments: [false, true])
  func truncation(_ isHalf: Bool) throws {
    let wire = try Wire()
    wire.channel.allowRemoteHalfClosure = isHalf
    try wire.connect()
    if isHalf {
      wire.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    } else {
      wire.cut()
    }
    #expect(wire.seen.failure == "localhost ended the connection without ending TLS")
    #expect(wire.seen.errors.count == 1)
    #expect(wire.seen.isInactive)
  }

  @Test("a channel may be closed during the handshake")
  func closeDuringHandshake() throws {
    let wire = try Wire()
    try wire.start()
    wire.write("unsaid", flushes: true)
    try wire.channel.close().wait()
    #expect(wire.written == [.failure])
    #expect(wire.seen.errors.isEmpty)
    #expect(wire.seen.isInactive)
  }

  @Test("a read that brings no data is followed by another one")
  func reads() throws {
    let wire = try Wire()
    try wire.connect()
    let before = wire.reads
    wire.channel.pipeline.fireChannelReadComplete()
    #expect(wire.reads == before + 1)
    wire.server.write([1])
    try wire.exchange()
    #expect(wire.reads == before + 1)
  }
}

/// A client's handler and a server, with the bytes between them.
private final class Wire {
  enum Outcome { case success, failure }

  let channel = EmbeddedChannel()
  let server: Server
  let seen = Seen()
  private let network = Network()
  /// The server's bytes that arrive; `nil` for all.
  var limit: Int?
  /// Which of the server's bytes is changed.
  var changed: Int?
  private(set) var sentByServer = 0
  /// How the writes have ended.
  private(set) var written: [Outcome] = []

  var writableBytes: Int {
    get { network.limit }
    set { network.limit = newValue }
  }
  var bytesWritten: Int { network.count }
  /// The network ends the connection when something is written.
  var closesOnWrite: Bool {
    get { network.closesOnWrite }
    set { network.closesOnWrite = newValue }
  }
  var outputCloses: Int { network.outputCloses }
  var reads: Int { network.reads }

  static func certificates() throws -> (Certificate, authority: Certificate) {
    let authority = try Certificate(names: nil)
    return (try Certificate(names: "DNS:localhost", issuer: authority), authority)
  }

  convenience init(version: Int32 = TLS1_3_VERSION) throws { try self.init(try Self.certificates(), version: version) }

  convenience init(_ certificates: (Certificate, authority: Certificate), version: Int32 = TLS1_3_VERSION) throws {
    try self.init(certificates.0, trusting: certificates.authority, version: version)
  }

  convenience init(
    host: String = "localhost", _ certificate: Certificate, trusting authority: Certificate?,
    version: Int32 = TLS1_3_VERSION
  ) throws {
    let folder = try TemporaryDirectory()
    try authority?.write(to: folder.file("ca.pem"))
    let trust = TLSTrust(file: authority == nil ? nil : folder.file("ca.pem"))
    try self.init(host: host, certificate, context: try trust.context(), version: version)
  }

  init(
    host: String = "localhost", _ certificate: Certificate, context: TLSContext, version: Int32 = TLS1_3_VERSION
  ) throws {
    server = try Server(certificate, version)
    try channel.pipeline.syncOperations.addHandlers([network, try TLSClientHandler(context, host: host), seen])
  }

  func start() throws { channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil) }

  /// Ends the connection, as a network does.
  func cut() { network.context?.close(promise: nil) }

  func connect() throws {
    try start()
    try exchange()
  }

  func write(_ text: String, flushes: Bool) {
    let promise = channel.eventLoop.makePromise(of: Void.self)
    promise.futureResult.assumeIsolated().whenComplete { result in
      if case .success = result { self.written.append(.success) } else { self.written.append(.failure) }
    }
    channel.write(ByteBuffer(string: text), promise: promise)
    if flushes { channel.flush() }
  }

  /// Passes on the first record of a ticket.
  ///
  /// - Returns: the others.
  @discardableResult
  func holdTicket() throws -> ByteBuffer {
    server.makeLongTicket()
    var bytes = ByteBuffer(bytes: server.takeOutput())
    // RFC 8446 §5.1: a record has its length behind the type and the version.
    let length = try #require(bytes.getInteger(at: bytes.readerIndex + 3, as: UInt16.self))
    let first = bytes.readSlice(length: 5 + Int(length))
    try channel.writeInbound(try #require(first))
    return bytes
  }

  /// Passes bytes on until neither side has any.
  func exchange() throws {
    while true {
      channel.embeddedEventLoop.run()
      var moved = false
      while channel.isWritable, let bytes = try channel.readOutbound(as: ByteBuffer.self) {
        moved = moved || bytes.readableBytes > 0
        server.receive(bytes)
      }
      var bytes = server.takeOutput()
      if let changed, (sentByServer..<sentByServer + bytes.count).contains(changed) {
        bytes[changed - sentByServer] ^= 0x55
      }
      let arriving = bytes.prefix(max(0, (limit ?? .max) - sentByServer))
      sentByServer += bytes.count
      // As a network does it.
      var rest = arriving
      while !rest.isEmpty {
        moved = true
        if channel.isActive { _ = try? channel.writeInbound(ByteBuffer(bytes: rest.prefix(1_000))) }
        rest = rest.dropFirst(1_000)
      }
      if !moved { return }
    }
  }

  /// The network, which keeps the bytes that it sees.
  private final class Network: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    var context: ChannelHandlerContext?
    var limit = Int.max
    var count = 0
    var closesOnWrite = false
    var outputCloses = 0
    var reads = 0

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      count += unwrapOutboundIn(data).readableBytes
      guard !closesOnWrite else {
        context.close(promise: nil)
        promise?.fail(ChannelError.ioOnClosedChannel)
        return
      }
      context.write(data, promise: promise)
      if count > limit, context.channel.isWritable {
        (context.channel as? EmbeddedChannel)?.isWritable = false
        context.fireChannelWritabilityChanged()
      }
    }

    func read(context: ChannelHandlerContext) {
      reads += 1
      context.read()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      if case .output = mode {
        outputCloses += 1
        promise?.succeed()
      } else {
        context.close(mode: mode, promise: promise)
      }
    }
  }

  /// The events that the application sees.
  final class Seen: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var bytes: [UInt8] = []
    var errors: [any Error] = []
    /// The errors that came after the connection was gone.
    var lateErrors = 0
    var inputEnds = 0
    var isInactive = false

    /// The first error as text; empty for none.
    var failure: String { errors.first.map { "\($0)" } ?? "" }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { bytes += unwrapInboundIn(data).readableBytesView }
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      errors.append(error)
      if isInactive { lateErrors += 1 }
    }
    func channelInactive(context: ChannelHandlerContext) { isInactive = true }
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case ChannelEvent.inputClosed? = event as? ChannelEvent { inputEnds += 1 }
    }
  }
}

/// A server's side of TLS in memory.
private final class Server {
  let connection: OpaquePointer
  private let context, input, output: OpaquePointer
  private(set) var received: [UInt8] = []
  private(set) var hasEnded = false
  private(set) var handshakes = 0

  var text: String { String(decoding: received, as: UTF8.self) }
  var requestedName: String? {
    SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
  }

  init(_ certificate: Certificate, _ version: Int32) throws {
    guard let context = SSL_CTX_new(TLS_server_method()), let connection = SSL_new(context),
      let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem())
    else { throw Certificate.Failed() }
    (self.context, self.connection, self.input, self.output) = (context, connection, input, output)
    SSL_set_security_level(connection, 0)
    for setting in [SSL_CTRL_SET_MIN_PROTO_VERSION, SSL_CTRL_SET_MAX_PROTO_VERSION] {
      SSL_ctrl(connection, setting, Int(version), nil)
    }
    SSL_use_certificate(connection, certificate.pointer)
    SSL_use_PrivateKey(connection, certificate.key)
    SSL_set_bio(connection, input, output)
    SSL_set_accept_state(connection)
  }

  deinit {
    SSL_free(connection)
    SSL_CTX_free(context)
  }

  func receive(_ bytes: ByteBuffer) {
    _ = bytes.withUnsafeReadableBytes { BIO_write(input, $0.baseAddress, Int32($0.count)) }
    var space = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let isOpen = SSL_is_init_finished(connection) == 1
      let count = SSL_read(connection, &space, Int32(space.count))
      if !isOpen, SSL_is_init_finished(connection) == 1 { handshakes += 1 }
      guard count > 0 else { break }
      received += space.prefix(Int(count))
    }
    if SSL_get_shutdown(connection) & SSL_RECEIVED_SHUTDOWN != 0 { hasEnded = true }
    ERR_clear_error()
  }

  func write(_ bytes: [UInt8]) {
    if !bytes.isEmpty { SSL_write(connection, bytes, Int32(bytes.count)) }
    ERR_clear_error()
  }

  func end() { SSL_shutdown(connection) }

  /// Makes a ticket that takes several records.
  func makeLongTicket() {
    SSL_CTX_set_session_ticket_cb(
      context,
      { connection, _ in
        let bytes = [UInt8](repeating: 0, count: 600)
        return SSL_SESSION_set1_ticket_appdata(SSL_get_session(connection), bytes, bytes.count)
      }, nil, nil)
    SSL_ctrl(connection, SSL_CTRL_SET_MAX_SEND_FRAGMENT, 512, nil)
    SSL_new_session_ticket(connection)
    SSL_do_handshake(connection)
    ERR_clear_error()
  }

  func askToRenegotiate() {
    SSL_renegotiate(connection)
    SSL_do_handshake(connection)
    ERR_clear_error()
  }

  func takeOutput() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
    if !bytes.isEmpty { BIO_read(output, &bytes, Int32(bytes.count)) }
    return bytes
  }
}
