// Pages that share this framework cannot change it for each other: its classes, and those of its global object, are
// frozen once it is complete.
;(function (framework) {
  'use strict'

  var freeze = Object.freeze
  var describe = Object.getOwnPropertyDescriptor
  var namesOf = Reflect.ownKeys
  var prototypeOf = Object.getPrototypeOf
  var sealed = new Set([globalThis])
  var waiting = []

  function add (value) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || sealed.has(value)) return
    sealed.add(value)
    waiting.push(value)
  }

  // Freezes a value and all that can be reached from it. Half of the time to boot a framework passes here, before the engine
  // compiles anything: hence the plain loop.
  function seal (value) {
    add(value)
    while (waiting.length) {
      var at = waiting.pop()
      freeze(at)
      add(prototypeOf(at))
      var names = namesOf(at)
      for (var index = 0; index < names.length; index++) {
        var name = names[index]
        // A function's are a number and a text.
        if (name === 'length' || name === 'name') continue
        var property = describe(at, name)
        if ('value' in property) {
          add(property.value)
        } else {
          add(property.get)
          add(property.set)
        }
      }
    }
  }

  var classes = ['Object', 'Function', 'Array', 'String', 'Number', 'Boolean', 'Symbol', 'Error', 'TypeError', 'RangeError',
    'Date', 'RegExp', 'Promise', 'Map', 'Set', 'ArrayBuffer', 'DataView', 'Uint8Array', 'Math', 'JSON', 'Reflect', 'Proxy']
  classes.forEach(function (name) { seal(globalThis[name]) })
  // The classes of iterators have no names.
  ;[[].values(), ''.matchAll(/x/g), new Map().values(), new Set().values(), ''[Symbol.iterator](), function * () {},
    async function () {}, async function * () {}].forEach(seal)
  for (var name in framework) seal(framework[name])
})(globalThis.__framework)
