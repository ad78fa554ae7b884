import Blobs
import Bundles
import HTTPCache
import HTTPTransport
import PageRuntime
import Testing

@testable import PageKit

/// Calls what is deprecated without a warning.
private protocol FormerNames {
  func set(_ configuration: inout HostConfiguration)
  func areSet(_ configuration: HostConfiguration) -> Bool
}

/// The names that properties had before they were in groups.
struct HostConfigurationTests: FormerNames {
  @available(*, deprecated) func set(_ configuration: inout HostConfiguration) {
    configuration.store = StoreDirectory("/elsewhere")
    (configuration.memoryCapacity, configuration.allowsReadOnlyStore) = (1, false)
    configuration.quotas.responses = 2
    configuration.responses = .storingNothing()
    (configuration.channel, configuration.runtimeVersion, configuration.embedded) = ("beta", "1.4", "/pages.sqlar")
    configuration.verification = .everyOpen
    (configuration.trial, configuration.trust, configuration.reports) = (nil, nil, nil)
    configuration.preloadSchedule.firstPause = .seconds(3)
    configuration.fields[.userAgent] = "app"
    configuration.retry.attempts = 4
    configuration.transfer.total = .seconds(5)
    (configuration.certificateAuthorities, configuration.cookies) = ("/ca.pem", nil)
    configuration.saver.isOn = true
    configuration.opening.policy = .cacheOnly
    configuration.device = DefaultConfiguration(texts: ["a": "b"])
    configuration.scripts.ready = 6
    configuration.snapshot = .showLast
    configuration.pageFactory = { PageInstance(environment: $0, registry: $1) }
    configuration.fallback = { _, _ in .placeholder("away") }
  }

  @available(*, deprecated) func areSet(_ configuration: HostConfiguration) -> Bool {
    configuration.store == configuration.storage.directory && configuration.scripts.ready == 6
      && configuration.retry.attempts == 4 && configuration.channel == "beta"
  }

  @Test("the former names of a configuration's properties are those in its groups")
  func formerNames() {
    var configuration = HostConfiguration(store: StoreDirectory("/folder"))
    let former: any FormerNames = self
    former.set(&configuration)
    #expect(former.areSet(configuration))
    let storage = configuration.storage
    #expect(storage.directory == StoreDirectory("/elsewhere"))
    #expect((storage.memoryCapacity, storage.quotas.responses, storage.allowsReadOnly) == (1, 2, false))
    #expect(storage.responses != nil)
    let releases = configuration.releases
    #expect((releases.channel, releases.runtimeVersion, releases.embedded) == ("beta", "1.4", "/pages.sqlar"))
    #expect(releases.trial == nil)
    #expect(releases.preloadSchedule.firstPause == .seconds(3))
    let network = configuration.network
    #expect(network.fields[.userAgent] == "app")
    #expect((network.retry.attempts, network.transfer.total) == (4, .seconds(5)))
    #expect(network.certificateAuthorities == "/ca.pem" && network.saver.isOn)
    #expect(configuration.pages.scripts.ready == 6)
  }
}
