# `make demo` shows PageKit at work, `make test` tests it; both need only a Swift toolchain and install the rest.
.POSIX:
# Tests are built as what is shipped is: with the optimiser, whose checks differ. CONFIGURATION=debug builds the other way.
CONFIGURATION = release
# Tests are found by the compiler's index. That of the C modules costs a third of the time, and is for editors. Without
# -no-emit-module-separately-wmo the compiler checks the types of each module twice at once, which two cores have no
# room for. For a crash with lines of source, give OPTIONS without the last four words, which spare their making.
OPTIONS = -Xswiftc -enable-testing -Xswiftc -index-ignore-clang-modules -Xswiftc -no-emit-module-separately-wmo \
  -debug-info-format none -Xcxx -g0
BUILD = -c $(CONFIGURATION) $(OPTIONS)
# Where `make install` puts things; DESTDIR is put before it.
PREFIX = /usr/local
.PHONY: demo demo-fleet test suite docs soak soak-fleet fuzz lint format examples bench perf-check release install deb clean

demo:
	@scripts/setup
	@scripts/demo

# Three hosts of a fleet, with an object store, NATS and HAProxy.
demo-fleet:
	@scripts/setup fleet
	@scripts/demo-fleet

test:
	@scripts/test $(CONFIGURATION) $(OPTIONS)

# Tests by name, without the other steps: make suite TESTS=PurgeTests
suite:
	swift build $(BUILD) --build-tests
	swift test $(BUILD) --skip-build --filter "$(TESTS)"

# More of what takes long: traffic for as long as it is told, five minutes by default, 200 kills, a thousand pages.
soak:
	@scripts/setup test
	swift build $(BUILD) --build-tests
	PAGEKIT_SOAK=1 PAGEKIT_TRAFFIC_SECONDS=$${PAGEKIT_TRAFFIC_SECONDS:-300} swift test $(BUILD) --skip-build \
	  --filter "TrafficTests|ResponseKillTests|KillPointTests|InterruptionTests|MemoryTests|DaemonTests"

# A fleet of five hosts with NATS and HAProxy, whose parts fail: half an hour.
soak-fleet:
	@scripts/setup test
	@scripts/setup fleet
	swift build $(BUILD) --build-tests
	PAGEKIT_SOAK=1 swift test $(BUILD) --skip-build --filter FleetTests

# Input that libFuzzer makes up, for each reader of input from outside; ten minutes each by default.
fuzz:
	@scripts/setup
	@scripts/fuzz

lint:
	@scripts/setup
	swift format lint --strict --parallel --recursive Package.swift Plugins Sources Tests Benchmarks Examples
	@scripts/documentation
	@scripts/module-graph >/dev/null

# The website: articles, commands and the API, in .build/documentation.
docs:
	@scripts/setup
	swift build $(BUILD) --target PageKit
	swift build $(BUILD) --target HTTPCacheFoundation
	swift build $(BUILD) --target PageTesting
	@scripts/documentation --symbols "$$(swift build $(BUILD) --show-bin-path)" .build/documentation
	@echo "To read it: python3 -m http.server --directory .build/documentation --bind 127.0.0.1 8000"

format:
	swift format --in-place --parallel --recursive Package.swift Plugins Sources Tests Benchmarks Examples

examples:
	@scripts/check-examples $(BUILD)

bench:
	@scripts/setup bench
	@scripts/bench

# Instructions of operations that run no script, beside the thresholds in Benchmarks/Operations/thresholds.json.
perf-check:
	@scripts/setup
	swift build $(BUILD) --product Operations
	@scripts/perf-check "$$(swift build $(BUILD) --show-bin-path)/Operations"

# Programs that need no toolchain, without debug symbols, with man pages and completions: in .build/dist.
release:
	@scripts/setup release
	@scripts/build-release

# What `make release` has built, with the systemd unit and settings to begin with.
install:
	@scripts/install-release "$(DESTDIR)" "$(PREFIX)"

# A Debian package of the same; as root scripts/check-package tries it in a bare system.
deb: release
	@scripts/build-deb

clean:
	rm -rf .build .demo Examples/.build Benchmarks/.build
