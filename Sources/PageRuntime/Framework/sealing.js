// Pages that share this framework cannot change it for each other: its classes, and those of its global object, are
// frozen once it is complete.
;(function (framework) {
  'use strict'

  function seal (value, sealed) {
    var waiting = [value]
    while (waiting.length) {
      var at = waiting.pop()
      if (at === null || (typeof at !== 'object' && typeof at !== 'function') || sealed.has(at)) continue
      sealed.add(at)
      Object.freeze(at)
      waiting.push(Object.getPrototypeOf(at))
      Reflect.ownKeys(at).forEach(function (name) {
        var property = Object.getOwnPropertyDescriptor(at, name)
        waiting.push(property.value, property.get, property.set)
      })
    }
  }

  var sealed = new Set([globalThis])
  var classes = ['Object', 'Function', 'Array', 'String', 'Number', 'Boolean', 'Symbol', 'Error', 'TypeError', 'RangeError',
    'Date', 'RegExp', 'Promise', 'Map', 'Set', 'ArrayBuffer', 'DataView', 'Uint8Array', 'Math', 'JSON', 'Reflect', 'Proxy']
  classes.forEach(function (name) { seal(globalThis[name], sealed) })
  // The classes of iterators have no names.
  ;[[].values(), ''.matchAll(/x/g), new Map().values(), new Set().values(), ''[Symbol.iterator](), function * () {},
    async function () {}, async function * () {}].forEach(function (value) { seal(value, sealed) })
  for (var name in framework) seal(framework[name], sealed)
})(globalThis.__framework)
