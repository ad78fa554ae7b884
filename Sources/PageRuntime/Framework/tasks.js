// What pages ask of the host, and how its answers find their way back.
;(function (framework) {
  'use strict'

  function Tasks (id) {
    this.id = id
    this.callbacks = {}
    this.lastCallback = 0
  }

  Tasks.prototype.addCallback = function (callback) {
    this.lastCallback += 1
    this.callbacks[this.lastCallback] = callback
    return String(this.lastCallback)
  }

  Tasks.prototype.answer = function (id, data, isKeptAlive) {
    var callback = this.callbacks[id]
    if (!isKeptAlive) delete this.callbacks[id]
    return typeof callback === 'function' ? callback(data) : undefined
  }

  // As the host expects arguments: functions by a number, elements by their reference, nothing as empty text.
  Tasks.prototype.normalise = function (value) {
    var tasks = this
    if (value === null || value === undefined) return ''
    if (typeof value === 'function') return tasks.addCallback(value)
    if (typeof value !== 'object') return value
    // Pages have constructors of their own: what a value is, its tag tells.
    var tag = Object.prototype.toString.call(value)
    if (tag === '[object ArrayBuffer]' || ArrayBuffer.isView(value)) return framework.packBinary(value)
    if (value.nodeType === 1 && value.ref) return value.ref
    if (tag === '[object Date]' || tag === '[object RegExp]') return value.toString()
    if (Array.isArray(value)) return value.map(function (member) { return tasks.normalise(member) })
    var result = {}
    for (var name in value) result[name] = tasks.normalise(value[name])
    return result
  }

  Tasks.prototype.normaliseAll = function (values) {
    var tasks = this
    return values.map(function (value) { return tasks.normalise(value) })
  }

  Tasks.prototype.callModule = function (module, method, args) {
    return globalThis.callNativeModule(this.id, module, method, this.normaliseAll(args), {})
  }

  Tasks.prototype.callComponent = function (ref, method, args) {
    return globalThis.callNativeComponent(this.id, ref, method, this.normaliseAll(args), {})
  }

  framework.Tasks = Tasks

  // MARK: Binary

  var TYPES = ['Uint8Array', 'Int8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
    'Float32Array', 'Float64Array', 'DataView', 'ArrayBuffer']

  framework.packBinary = function (data) {
    var name = Object.prototype.toString.call(data).slice(8, -1)
    var bytes = name === 'ArrayBuffer'
      ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    var text = ''
    for (var start = 0; start < bytes.length; start += 8192) {
      text += String.fromCharCode.apply(null, bytes.subarray(start, start + 8192))
    }
    return { '@type': 'binary', dataType: name, base64: globalThis.btoa(text) }
  }

  framework.unpackBinary = function (value) {
    if (!value || typeof value !== 'object') return value
    if (Array.isArray(value)) return value.map(framework.unpackBinary)
    if (value['@type'] === 'binary') {
      var text = globalThis.atob(value.base64 || '')
      var bytes = new Uint8Array(text.length)
      for (var index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index)
      if (value.dataType === 'ArrayBuffer') return bytes.buffer
      var type = TYPES.indexOf(value.dataType) >= 0 ? globalThis[value.dataType] : null
      return type ? new type(bytes.buffer) : bytes.buffer
    }
    for (var name in value) value[name] = framework.unpackBinary(value[name])
    return value
  }
})(globalThis.__framework)
