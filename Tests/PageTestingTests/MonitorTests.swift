import PageTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MonitorTests {
  private struct Late: Error, Equatable {
    let value: Int
  }

  @Test("waiters are woken in order by the change that meets their condition")
  func wakeOrder() {
    let monitor = Monitor(0)
    let woken = Monitor<[String]>([])
    for (name, wanted) in [("a", 2), ("b", 1), ("c", 2)] {
      _ = monitor.whenTrue {
        $0 >= wanted
      } wake: { _ in
        woken.change { $0.append(name) }
      }
    }
    monitor.change { $0 = 1 }
    #expect(woken.read { $0 } == ["b"])
    monitor.change { $0 = 2 }
    #expect(woken.read { $0 } == ["b", "a", "c"])
    monitor.change { $0 = 3 }
    #expect(woken.read { $0 }.count == 3)
  }

  @Test("a condition that is met wakes at once")
  func metCondition() {
    let woken = Monitor(false)
    _ = Monitor(1).whenTrue {
      $0 == 1
    } wake: { _ in
      woken.change { $0 = true }
    }
    #expect(woken.read { $0 })
  }

  @Test("an abandoned waiter gets the error")
  func abandonedWaiter() {
    let monitor = Monitor(0)
    let failures = Monitor(0)
    let number = monitor.whenTrue {
      $0 == 1
    } wake: { result in
      if case .failure = result { failures.change { $0 += 1 } }
    }
    monitor.giveUp(number, with: Late(value: 0))
    monitor.giveUp(number, with: Late(value: 0))
    monitor.change { $0 = 1 }
    #expect(failures.read { $0 } == 1)
  }

  @Test("the error at the deadline contains the value")
  func deadlineError() async {
    let monitor = Monitor(7)
    await #expect(throws: Late(value: 7)) {
      try await monitor.wait(within: .milliseconds(5)) {
        $0 == 8
      } failure: {
        Late(value: $0)
      }
    }
  }

  @Test("a cancelled task does not wait")
  func cancelledTask() async {
    let monitor = Monitor(0)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await monitor.wait(within: nil) { $0 == 1 }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
