// A framework of the oldest kind: it is given a bundle's text, makes code of it itself, and has one function of the
// host's for everything.
;(function () {
  'use strict'

  var pages = {}
  var timers = {}
  var nextTimer = 1

  var modules = {}

  globalThis.registerModules = function (registered) { for (var name in registered) modules[name] = registered[name] }
  globalThis.registerComponents = function () {}

  globalThis.setTimeoutCallback = function (id) {
    var body = timers[id]
    delete timers[id]
    if (body) body()
  }

  function later (body, delay) {
    var id = String(nextTimer++)
    timers[id] = body
    setTimeoutNative(id, delay)
    return id
  }

  globalThis.createInstance = function (id, code, config, data) {
    if (pages[id]) return new Error('the page ' + id + ' is there already')
    var page = pages[id] = { callbacks: {}, events: {}, last: 0 }

    function dom (method) {
      callNative(id, [{ module: 'dom', method: method, args: Array.prototype.slice.call(arguments, 1) }], '-1')
    }

    function define (made) {
      page.made = made
      dom('createBody', { ref: '_root', type: 'div', attr: {}, style: {} })
      made.elements.forEach(function (element, index) {
        dom('addElement', '_root', { ref: 'e' + index, type: element.type, attr: element.attr || {}, style: {} }, -1)
        for (var type in element.on || {}) {
          page.events['e' + index + type] = element.on[type]
          dom('addEvent', 'e' + index, type)
        }
      })
    }

    function fetch (module, method, args, callback) {
      page.callbacks[++page.last] = callback
      callNative(id, [{ module: module, method: method, args: args.concat(String(page.last)) }])
    }

    function requireModule (name) {
      var proxy = {}
      modules[name].forEach(function (method) {
        proxy[method] = function () { return callNativeModule(id, name, method, Array.prototype.slice.call(arguments)) }
      })
      return proxy
    }

    var given = {
      define: define, dom: dom, call: fetch, later: later, config: config, data: data, id: id, sendTasks: callNative,
      __weex_require_module__: requireModule
    }
    var names = Object.keys(given)
    Function.apply(null, names.concat(code)).apply(null, names.map(function (name) { return given[name] }))
    callNative(id, [{ module: 'dom', method: 'createFinish', args: [] }], -1)
  }

  globalThis.callJS = function (id, tasks) {
    var page = pages[id]
    tasks.forEach(function (task) {
      if (task.method === 'fireEvent') page.events[task.args[0] + task.args[1]](task.args[2])
      else if (task.method === 'callback') page.callbacks[task.args[0]](task.args[1])
    })
  }

  globalThis.refreshInstance = function (id) { callNative(id, [{ module: 'dom', method: 'refreshFinish', args: [] }]) }
  globalThis.destroyInstance = function (id) { delete pages[id] }
  globalThis.getRoot = function () { return {} }
})()
