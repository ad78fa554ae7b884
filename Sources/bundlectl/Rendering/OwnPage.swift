import Foundation
import PageKit
import PageWorkers

/// A page whose script runs in this process.
actor OwnPage: RenderedPage {
  private let request: Rendering.Request
  private let host: PageHost
  private let listener: NoticeListener
  private let page: PageInstance
  private let token: PageRegistry.Registration
  private let listening: Task<Void, Never>
  private var pending = PendingWork()
  private var hasRun = false

  init(_ request: Rendering.Request, on host: PageHost, _ listener: NoticeListener) async {
    (self.request, self.host, self.listener) = (request, host, listener)
    let thrown = RecordedExceptions()
    token = host.pages.registry.register(thrown as any ScriptExceptionHandling, as: \.exceptions)
    page = await host.page()
    thrown.tell(besides: page.id) { listener.receive(.thrown($0)) }
    listening = Task { [page, hasCommands = request.keepsCommands] in
      for await event in page.events {
        if let notice = PageNotice(event, hasCommands: hasCommands) { listener.receive(notice) }
      }
    }
  }

  func open() async -> RenderFault? {
    let fault = await render()
    let phase = await page.phase
    hasRun = phase == .live || phase == .empty
    if hasRun { pending = await settle() }
    return fault
  }

  private func render() async -> RenderFault? {
    await page.appear()
    if let recording = request.recording { await page.record { recording.append($0) } }
    var options = PageOptions()
    options.determinism = request.determinism
    do {
      if request.isFile, let path = request.url.filePath {
        let bytes = try request.fileBytes(at: path)
        try await page.begin(request.url)
        options.bundleURL = request.url.text
        try await page.render(String(decoding: bytes, as: UTF8.self), options: options, data: request.data)
      } else {
        options.timeWaited = request.timeWaited
        try await page.renderByURL(request.url.text, options: options, data: request.data)
      }
      return nil
    } catch let fault as RenderFault {
      return fault
    } catch {
      // A notice has reported the error.
      return nil
    }
  }

  private func settle() async -> PendingWork {
    await page.pendingWork(within: request.wait, timers: request.timers)
  }

  func fire(_ event: FiredEvent) async -> RenderFault? {
    if let fault = event.fault(in: await page.tree) { return RenderFault(fault) }
    do {
      try await page.fireEvent(event.ref, event.type, event.details, changes: event.changes)
    } catch {
      return RenderFault(error.message)
    }
    pending = await settle()
    return nil
  }

  func look() async -> PageLook {
    await PageLook(
      phase: page.phase, failure: page.failure.map { PageFailureNotice($0) }, hasRun: hasRun, tree: page.tree,
      timings: page.timings, messages: page.messages,
      pending: pending, bundle: page.bundle)
  }

  func html(title: String, embedding: Bool) async -> String {
    await page.preview(title: title, embedding: embedding).html
  }

  func picture(_ options: PictureOptions) async throws -> [UInt8] {
    do {
      return try await page.picture(options)
    } catch {
      throw RenderFault(error.message)
    }
  }

  func source() async -> String? {
    if request.isFile { return request.url.filePath.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } }
    return await page.bundle.map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  func end() async -> RenderFault? {
    await page.destroy()
    await listening.value
    token.remove()
    return nil
  }
}
