// Commands of frameworks that change elements: each becomes JSON at once, since the framework may go on to change its
// objects. The host takes the text at the end of the entry.
;(function (begin, buffer) {
  'use strict'

  // Pages' scripts may change the classes later.
  var stringify = JSON.stringify
  var isSafeInteger = Number.isSafeInteger
  var isArray = Array.isArray
  var keys = Object.keys

  // The length from which the host takes the text before the entry ends.
  var LENGTH_AT_ONCE = 65536

  // `begin` takes the text that is there, and throws if another page is running.
  function add (id, command) {
    if (buffer.text !== '' && buffer.id === id && buffer.text.length < LENGTH_AT_ONCE) {
      buffer.text += ',' + command
    } else if (begin(id)) {
      buffer.id = id
      buffer.text = '' + command
    }
  }

  // MARK: JSON of arguments

  function fail (name) { throw new Error(name + ' was called with invalid arguments') }

  // Frameworks write ids as text or as numbers.
  function reference (name, value) {
    if (typeof value === 'string') return stringify(value)
    return isSafeInteger(value) ? '"' + value + '"' : fail(name)
  }

  function object (name, value) {
    return (typeof value === 'object' && value !== null && !isArray(value) && stringify(value)) || fail(name)
  }

  // The place among the children; -1, or what is no whole number, is the end.
  function place (value) {
    var number = typeof value === 'string' && '' + +value === value ? +value : value
    return isSafeInteger(number) && number >= 0 ? number : -1
  }

  function type (name, value) {
    var text = value && typeof value === 'object' ? value.type : value
    return typeof text === 'string' ? stringify(text) : fail(name)
  }

  // JSON has no members that are undefined: they are named on their own.
  function undefinedNames (changed) {
    var names = ''
    var own = keys(changed)
    for (var index = 0; index < own.length; index++) {
      var kind = typeof changed[own[index]]
      if (kind === 'undefined' || kind === 'function') names += (names ? ',' : '') + stringify(own[index])
    }
    return '[' + names + ']'
  }

  // MARK: Commands, by the names of the tasks; elements are given as JSON

  var commands = {
    createBody: function (element) { return '[0,' + element + ']' },
    addElement: function (parent, element, index) {
      return '[1,' + reference('addElement', parent) + ',' + element + ',' + place(index) + ']'
    },
    removeElement: function (ref) { return '[2,' + reference('removeElement', ref) + ']' },
    moveElement: function (ref, parent, index) {
      return '[3,' + reference('moveElement', ref) + ',' + reference('moveElement', parent) + ',' + place(index) + ']'
    },
    updateAttrs: function (ref, changed) {
      return '[4,' + reference('updateAttrs', ref) + ',' + object('updateAttrs', changed) + ',' + undefinedNames(changed) + ']'
    },
    updateStyle: function (ref, changed) {
      return '[5,' + reference('updateStyle', ref) + ',' + object('updateStyle', changed) + ',' + undefinedNames(changed) + ']'
    },
    addEvent: function (ref, event) { return '[6,' + reference('addEvent', ref) + ',' + type('addEvent', event) + ']' },
    removeEvent: function (ref, event) { return '[7,' + reference('removeEvent', ref) + ',' + type('removeEvent', event) + ']' },
    createFinish: function () { return '[8]' },
    updateFinish: function () { return '[9]' },
    refreshFinish: function () { return '[10]' }
  }

  // MARK: The functions of frameworks' global objects

  Object.keys(commands).forEach(function (name) {
    var make = commands[name]
    globalThis['call' + name[0].toUpperCase() + name.slice(1)] = function (id, first, second, third) { add(id, make(first, second, third)) }
  })
  globalThis.callCreateBody = function (id, element) { add(id, commands.createBody(object('createBody', element))) }
  globalThis.callAddElement = function (id, parent, element, index) {
    add(id, commands.addElement(parent, object('addElement', element), index))
  }

  // For the built-in framework.
  commands.add = add
  Object.defineProperty(globalThis, '__commands', { value: commands })
})
