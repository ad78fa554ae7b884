// Calls of pages to the host, and the host's answers.
;(function (framework) {
  'use strict'

  function Tasks (id) {
    this.id = id
    this.callbacks = Object.create(null)
    this.hooks = Object.create(null)
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

  // Values in the form that the host expects: functions as numbers, elements as refs.
  Tasks.prototype.normalise = function (value) {
    var tasks = this
    if (value === null) return null
    if (typeof value === 'function') return tasks.addCallback(value)
    if (typeof value !== 'object') return value
    // Values are from the page's own global object, whose classes differ from those here.
    var kind = framework.kind(value)
    if (TYPES.indexOf(kind) >= 0) return framework.packBinary(value, kind)
    if (value instanceof framework.Element) return value.ref
    if (kind === 'Date') return isNaN(value) ? '' : value.toISOString()
    if (kind === 'RegExp') return String(value)
    if (Array.isArray(value)) return value.map(function (member) { return tasks.normalise(member) })
    var result = {}
    for (var name in value) framework.put(result, name, tasks.normalise(value[name]))
    return result
  }

  Tasks.prototype.normaliseAll = function (values) {
    var tasks = this
    // An argument that is nothing is an empty text; a member of one stays.
    return values.map(function (value) { return value === null || value === undefined ? '' : tasks.normalise(value) })
  }

  Tasks.prototype.callModule = function (module, method, args) {
    return globalThis.callNativeModule(this.id, module, method, this.normaliseAll(args), {})
  }

  Tasks.prototype.callComponent = function (ref, method, args, type) {
    return globalThis.callNativeComponent(this.id, ref, method, this.normaliseAll(args), { component: type })
  }

  // The document's task center, for bundles that use it.
  Tasks.prototype.send = function (type, target, args) {
    target = target || {}
    if (type === 'component') return this.callComponent(target.ref, target.method, args || [], target.component)
    return this.callModule(target.module, target.method, args || [])
  }

  Tasks.prototype.updateData = function (component, data, callback) {
    return globalThis.__updateComponentData(
      this.id, component, this.normalise(data), callback === undefined ? '' : this.normalise(callback))
  }

  // MARK: Hooks of a component's lifecycle, which the host calls

  function hookName (component, type, hook) { return type + '@' + hook + '#' + component }

  Tasks.prototype.registerHook = function (component, type, hook, body) {
    this.hooks[hookName(component, type, hook)] = body
  }

  Tasks.prototype.triggerHook = function (component, type, hook, args) {
    var body = this.hooks[hookName(component, type, hook)]
    return typeof body === 'function' ? body.apply(null, Array.isArray(args) ? args : []) : null
  }

  framework.Tasks = Tasks

  // MARK: Binary

  framework.kind = function (value) { return Object.prototype.toString.call(value).slice(8, -1) }

  var TYPES = ['Uint8Array', 'Int8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
    'Float32Array', 'Float64Array', 'DataView', 'ArrayBuffer']

  framework.packBinary = function (data, name) {
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
    for (var name in value) framework.put(value, name, framework.unpackBinary(value[name]))
    return value
  }
})(globalThis.__framework)
