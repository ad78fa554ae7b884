// A small reactive framework, driven by the host as frameworks in the wild are: pages have data, a function that draws
// elements from it, and are drawn anew where the data changes.
;(function () {
  'use strict'

  var pages = {}
  var modules = {}
  var componentTypes = {}
  var nextRef = 1

  // As frameworks do: a console of their own over the host's log.
  globalThis.console = {}
  ;['debug', 'log', 'info', 'warn', 'error'].forEach(function (level) {
    console[level] = function () {
      nativeLog.apply(null, Array.prototype.map.call(arguments, String).concat('__' + level.toUpperCase()))
    }
  })

  globalThis.registerModules = function (registered) {
    for (var name in registered) modules[name] = registered[name].slice()
  }
  globalThis.registerComponents = function (components) {
    components.forEach(function (component) { componentTypes[component.type] = component.methods || [] })
  }
  globalThis.getJSFMVersion = function () { return 'reactive-test' }

  // MARK: Callbacks

  function Page (id, config) {
    this.id = id
    this.config = config
    this.callbacks = {}
    this.lastCallback = 0
    this.nodes = {}
    this.instance = null
  }

  Page.prototype.keep = function (value) {
    if (typeof value !== 'function') return value === undefined || value === null ? '' : value
    this.callbacks[++this.lastCallback] = value
    return String(this.lastCallback)
  }

  Page.prototype.module = function (name) {
    var page = this
    if (!modules[name]) return undefined
    var proxy = {}
    modules[name].forEach(function (method) {
      proxy[method] = function () {
        var args = Array.prototype.map.call(arguments, function (value) { return page.keep(value) })
        return callNativeModule(page.id, name, method, args, {})
      }
    })
    return proxy
  }

  // MARK: Drawing

  function describe (page, node) {
    var made = { ref: node.ref, type: node.type, attr: node.attr, style: node.style, event: Object.keys(node.on) }
    if (node.children.length) made.children = node.children.map(function (child) { return describe(page, child) })
    return made
  }

  function element (page) {
    return function (type, options, children) {
      options = options || {}
      var node = {
        type: type, attr: options.attrs || {}, style: options.style || {}, on: options.on || {}, children: children || []
      }
      ;(componentTypes[type] || []).forEach(function (method) {
        node[method] = function () {
          var args = Array.prototype.map.call(arguments, function (value) { return page.keep(value) })
          return callNativeComponent(page.id, node.ref, method, args, { component: type })
        }
      })
      return node
    }
  }

  function name (page, node, ref) {
    node.ref = ref || String(nextRef++)
    page.nodes[node.ref] = node
    node.children.forEach(function (child) { name(page, child) })
  }

  function forget (page, node) {
    delete page.nodes[node.ref]
    node.children.forEach(function (child) { forget(page, child) })
  }

  function changes (before, after) {
    var found = null
    Object.keys(after).forEach(function (key) {
      if (before[key] !== after[key]) (found = found || {})[key] = after[key]
    })
    return found
  }

  // What differs between two drawings, told to the host.
  function patch (page, before, after) {
    after.ref = before.ref
    page.nodes[after.ref] = after
    var attrs = changes(before.attr, after.attr)
    var style = changes(before.style, after.style)
    if (attrs) callUpdateAttrs(page.id, after.ref, attrs)
    if (style) callUpdateStyle(page.id, after.ref, style)
    Object.keys(after.on).forEach(function (type) { if (!before.on[type]) callAddEvent(page.id, after.ref, type) })
    Object.keys(before.on).forEach(function (type) { if (!after.on[type]) callRemoveEvent(page.id, after.ref, type) })
    after.children.forEach(function (child, index) {
      var old = before.children[index]
      if (old && old.type === child.type) return patch(page, old, child)
      if (old) {
        callRemoveElement(page.id, old.ref)
        forget(page, old)
      }
      name(page, child)
      callAddElement(page.id, after.ref, describe(page, child), index < before.children.length ? index : -1)
    })
    before.children.slice(after.children.length).forEach(function (old) {
      callRemoveElement(page.id, old.ref)
      forget(page, old)
    })
  }

  // MARK: Channels

  var channels = []

  function Channel (name) {
    this.name = name
    channels.push(this)
  }

  Channel.prototype.postMessage = function (message) {
    var sender = this
    channels.forEach(function (other) {
      if (other !== sender && other.name === sender.name && other.onmessage) other.onmessage({ data: message })
    })
  }

  // MARK: Instances: what a bundle makes with `new Vue`

  function makeClass (page) {
    function Instance (options) {
      var instance = this
      this.$draw = options.render
      this.$isWaiting = false
      this.$data = {}
      Object.keys(options.data || {}).forEach(function (key) { instance.$watch(key, options.data[key]) })
      Object.keys(options.methods || {}).forEach(function (key) { instance[key] = options.methods[key].bind(instance) })
      page.instance = this
      this.$tree = this.$draw(element(page))
      name(page, this.$tree, '_root')
      callCreateBody(page.id, describe(page, this.$tree))
      if (options.mounted) options.mounted.call(this)
      callCreateFinish(page.id)
    }

    Instance.prototype.$watch = function (key, value) {
      var instance = this
      this.$data[key] = value
      Object.defineProperty(this, key, {
        enumerable: true, configurable: true,
        get: function () { return instance.$data[key] },
        set: function (next) {
          if (instance.$data[key] === next) return
          instance.$data[key] = next
          instance.$changed()
        }
      })
    }

    // Several changes are drawn at once, after the script has run.
    Instance.prototype.$changed = function () {
      var instance = this
      if (this.$isWaiting) return
      this.$isWaiting = true
      Promise.resolve().then(function () {
        instance.$isWaiting = false
        var next = instance.$draw(element(page))
        patch(page, instance.$tree, next)
        instance.$tree = next
        callUpdateFinish(page.id)
      })
    }
    return Instance
  }

  // MARK: What the host calls

  globalThis.createInstanceContext = function (id, config, data) {
    if (config.bundleType !== 'Vue') return new Error('[reactive] invalid bundle type "' + config.bundleType + '"')
    var page = pages[id] = new Page(id, config)
    page.data = data
    var timer = page.module('timer')
    var weex = { config: config, requireModule: function (name) { return page.module(name) } }
    // Some of what a page gets is inherited, and nothing of it can be changed.
    var shared = Object.freeze({ weex: weex, requireModule: weex.requireModule })
    var context = Object.create(shared)
    context.Vue = makeClass(page)
    context.setTimeout = function (body, delay) {
      timer.setTimeout(function () { body() }, delay)
      return String(page.lastCallback)
    }
    context.clearTimeout = function (handle) { timer.clearTimeout(handle) }
    context.updateComponentData = function (component, data, done) {
      __updateComponentData(page.id, component, data, page.keep(done))
    }
    context.send = function (tasks, done) { callNative(page.id, tasks, done ? page.keep(done) : '-1') }
    context.__WEEX_CALL_JAVASCRIPT__ = callJS
    // As published frameworks do: a class of their own, which reaches the pages of this engine, where there is none.
    if (typeof globalThis.BroadcastChannel !== 'function') context.BroadcastChannel = Channel
    return Object.freeze(context)
  }

  function call (page, task) {
    if (task.method === 'fireEvent') {
      var node = page.nodes[task.args[0]]
      var handler = node && node.on[task.args[1]]
      return handler && handler(task.args[2])
    }
    if (task.method === 'callback') {
      var callback = page.callbacks[task.args[0]]
      if (!task.args[2]) delete page.callbacks[task.args[0]]
      return callback && callback(task.args[1])
    }
  }

  globalThis.callJS = function (id, tasks) {
    var page = pages[id]
    if (!page) return new Error('[reactive] no page ' + id)
    return tasks.map(function (task) { return call(page, task) })
  }

  globalThis.refreshInstance = function (id, data) {
    var page = pages[id]
    if (!page || !page.instance) return new Error('[reactive] page ' + id + ' cannot be refreshed')
    Object.keys(data).forEach(function (key) { page.instance[key] = data[key] })
    Promise.resolve().then(function () { callRefreshFinish(id) })
  }

  globalThis.destroyInstance = function (id) {
    if (!pages[id]) return new Error('[reactive] no page ' + id)
    delete pages[id]
  }

  globalThis.getRoot = function (id) {
    var instance = pages[id] && pages[id].instance
    return instance ? describe(pages[id], instance.$tree) : {}
  }
})()
