import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Writes fields in a form that HTTP/2 can carry, whose fields are UTF-8 in swift-nio: each byte that is not UTF-8
/// becomes a character of ISO 8859-1.
final class ReadableFieldsHandler: ChannelOutboundHandler, RemovableChannelHandler {
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private var isStream = false

  func handlerAdded(context: ChannelHandlerContext) {
    // A stream's parent is a connection, whose parent is the listening socket.
    isStream = context.channel.parent?.parent != nil
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard isStream else { return context.write(data, promise: promise) }
    switch unwrapOutboundIn(data) {
    case .head(var head):
      head.headerFields = head.headerFields.readable
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .body: context.write(data, promise: promise)
    case .end(let trailers): context.write(wrapOutboundOut(.end(trailers?.readable)), promise: promise)
    }
  }
}

extension HTTPFields {
  /// The fields with characters of ISO 8859-1 in place of bytes that are not UTF-8.
  var readable: HTTPFields {
    guard contains(where: { OpaqueText.hasEscapes($0.value) }) else { return self }
    return HTTPFields(
      map { field in
        var field = field
        field.value = OpaqueText.readable(field.value)
        return field
      })
  }
}
