import Foundation
import PageTesting
import TestServers
import Testing

@testable import RenderHost

struct CheckConfigTests {
  @Test("valid settings are printed with their sources")
  func validSettings() async throws {
    let folder = try TemporaryDirectory()
    let file = folder.file("c.json")
    try Data(#"{"max-pages": 7, "workers": 3}"#.utf8).write(to: URL(fileURLWithPath: file))
    let result = try await Tool.run(
      Daemon.executable, "--check-config", "--bundles", folder.path, "--config", file,
      environment: ["RENDERHOST_WORKERS": "5", "RENDERHOST_ADMIN_TOKEN": "0123456789abcdef", "RENDERHOST_ODD": "1"])
    #expect(result.status == 0, "\(result.error)")
    let lines = result.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(lines.contains(["bundles", folder.path, "--bundles"]))
    #expect(lines.contains(["workers", "5", "RENDERHOST_WORKERS"]))
    #expect(lines.contains(["max-pages", "7", file]))
    #expect(lines.contains(["admin-token", "********", "RENDERHOST_ADMIN_TOKEN"]))
    #expect(lines.contains(["page-time", "5", "default"]))
    #expect(!result.output.contains("0123456789abcdef"))
    #expect(result.error.contains("RENDERHOST_ODD is set"))
  }

  @Test(
    "invalid settings are named, and the exit status is 1",
    arguments: [
      (["--bundles", "/nowhere"], "/nowhere is not a folder"), (["--bundles", "/", "--workers", "none"], "\"none\""),
      ([], "nothing to serve"), (["--bundles", "/", "--config", "/nowhere.json"], "/nowhere.json"),
      (["--bundles", "/", "--framework", "Vue=/nowhere.js"], "/nowhere.js of Vue cannot be read"),
      (["--bundles", "/", "--prelude", "Rax=/nowhere.js"], "--prelude: the file /nowhere.js of Rax cannot be read"),
      (["--bundles", "/", "--framework", "Vue=/tmp"], "/tmp of Vue cannot be read"),
      (["--bundles", "/", "--framework", "Vue=/proc/self/exe"], "/proc/self/exe of Vue is not UTF-8"),
      (["--bundles", "/", "--admin-listen", "0.0.0.0:0"], "0.0.0.0:0, since there is no admin token"),
      (["--bundles", "/", "--report-key", "/etc/hostname"], "make one with \"bundlectl key new\""),
      (["--bundles", "/", "--public", "page"], "one or several of pages, dashboard, status, metrics and admin"),
      (["--bundles", "/", "--framework", "View=/etc/hostname"], "TYPE of Vanilla, Vue, Rax or Weex"),
      (["--bundles", "/", "--journal", "10.0.0.1:4222"], "the URL of a NATS server, such as nats://10.0.0.1:4222"),
      (["--bundles", "/", "--fleet", "a.b"], "1 to 32 letters, digits, hyphens and underscores"),
      (["--bundles", "/", "--fleet-host", "a"], "--fleet-host needs --journal"),
      (["--bundles", "/", "--when-cut-off", "wait"], "serve or revalidate"),
      (["--bundles", "/", "--trusted-proxies", "10.0.0.0/33"], "addresses or ranges of them"),
      (["--bundles", "/", "--proxy-protocol", "listen"], "--proxy-protocol needs --trusted-proxies"),
      (["--bundles", "/", "--trusted-proxies", "::1", "--proxy-protocol", "all"], "one or several of listen"),
      (["--bundles", "/", "--trusted-proxies", "::1", "--proxy-protocol", "gateway"], "gateway needs --gateway"),
      (
        ["--bundles", "/", "--journal", "nats://127.0.0.1:1", "--journal-ca", "/nowhere.pem"],
        "--journal-ca: /nowhere.pem cannot be read"
      ),
    ])
  func invalidSettings(_ arguments: [String], _ named: String) async throws {
    let result = try await Tool.start(Daemon.executable, ["--check-config"] + arguments).result()
    #expect(result.status == 1 && result.error.contains(named), "\(result)")
    // --check-config checks the settings that would be run.
    let run = try await Tool.start(Daemon.executable, arguments).result()
    #expect(run.status == 1 && run.error.contains(named), "\(run)")
  }

  @Test(
    "the address of the admin listener is printed",
    arguments: [
      (["--listen", "0.0.0.0:80"], "127.0.0.1:0", "default"),
      (["--listen", "127.0.0.1:80"], "127.0.0.1:80", "default"),
      (["--listen", "0.0.0.0:80", "--admin-listen", "[::1]:9090"], "[::1]:9090", "--admin-listen"),
    ])
  func adminAddress(_ arguments: [String], _ address: String, _ source: String) async throws {
    let result = try await Tool.start(Daemon.executable, ["--check-config", "--bundles", "/"] + arguments).result()
    let lines = result.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(result.status == 0 && lines.contains(["admin-listen", address, source]), "\(result)")
  }

  @Test("routes that answer everybody are a warning")
  func publicWarnings() async throws {
    let result = try await Tool.run(
      Daemon.executable, "--check-config", "--bundles", "/", "--listen", "0.0.0.0:80", "--public", "pages,metrics",
      "--insecure-admin")
    #expect(result.status == 0 && result.error.contains("pages and metrics answer everybody who can reach 0.0.0.0:80"))
    let lines = result.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(lines.contains(["public", "pages,", "metrics", "--public"]))
    #expect(lines.contains(["insecure-admin", "true", "--insecure-admin"]))
  }

  @Test("an unknown flag is wrong usage")
  func unknownFlag() async throws {
    let result = try await Tool.run(Daemon.executable, "--bundle", "/")
    #expect(result.status == 64 && result.error.contains("--bundles"))
  }
}
