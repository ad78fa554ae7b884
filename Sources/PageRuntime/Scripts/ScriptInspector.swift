import HTTPTransport
import ScriptEngine

/// Describes the values of a page's script to debuggers, in the form of the Chrome DevTools Protocol (`Runtime.RemoteObject`).
/// Only for the group's thread.
///
/// Objects are kept under handles until their session releases them. The description runs in the page's context: a page can
/// spoil its own, and whoever reads it does not trust it.
final class ScriptInspector {
  private let functions: ScriptReference
  private let context: ScriptContext

  /// The limit of a description in characters.
  private static let textLimit = 4 << 20

  /// - Parameter context: the context in which expressions are evaluated.
  /// - Throws: ``ScriptError``.
  init(in context: ScriptContext) throws {
    self.context = context
    functions = try context.evaluate(Self.source, url: "inspector.js")
  }

  /// Evaluates an expression.
  ///
  /// - Returns: `{"result": …}`, or `{"thrown": …}` with the exception.
  /// - Throws: ``ScriptError`` if the script is stopped.
  func evaluate(
    _ expression: String, session: String, group: String, byValue: Bool, preview: Bool
  ) throws -> [UInt8] {
    do {
      let value = try context.evaluate(expression)
      let arguments: [ScriptValue] = [.string(session), .string(group), .bool(byValue), .bool(preview)]
      return try text(of: "describe", [value] + arguments.map { context.reference(to: $0) })
    } catch ScriptError.exception(let exception) {
      return JSONValue.object(["thrown": exception.json]).text
    }
  }

  /// Calls a function.
  ///
  /// - Parameters:
  ///   - declaration: the text of the function.
  ///   - handle: the object that is its `this`; `nil` for the global one.
  ///   - arguments: a list of `Runtime.CallArgument`s.
  ///   - group: the group of the result; `nil` for that of the object.
  /// - Returns: `{"result": …}`, or `{"thrown": …}` with the exception; `null` for an unknown handle.
  /// - Throws: ``ScriptError`` if the script is stopped.
  func call(
    _ declaration: String, on handle: String?, _ arguments: JSONValue, session: String, group: String?, byValue: Bool,
    preview: Bool
  ) throws -> [UInt8] {
    do {
      // The text may end with a comment.
      let function = try context.evaluate("(\(declaration)\n)")
      let values: [ScriptValue] = [
        .string(session), handle.map { .string($0) } ?? .null, .string(String(decoding: arguments.text, as: UTF8.self)),
        group.map { .string($0) } ?? .null, .bool(byValue), .bool(preview),
      ]
      return try text(of: "call", [function] + values.map { context.reference(to: $0) })
    } catch ScriptError.exception(let exception) {
      return JSONValue.object(["thrown": exception.json]).text
    }
  }

  /// Returns the properties of an object: `{"result": […], "internalProperties": […]}`; `null` for an unknown handle.
  ///
  /// - Parameter withIndexes: `false` to leave out those whose names are indexes.
  /// - Throws: ``ScriptError`` if the script is stopped.
  func properties(of handle: String, session: String, preview: Bool, withIndexes: Bool) throws -> [UInt8] {
    let arguments: [ScriptValue] = [.string(session), .string(handle), .bool(preview), .bool(withIndexes)]
    do {
      return try text(of: "properties", arguments.map { context.reference(to: $0) })
    } catch ScriptError.exception(let exception) {
      return JSONValue.object(["thrown": exception.json]).text
    }
  }

  /// Releases an object, the objects of a group, or all of a session.
  ///
  /// - Throws: ``ScriptError`` if the script is stopped.
  func release(session: String, handle: String?, group: String?) throws {
    let arguments: [ScriptValue] = [
      .string(session), handle.map { .string($0) } ?? .null, group.map { .string($0) } ?? .null,
    ]
    do {
      try functions.invoke("release", arguments.map { context.reference(to: $0) })
    } catch ScriptError.exception {
      // The page has spoilt its own objects.
    }
  }

  private func text(of method: String, _ arguments: [ScriptReference]) throws -> [UInt8] {
    let text = Array(try functions.invoke(method, arguments).text.utf8)
    guard text.count <= Self.textLimit else {
      let exception = ScriptException(
        message: "the description of the value has \(text.count) bytes; the limit is \(Self.textLimit)")
      return JSONValue.object(["thrown": exception.json]).text
    }
    return text
  }

  private static let source = #"""
    ;(function () {
      'use strict'

      var stringify = JSON.stringify
      var parse = JSON.parse
      var apply = Reflect.apply
      var keysOf = Reflect.ownKeys
      var describeProperty = Object.getOwnPropertyDescriptor
      var prototypeOf = Object.getPrototypeOf
      var kindOf = Function.prototype.call.bind(Object.prototype.toString)

      // The limits of what one page keeps and one answer has.
      var handleLimit = 10000
      var propertyLimit = 1000
      var previewLimit = 5
      var textLimit = 100000

      // The handles of each session, with the value and the group of each.
      var sessions = new Map()
      var count = 0
      var last = 0

      function keep (value, session, group) {
        var held = sessions.get(session)
        if (!held) sessions.set(session, held = new Map())
        if (count >= handleLimit) dropOldest(held)
        last += 1
        count += 1
        var handle = session + '.' + last
        held.set(handle, { value: value, group: group })
        return handle
      }

      // Of the session that keeps one more, or of another one if it has none.
      function dropOldest (held) {
        var from = held.size ? held : Array.from(sessions.values()).find(function (other) { return other.size })
        if (!from) return
        from.delete(from.keys().next().value)
        count -= 1
      }

      function clip (text, limit) {
        text = String(text)
        return text.length > limit ? text.slice(0, limit) + '…' : text
      }

      function className (value) {
        try {
          for (var at = value, steps = 0; at && steps < 100; at = prototypeOf(at), steps++) {
            var made = describeProperty(at, 'constructor')
            if (made && typeof made.value === 'function' && typeof made.value.name === 'string' && made.value.name) {
              return clip(made.value.name, 100)
            }
          }
          return kindOf(value).slice(8, -1)
        } catch (error) {
          return 'Object'
        }
      }

      function subtype (value) {
        if (Array.isArray(value)) return 'array'
        switch (kindOf(value)) {
          case '[object Error]': return 'error'
          case '[object Map]': return 'map'
          case '[object Set]': return 'set'
          case '[object Date]': return 'date'
          case '[object RegExp]': return 'regexp'
          case '[object Promise]': return 'promise'
          case '[object WeakMap]': return 'weakmap'
          case '[object WeakSet]': return 'weakset'
          case '[object ArrayBuffer]': return 'arraybuffer'
        }
        return ArrayBuffer.isView(value) && !(value instanceof DataView) ? 'typedarray' : undefined
      }

      function title (value, kind, name) {
        switch (kind) {
          case 'array': case 'typedarray': return name + '(' + value.length + ')'
          case 'map': case 'set': return name + '(' + value.size + ')'
          case 'date': case 'regexp': return clip(value, 1000)
          case 'error': return clip(value, 10000)
        }
        return name
      }

      function safely (body, otherwise) {
        try { return body() } catch (error) { return otherwise }
      }

      // A value as a RemoteObject.
      function describe (value, session, group, withPreview) {
        var type = typeof value
        switch (type) {
          case 'undefined': return { type: type }
          case 'boolean': return { type: type, value: value }
          case 'string': return { type: type, value: clip(value, textLimit) }
          case 'number':
            if (Number.isFinite(value) && !Object.is(value, -0)) return { type: type, value: value, description: String(value) }
            var text = Object.is(value, -0) ? '-0' : String(value)
            return { type: type, unserializableValue: text, description: text }
          case 'bigint': return { type: type, unserializableValue: clip(value, 1000) + 'n', description: clip(value, 1000) + 'n' }
          case 'symbol': return { type: type, description: clip(value.toString(), 1000), objectId: keep(value, session, group) }
          case 'function':
            return {
              type: type, className: 'Function', objectId: keep(value, session, group),
              description: safely(function () { return clip(Function.prototype.toString.call(value), 1000) }, 'function')
            }
        }
        if (value === null) return { type: 'object', subtype: 'null', value: null }
        var kind = safely(function () { return subtype(value) }, undefined)
        var name = className(value)
        var made = {
          type: 'object', subtype: kind, className: name, objectId: keep(value, session, group),
          description: safely(function () { return title(value, kind, name) }, name)
        }
        if (kind === 'error') made.stack = safely(function () { return clip(value.stack, 10000) }, undefined)
        if (withPreview) made.preview = safely(function () { return previewOf(value, made) }, undefined)
        return made
      }

      function brief (name, value) {
        var type = typeof value
        var entry = { name: clip(String(name), 100), type: type }
        if (value === null) {
          entry.type = 'object'
          entry.subtype = 'null'
          entry.value = 'null'
        } else if (type === 'object') {
          entry.subtype = safely(function () { return subtype(value) }, undefined)
          entry.value = safely(function () { return clip(title(value, entry.subtype, className(value)), 100) }, 'Object')
        } else {
          entry.value = type === 'function' ? '' : clip(value, 100)
        }
        return entry
      }

      function previewOf (value, made) {
        var names = keysOf(value)
        if (made.subtype === 'array') names = names.filter(function (name) { return name !== 'length' })
        var limit = made.subtype === 'array' ? 20 * previewLimit : previewLimit
        var properties = []
        for (var index = 0; index < names.length && properties.length < limit; index++) {
          var property = describeProperty(value, names[index])
          if (!property || !property.enumerable || typeof names[index] === 'symbol') continue
          properties.push('value' in property ? brief(names[index], property.value) : { name: clip(names[index], 100), type: 'accessor' })
        }
        return {
          type: 'object', subtype: made.subtype, description: made.description, overflow: names.length > properties.length,
          properties: properties
        }
      }

      function internals (value, session, group) {
        var found = [{ name: '[[Prototype]]', value: describe(prototypeOf(value), session, group) }]
        var kind = subtype(value)
        if (kind === 'map') {
          found.push({
            name: '[[Entries]]',
            value: describe(Array.from(value).slice(0, propertyLimit).map(function (pair) {
              return { key: pair[0], value: pair[1] }
            }), session, group)
          })
        } else if (kind === 'set') {
          found.push({ name: '[[Entries]]', value: describe(Array.from(value).slice(0, propertyLimit), session, group) })
        }
        return found
      }

      function answer (value, session, group, byValue, withPreview) {
        if (byValue && typeof value === 'object' && value !== null) {
          return stringify({ result: { type: 'object', value: value } })
        }
        return stringify({ result: describe(value, session, group, withPreview) })
      }

      // The value of a text that JSON has no value for.
      function unserialized (text) {
        switch (text) {
          case 'NaN': return NaN
          case 'Infinity': return Infinity
          case '-Infinity': return -Infinity
          case '-0': return -0
        }
        if (!/^-?[0-9]{1,1000}n$/.test(text)) throw new TypeError('an argument is ' + clip(text, 100) + ', which is no value')
        return BigInt(text.slice(0, -1))
      }

      return {
        describe: answer,
        call: function (body, session, handle, given, group, byValue, withPreview) {
          var held = sessions.get(session)
          var target = handle === null ? { value: globalThis, group: '' } : held && held.get(handle)
          if (!target) return 'null'
          if (typeof body !== 'function') throw new TypeError('the functionDeclaration is not a function')
          var list = parse(given)
          var values = []
          for (var index = 0; index < list.length; index++) {
            if (typeof list[index].objectId === 'string') {
              var kept = held && held.get(list[index].objectId)
              if (!kept) return 'null'
              values.push(kept.value)
            } else {
              var text = list[index].unserializableValue
              values.push(typeof text === 'string' ? unserialized(text) : list[index].value)
            }
          }
          var result = apply(body, target.value, values)
          return answer(result, session, group === null ? target.group : group, byValue, withPreview)
        },
        properties: function (session, handle, withPreview, withIndexes) {
          var held = sessions.get(session)
          held = held && held.get(handle)
          if (!held) return 'null'
          var value = Object(held.value)
          var names = keysOf(value)
          if (!withIndexes) {
            names = names.filter(function (name) { return typeof name === 'symbol' || !/^(0|[1-9][0-9]*)$/.test(name) })
          }
          names = names.slice(0, propertyLimit)
          var result = names.map(function (name) {
            var property = describeProperty(value, name) || { value: undefined }
            var entry = {
              name: clip(String(name), 1000), isOwn: true, configurable: !!property.configurable, enumerable: !!property.enumerable
            }
            if (typeof name === 'symbol') entry.symbol = describe(name, session, held.group)
            if ('value' in property) {
              entry.writable = !!property.writable
              entry.value = describe(property.value, session, held.group, withPreview)
            } else {
              if (property.get) entry.get = describe(property.get, session, held.group)
              if (property.set) entry.set = describe(property.set, session, held.group)
            }
            return entry
          })
          return stringify({
            result: result,
            internalProperties: safely(function () { return internals(value, session, held.group) }, [])
          })
        },
        release: function (session, handle, group) {
          var held = sessions.get(session)
          if (!held) return
          held.forEach(function (entry, key) {
            if ((handle !== null && key !== handle) || (group !== null && entry.group !== group)) return
            held.delete(key)
            count -= 1
          })
          if (!held.size) sessions.delete(session)
        }
      }
    })()
    """#
}
