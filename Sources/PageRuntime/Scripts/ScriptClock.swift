import Foundation
import ScriptEngine
import Synchronization

/// The time and the random numbers of the scripts in a group that runs deterministically.
final class ScriptClock: Sendable {
  let determinism: PageDeterminism
  private let state: Mutex<(time: Double, reads: Int, random: SeededNumbers)>

  /// The number of readings after which the time goes on by a millisecond within an entry.
  private static let readsPerMillisecond = 1_000

  init(_ determinism: PageDeterminism) {
    self.determinism = determinism
    state = Mutex((determinism.milliseconds, 0, SeededNumbers(seed: determinism.seed)))
  }

  /// The time in milliseconds since 1970.
  var now: Double { state.withLock { $0.time } }

  /// Sets the time of an entry.
  func begin(at time: Double) { state.withLock { ($0.time, $0.reads) = (time, 0) } }

  /// A script's reading of the time.
  func read() -> Double {
    state.withLock { state in
      defer {
        state.reads += 1
        if state.reads % Self.readsPerMillisecond == 0 { state.time += 1 }
      }
      return state.time
    }
  }

  /// The next number of `Math.random`.
  func random() -> Double { state.withLock { $0.random.next() } }
}

/// Numbers from 0 up to 1 that follow from a seed (xorshift64*).
struct SeededNumbers {
  private var state: UInt64

  init(seed: UInt64) {
    // Seeds that differ little have to give different numbers from the first on: one step of SplitMix64.
    var mixed = seed &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    mixed ^= mixed >> 31
    state = mixed == 0 ? 0x9E37_79B9_7F4A_7C15 : mixed
  }

  mutating func next() -> Double {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return Double((state &* 0x2545_F491_4F6C_DD1D) >> 11) * 0x1p-53
  }
}

extension FrameworkState {
  /// Puts the clock in the place of a global object's own time, random numbers, zone and locale, before any other script
  /// runs there.
  ///
  /// - Throws: ``ScriptError`` if the engine does not know the zone or the locale.
  func pin(_ context: ScriptContext, to clock: ScriptClock) throws {
    let native =
      pinned
      ?? (
        context.makeFunction(named: "now", reading: { _ in .number(clock.read()) }),
        context.makeFunction(named: "random", reading: { _ in .number(clock.random()) })
      )
    pinned = native
    let (zone, locale) = (clock.determinism.zone, clock.determinism.locale)
    do {
      try context.evaluate(Self.pinScript, url: "determinism.js").call([
        context.adopting(native.now), context.adopting(native.random), context.reference(to: .string(zone)),
        context.reference(to: .string(locale)),
      ])
    } catch ScriptError.exception(let exception) {
      throw ScriptError.exception(
        ScriptException(
          message: "the time zone \"\(zone.prefix(100))\" and the locale \"\(locale.prefix(100))\" cannot be used: "
            + exception.message))
    }
  }

  private static let pinScript = #"""
    // Replaces what a global object takes from the machine: the time, random numbers, the time zone and the locale.
    (function (now, random, zone, locale) {
      'use strict'

      // Scripts may change the classes later.
      var define = Object.defineProperty
      var describe = Object.getOwnPropertyDescriptor
      var construct = Reflect.construct
      var apply = Reflect.apply
      var create = Object.create
      var NativeDate = Date
      var dates = NativeDate.prototype
      var UTC = NativeDate.UTC
      var parseNative = NativeDate.parse
      var native = {}
      Reflect.ownKeys(dates).forEach(function (name) { native[name] = dates[name] })
      var Format = Intl.DateTimeFormat
      var formatToParts = Format.prototype.formatToParts
      Intl.getCanonicalLocales(locale)

      function replace (holder, name, value) {
        define(holder, name, { value: value, writable: true, configurable: true, enumerable: false })
      }
      // A function that is called as a method: it has the name, and cannot be constructed.
      function method (holder, name, body) {
        replace(holder, name, { [name] (...args) { return body(this, args) } }[name])
      }

      // MARK: Random numbers

      method(Math, 'random', function () { return random() })

      // MARK: The zone

      // The first also checks the name.
      var parts = new Format('en-US-u-ca-gregory-nu-latn', {
        timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric',
        minute: 'numeric', second: 'numeric'
      })
      var isUTC = zone === 'UTC'
      var lastHour = NaN
      var lastOffset = 0
      // Before the first year the parts have an era. No zone changes within a quarter of an hour.
      var firstYear = -62135596800000

      // The milliseconds by which the zone's clock is before that of UTC.
      function offset (time) {
        if (isUTC || !(time - time === 0)) return 0
        var quarter = Math.floor(Math.max(time, firstYear + 864e5) / 9e5)
        if (quarter !== lastHour) {
          var found = {}
          var list = apply(formatToParts, parts, [quarter * 9e5])
          for (var index = 0; index < list.length; index++) found[list[index].type] = +list[index].value
          lastOffset = UTC(found.year, found.month - 1, found.day, found.hour, found.minute, found.second) - quarter * 9e5
          lastHour = quarter
        }
        return lastOffset
      }

      // The time of which the zone's clock shows what UTC's shows at `local`.
      function fromLocal (local) {
        var guess = local - offset(local)
        return local - offset(guess)
      }

      function value (date) { return apply(native.getTime, date, []) }
      function shifted (date) {
        var time = value(date)
        return construct(NativeDate, [time + offset(time)])
      }

      ;['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds', 'Milliseconds'].forEach(function (part) {
        var get = native['getUTC' + part]
        var set = native['setUTC' + part]
        method(dates, 'get' + part, function (date) { return apply(get, shifted(date), []) })
        if (!set) return
        method(dates, 'set' + part, function (date, args) {
          var local = shifted(date)
          return apply(native.setTime, date, [fromLocal(apply(set, local, args))])
        })
      })
      method(dates, 'getYear', function (date) { return apply(native.getUTCFullYear, shifted(date), []) - 1900 })
      method(dates, 'setYear', function (date, args) {
        var year = +args[0]
        var whole = Math.trunc(year)
        return date.setFullYear(whole >= 0 && whole <= 99 ? whole + 1900 : year)
      })
      method(dates, 'getTimezoneOffset', function (date) {
        var time = value(date)
        return time - time === 0 ? -offset(time) / 6e4 : NaN
      })

      // MARK: Texts of dates

      function digits (number) { return (number < 10 ? '0' : '') + number }

      // `Thu Jan 01 2026` and `00:00:00 GMT+0000 (UTC)`; nothing for an invalid date.
      function texts (date) {
        var time = value(date)
        if (!(time - time === 0)) return null
        // `Thu, 01 Jan 2026 00:00:00 GMT`
        var words = apply(native.toUTCString, shifted(date), []).split(' ')
        var minutes = Math.abs(offset(time)) / 6e4
        var sign = offset(time) < 0 ? '-' : '+'
        return [
          words[0].slice(0, 3) + ' ' + words[2] + ' ' + words[1] + ' ' + words[3],
          words[4] + ' GMT' + sign + digits(Math.floor(minutes / 60)) + digits(Math.floor(minutes % 60)) + ' (' + zone + ')'
        ]
      }
      function text (date) {
        var found = texts(date)
        return found ? found[0] + ' ' + found[1] : 'Invalid Date'
      }
      method(dates, 'toString', text)
      method(dates, 'toDateString', function (date) { return (texts(date) || ['Invalid Date'])[0] })
      method(dates, 'toTimeString', function (date) { return (texts(date) || ['', 'Invalid Date'])[1] })

      function zoned (options) {
        if (options === null) return options
        var own = create(options === undefined ? null : Object(options))
        if (own.timeZone === undefined) own.timeZone = zone
        return own
      }
      ;['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString'].forEach(function (name) {
        method(dates, name, function (date, args) {
          return apply(native[name], date, [args[0] === undefined ? locale : args[0], zoned(args[1])])
        })
      })

      // MARK: Date

      var isDay = /^([+-]\d{6}|\d{4})(-\d\d(-\d\d)?)?$/
      var hasZone = /(Z|GMT|UTC|UT|[ECMP][SD]T|[+-]\d\d:?\d\d)(\s*\(.*\))?\s*$/i
      var isISO = /^([+-]\d{6}|\d{4})-\d\d-\d\dT/
      var test = RegExp.prototype.test

      function parse (text) {
        var time = parseNative(text)
        if (!(time - time === 0) || apply(test, isDay, [text]) || apply(test, hasZone, [text])) return time
        var local = parseNative(text + (apply(test, isISO, [text]) ? 'Z' : ' GMT'))
        if (!(local - local === 0)) {
          var date = construct(NativeDate, [time])
          local = UTC(
            apply(native.getFullYear, date, []), apply(native.getMonth, date, []), apply(native.getDate, date, []),
            apply(native.getHours, date, []), apply(native.getMinutes, date, []), apply(native.getSeconds, date, []),
            apply(native.getMilliseconds, date, []))
        }
        return fromLocal(local)
      }

      function PinnedDate (year, month, day, hours, minutes, seconds, milliseconds) {
        if (!new.target) return text(construct(NativeDate, [now()]))
        var args = arguments
        if (args.length === 0) args = [now()]
        else if (args.length > 1) args = [fromLocal(apply(UTC, undefined, args))]
        else if (typeof year === 'string') args = [parse(year)]
        return construct(NativeDate, args, new.target)
      }
      define(PinnedDate, 'name', { value: 'Date', configurable: true })
      define(PinnedDate, 'prototype', { value: dates, writable: false, enumerable: false, configurable: false })
      replace(dates, 'constructor', PinnedDate)
      method(PinnedDate, 'now', function () { return now() })
      method(PinnedDate, 'parse', function (date, args) { return parse('' + args[0]) })
      replace(PinnedDate, 'UTC', UTC)
      replace(globalThis, 'Date', PinnedDate)

      // MARK: The locale

      ;['Collator', 'DateTimeFormat', 'DisplayNames', 'DurationFormat', 'ListFormat', 'NumberFormat', 'PluralRules',
        'RelativeTimeFormat', 'Segmenter'].forEach(function (name) {
        var Native = Intl[name]
        if (typeof Native !== 'function') return
        function Pinned (locales, options) {
          var args = [locales === undefined ? locale : locales, name === 'DateTimeFormat' ? zoned(options) : options]
          return new.target ? construct(Native, args, new.target) : apply(Native, undefined, args)
        }
        define(Pinned, 'name', { value: name, configurable: true })
        define(Pinned, 'length', { value: Native.length, configurable: true })
        define(Pinned, 'prototype', { value: Native.prototype, writable: false, enumerable: false, configurable: false })
        replace(Pinned, 'supportedLocalesOf', Native.supportedLocalesOf)
        replace(Native.prototype, 'constructor', Pinned)
        replace(Intl, name, Pinned)
      })
      // Without a date these take the time of now.
      var format = describe(Format.prototype, 'format').get
      define(Format.prototype, 'format', {
        configurable: true,
        get: function () {
          var body = apply(format, this, [])
          return function (date) { return body(date === undefined ? now() : date) }
        }
      })
      method(Format.prototype, 'formatToParts', function (formatter, args) {
        return apply(formatToParts, formatter, [args[0] === undefined ? now() : args[0]])
      })

      // `index` is the place of the locale among the arguments.
      function localize (holder, name, index) {
        var body = holder[name]
        method(holder, name, function (receiver, args) {
          while (args.length < index) args[args.length] = undefined
          if (args[index] === undefined) args[index] = locale
          return apply(body, receiver, args)
        })
      }
      localize(Number.prototype, 'toLocaleString', 0)
      if (typeof BigInt === 'function') localize(BigInt.prototype, 'toLocaleString', 0)
      localize(String.prototype, 'localeCompare', 1)
      localize(String.prototype, 'toLocaleLowerCase', 0)
      localize(String.prototype, 'toLocaleUpperCase', 0)

      if (typeof performance === 'object' && performance && typeof performance.now === 'function') {
        var began = now()
        method(performance, 'now', function () { return now() - began })
      }
    })
    """#
}
