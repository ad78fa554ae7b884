import Foundation
import HTTPCaching
import NIOCore

/// Stands before HTTP's decoder: answers request heads that are known, and learns the answers to those that are not.
///
/// It knows where a request begins only as long as each has come in one piece, and the next after the answer to the
/// one before; when it does not, the connection goes the long way for good.
final class RecallHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  private enum State {
    /// A request may begin.
    case idle
    /// An answer is on its way; what is learned of it, where it is one to be remembered.
    case answering(Lesson?)
    /// It is not known where requests begin.
    case lost
  }

  private struct Lesson {
    let head: ByteBuffer
    var answer: [ByteBuffer] = []
    var size = 0
  }

  let slot = RecallSlot()
  private let memory: AnswerMemory
  private let connection: ConnectionHandler
  /// A connection is seen by those who close idle ones only when it goes the long way.
  private let longWayEvery: Duration
  private var lastLongWay = ContinuousClock.now
  private var state = State.idle
  private var date = (second: 0, text: "")
  /// The client's.
  private let address: String

  init(memory: AnswerMemory, connection: ConnectionHandler, address: String, idle: Duration) {
    (self.memory, self.connection, self.address) = (memory, connection, address)
    longWayEvery = idle / 4
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .idle = state else {
      state = .lost
      return context.fireChannelRead(data)
    }
    let bytes = unwrapInboundIn(data)
    guard AnswerMemory.isWholeHead(bytes) else {
      state = .lost
      return context.fireChannelRead(data)
    }
    let now = ContinuousClock.now
    if now - lastLongWay < longWayEvery, context.channel.isWritable, let answer = memory.answer(to: bytes) {
      return give(answer, since: now, context)
    }
    lastLongWay = now
    state = .answering(Lesson(head: bytes))
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .answering(var lesson?) = state {
      if case .byteBuffer(let buffer) = unwrapOutboundIn(data) {
        lesson.answer.append(buffer)
        lesson.size += buffer.readableBytes
        state = .answering(lesson.size <= AnswerMemory.bodyLimit + AnswerMemory.headLimit ? lesson : nil)
      } else {
        state = .answering(nil)
      }
    }
    context.write(data, promise: promise)
  }

  /// The last byte of an answer was written.
  ///
  /// - Parameter isNext: whether the next bytes begin a request.
  func answered(isNext: Bool) {
    let offer = slot.take()
    guard case .answering(let lesson) = state else { return }
    state = isNext ? .idle : .lost
    guard isNext, let lesson, let offer, let answer = RecalledAnswer(lesson.answer, offer) else { return }
    memory.remember(answer, for: lesson.head)
  }

  private func give(_ answer: RecalledAnswer, since started: ContinuousClock.Instant, _ context: ChannelHandlerContext)
  {
    connection.headArrived()
    connection.awaitHead()
    let id = RequestID.next()
    let (head, body) = answer.buffers(date: currentDate(), requestID: id, context.channel.allocator)
    context.write(wrapOutboundOut(.byteBuffer(head)), promise: nil)
    if let body { context.write(wrapOutboundOut(.byteBuffer(body)), promise: nil) }
    context.flush()
    answer.note(id, from: address, since: started)
  }

  private func currentDate() -> String {
    let second = time(nil)
    if second != date.second { date = (second, HTTPDate(secondsSinceEpoch: Int64(second)).description) }
    return date.text
  }
}
