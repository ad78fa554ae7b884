// Pages: opening, refreshing and ending them, and the objects for their bundles.
;(function (framework) {
  'use strict'

  var pages = Object.create(null)
  var modules = Object.create(null)
  var services = []

  // MARK: Registered modules and components

  globalThis.registerModules = function (registered) {
    for (var name in registered) {
      modules[name] = modules[name] || Object.create(null)
      ;(registered[name] || []).forEach(function (method) {
        modules[name][typeof method === 'string' ? method : method.name] = true
      })
    }
  }

  globalThis.registerComponents = function (components) {
    ;(components || []).forEach(function (component) {
      if (typeof component === 'string') framework.registerComponent(component)
      else if (component && component.type) framework.registerComponent(component.type, component.methods)
    })
  }

  globalThis.registerService = function (name, options) {
    globalThis.unregisterService(name)
    services.push({ name: name, options: options || {} })
  }
  globalThis.unregisterService = function (name) {
    services = services.filter(function (service) { return service.name !== name })
  }

  // MARK: Objects for bundles

  function moduleName (name) { return String(name).replace(/^@weex-module\//, '') }

  function requireModule (page, name) {
    var module = moduleName(name)
    if (!(module in modules)) return undefined
    if (!page.proxies[module]) {
      var proxy = {}
      Object.keys(modules[module]).forEach(function (method) {
        proxy[method] = function () {
          return page.tasks.callModule(module, method, Array.prototype.slice.call(arguments))
        }
      })
      page.proxies[module] = proxy
    }
    return page.proxies[module]
  }

  function isRegisteredModule (name, method) {
    return String(name) in modules && (method === undefined || String(method) in modules[name])
  }

  function supports (condition) {
    var parts = typeof condition === 'string' && /^@(module|component)\/([\w-]+)(?:\.([\w-]+))?$/i.exec(condition)
    if (!parts) return null
    if (parts[1].toLowerCase() === 'component') return framework.hasComponent(parts[2])
    return isRegisteredModule(parts[2], parts[3])
  }

  function makeWeex (page, config) {
    return {
      config: config,
      document: page.document,
      requireModule: function (name) { return requireModule(page, name) },
      isRegisteredModule: function (name, method) { return isRegisteredModule(name, method) },
      isRegisteredComponent: function (type) { return framework.hasComponent(String(type)) },
      supports: function (condition) { return supports(condition) }
    }
  }

  // MARK: Services

  // The members that services give this page: their "instance" members are on weex and global, the others on the global "service".
  function createServices (page) {
    var shared = { instance: {}, service: {} }
    services.forEach(function (service) {
      page.services[service.name] = service
      var made = callService(service, 'create', [page.id, page.weex.config.env, page.weex.config]) || {}
      Object.assign(shared.instance, made.instance)
      Object.assign(page.weex, made.instance)
      Object.keys(made).forEach(function (name) { if (name !== 'instance') shared.service[name] = made[name] })
    })
    return shared
  }

  // A page opens without a service that fails.
  function callService (service, method, args) {
    if (typeof service.options[method] !== 'function') return undefined
    try {
      return service.options[method].apply(service.options, args)
    } catch (error) {
      console.error('service "' + service.name + '": ' + method + ' failed: ' + error)
      return undefined
    }
  }

  // MARK: Opening

  function openPage (id, config, data) {
    if (pages[id]) throw new Error('page ' + id + ' is open already')
    config = config || {}
    var page = { id: id, proxies: Object.create(null), services: Object.create(null) }
    page.tasks = new framework.Tasks(id)
    page.document = new framework.Document(id, config.bundleUrl, page.tasks)
    page.weex = makeWeex(page, config)
    pages[id] = page
    var shared = createServices(page)
    return Object.assign(shared.instance, {
      service: shared.service,
      weex: page.weex,
      document: page.document,
      requireModule: page.weex.requireModule,
      __pageData: data,
      __WEEX_CALL_JAVASCRIPT__: function (tasks) { return globalThis.callJS(id, tasks) }
    })
  }

  globalThis.createInstanceContext = openPage

  globalThis.createInstance = function () {
    throw new Error('bundles of the type "Weex" need a framework file of their own')
  }

  // MARK: Calls from the host

  var methods = {
    fireEvent: function (page, args) {
      var element = page.document.getRef(args[0])
      if (!element) return new Error('there is no element ' + args[0])
      try {
        return page.document.fireEvent(element, args[1], args[2], args[3], args[4])
      } finally {
        page.document.listener.updateFinish()
      }
    },
    callback: function (page, args) {
      try {
        return page.tasks.answer(args[0], framework.unpackBinary(args[1]), args[2])
      } finally {
        page.document.listener.updateFinish()
      }
    },
    componentHook: function (page, args) { return page.tasks.triggerHook(args[0], args[1], args[2], args[3]) }
  }
  methods.fireEventSync = methods.fireEvent
  Object.setPrototypeOf(methods, null)

  globalThis.callJS = function (id, tasks) {
    var page = pages[id]
    if (!page) return new Error('there is no page ' + id)
    return (tasks || []).map(function (task) {
      var method = methods[task.method]
      return method ? method(page, task.args || []) : new Error('there is no method ' + task.method)
    })
  }

  globalThis.refreshInstance = function (id, data) {
    var page = pages[id]
    if (!page) return new Error('there is no page ' + id)
    var body = page.document.body
    if (body && body.event.refresh) page.document.fireEvent(body, 'refresh', { data: data })
    for (var name in page.services) callService(page.services[name], 'refresh', [id, page.weex.config.env, data])
    page.document.listener.refreshFinish()
  }

  globalThis.destroyInstance = function (id) {
    var page = pages[id]
    if (!page) return new Error('there is no page ' + id)
    for (var name in page.services) callService(page.services[name], 'destroy', [id, page.weex.config.env])
    page.document.destroy()
    delete pages[id]
  }

  globalThis.getRoot = function (id) {
    var page = pages[id]
    return page && page.document.body ? page.document.body.toJSON() : {}
  }

  globalThis.getJSFMVersion = function () { return 'pagekit-1' }
})(globalThis.__framework)
