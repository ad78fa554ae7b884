/// The transfers that have received something since their readers were woken. Lives on the curl thread.
final class PendingReaders {
  private var transfers: [ObjectIdentifier: Transfer] = [:]

  func add(_ transfer: Transfer) { transfers[ObjectIdentifier(transfer)] = transfer }

  func wake() {
    for transfer in transfers.values { transfer.wakeReader() }
    transfers.removeAll(keepingCapacity: true)
  }
}
