// A framework that puts changes off: they wait in a queue of its own, which a timer of its own empties. While the
// timer is set no other is, as in frameworks that have no promises.
;(function () {
  'use strict'

  var pages = {}
  var queue = []
  var isPending = false

  function flush () {
    isPending = false
    queue.splice(0).forEach(function (change) { change() })
  }

  function later (change) {
    queue.push(change)
    if (isPending) return
    isPending = true
    setTimeout(flush, 0)
  }

  globalThis.registerModules = function () {}
  globalThis.registerComponents = function () {}

  globalThis.createInstanceContext = function (id, config) {
    pages[id] = { click: null }
    callCreateBody(id, { ref: '_root', type: 'div', attr: {}, style: {} })
    callAddElement(id, '_root', { ref: 't' + id, type: 'text', attr: { value: 'drawn' }, style: {}, event: ['click'] }, -1)
    callCreateFinish(id)
    function show (text) {
      later(function () { if (pages[id]) callUpdateAttrs(id, 't' + id, { value: text }) })
    }
    return {
      show: show,
      onclick: function (body) { pages[id].click = body },
      atEnd: function () { pages[id].showsAtEnd = true }
    }
  }

  globalThis.callJS = function (id, tasks) {
    tasks.forEach(function (task) { if (task.method === 'fireEvent' && pages[id].click) pages[id].click() })
  }

  globalThis.refreshInstance = function (id) { callRefreshFinish(id) }
  globalThis.destroyInstance = function (id) {
    if (pages[id].showsAtEnd) later(function () {})
    delete pages[id]
  }
})()
