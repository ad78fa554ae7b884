// The members of global objects that scripts expect and that the language does not have. A page's functions act for that
// page, whoever calls them; a framework's own act for the page that is running.
;(function (native) {
  'use strict'

  // Pages' scripts may change the classes later.
  var apply = Function.prototype.call.bind(Function.prototype.apply)
  // Sets a member unless its object is frozen.
  var set = Reflect.set
  var define = Object.defineProperty
  var now = Date.now
  var Module = Proxy
  var Modules = WeakMap
  var nodeEnvironment = native.nodeEnvironment

  // Calls a native function with these arguments and those of a call from an index on.
  function pass (body, args, call, from) {
    for (var index = from; index < call.length; index++) args[args.length] = call[index]
    return apply(body, null, args)
  }

  function makeLog (page, level) {
    return function () { pass(native.log, [page, level], arguments, 0) }
  }

  // MARK: Messages between pages

  // Pages have script engines of their own: the host passes messages on to other pages. Those of the same page get them
  // before `postMessage` returns.
  function makeBroadcastChannel (page) {
    var open = []

    function receive (channel, message) {
      if (channel._closed || typeof channel.onmessage !== 'function') return
      channel.onmessage({
        type: 'message', data: message === undefined ? null : message, origin: '', source: null, ports: [], target: null,
        timeStamp: now()
      })
    }

    function BroadcastChannel (name) {
      var channel = this
      define(this, 'name', { value: '' + name, enumerable: true })
      this.onmessage = null
      this._closed = false
      var number = native.openChannel(page, this.name, function (message) { receive(channel, message) })
      define(this, '_number', { value: number })
      // A framework's own class begins anew with each page.
      if (number === 1) open = []
      open[open.length] = this
    }

    // The other channels of the name; a handler may open and close some.
    function others (sender) {
      var found = []
      for (var index = 0; index < open.length; index++) {
        if (open[index] !== sender && open[index].name === sender.name) found[found.length] = open[index]
      }
      return found
    }

    BroadcastChannel.prototype.postMessage = function (message) {
      if (this._closed) throw new Error('the channel "' + this.name + '" is closed')
      var listening = others(this)
      for (var index = 0; index < listening.length; index++) receive(listening[index], message)
      native.postMessage(page, this._number, message)
    }

    BroadcastChannel.prototype.close = function () {
      if (this._closed) return
      this._closed = true
      var left = []
      for (var index = 0; index < open.length; index++) if (open[index] !== this) left[left.length] = open[index]
      open = left
      native.closeChannel(page, this._number)
    }

    return BroadcastChannel
  }

  // MARK: The global object

  function atob (text) { return native.atob('' + text) }
  function btoa (text) { return native.btoa('' + text) }

  // `page` is the page's id; null for a framework.
  function install (global, page, environment) {
    if (environment !== undefined) global.WXEnvironment = environment
    global.global = global
    global.process = { env: { NODE_ENV: nodeEnvironment } }
    global.atob = atob
    global.btoa = btoa
    global.nativeLog = function () { pass(native.nativeLog, [page], arguments, 0) }
    global.console = {
      log: makeLog(page, 'log'),
      debug: makeLog(page, 'debug'),
      info: makeLog(page, 'info'),
      warn: makeLog(page, 'warn'),
      error: makeLog(page, 'error')
    }
    global.setTimeout = function (body, delay) { return pass(native.setTimer, [page, false, body, +delay || 0], arguments, 2) }
    global.setInterval = function (body, delay) { return pass(native.setTimer, [page, true, body, +delay || 0], arguments, 2) }
    global.clearTimeout = global.clearInterval = function (timer) { native.clearTimer(page, +timer) }
    // Published frameworks make a class of their own where there is none: it would reach no other page.
    global.BroadcastChannel = makeBroadcastChannel(page)
    // Older frameworks store the functions themselves.
    global.setTimeoutNative = function (callback, delay) {
      native.setTimer(page, false, function () { global.setTimeoutCallback(callback) }, +delay || 0)
    }
  }

  // MARK: Modules

  // Members that scripts look for on any object: a promise's `then`, JSON's `toJSON`, and private marks such as `__esModule`.
  function isProbe (member) {
    return typeof member !== 'string' || member === 'then' || member === 'toJSON' || member[0] === '_' || member[0] === '$'
  }

  // A framework's module as the SDK describes it, whatever the framework does: a function that is assigned to a method is the
  // method's argument (`socket.onmessage = …`), and a method that is not registered may be called, is recorded, and does nothing.
  function complete (module, name, page) {
    return new Module(module, {
      get: function (target, member) {
        if (member in target || isProbe(member)) return target[member]
        return function () { native.recordMethod(page, name, member) }
      },
      set: function (target, member, value) {
        if (typeof member !== 'string' || typeof target[member] !== 'function') return set(target, member, value)
        if (typeof value === 'function') apply(target[member], target, [value])
        else native.log(page, 'error', name + '.' + member + ' stays as it is: only a function can be assigned to it')
        return true
      }
    })
  }

  // Completes the modules that the page asks for, and records those that are not registered.
  function watchRequire (global, page) {
    var modules = new Modules()
    ;[global.weex, global].forEach(function (holder) {
      var original = holder && holder.requireModule
      if (typeof original !== 'function') return
      set(holder, 'requireModule', function requireModule (name) {
        native.recordModule(page, name)
        var module = apply(original, holder, arguments)
        if (module === null || typeof module !== 'object') return module
        if (!modules.has(module)) modules.set(module, complete(module, name, page))
        return modules.get(module)
      })
    })
  }

  // Makes a global object ready for a page; `members` are those that the framework gives it.
  return function prepare (global, page, environment, members) {
    install(global, page, environment)
    for (var name in members) set(global, name, members[name])
    watchRequire(global, page)
    // Frameworks before 0.23.6 gave it to bundles, and bundles that were built for them still ask for it.
    if (global.weex && !('__weex_require_module__' in global)) global.__weex_require_module__ = global.weex.requireModule
  }
})
