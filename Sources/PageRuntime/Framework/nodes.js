// The base of elements and comments: their place in a tree.
;(function (framework) {
  'use strict'

  var nextReference = 1

  // As `object[name] = value`, also for names that every object inherits (`toString`, `__proto__`).
  function put (object, name, value) {
    if (name in Object.prototype) define(object, name, value)
    else object[name] = value
  }

  // An own property of the object, independent of its prototype.
  function define (object, name, value) {
    Object.defineProperty(object, name, { value: value, writable: true, enumerable: true, configurable: true })
  }

  function assign (target, source) {
    for (var name in source) put(target, name, source[name])
    return target
  }

  // A node and all nodes below it, parents first; without recursion, since scripts decide on the depth.
  function everyNode (node, visit) {
    var waiting = [node]
    while (waiting.length) {
      var at = waiting.pop()
      var children = at.children
      visit(at)
      for (var index = children ? children.length - 1 : -1; index >= 0; index--) waiting.push(children[index])
    }
  }

  // Makes a node known to the document of its parent.
  function enter (node, parent) {
    var document = parent.ownerDocument
    node.docId = parent.docId
    node.ownerDocument = document
    document.nodeMap.set(node.ref, node)
    node.depth = parent.depth + 1
  }

  function link (node, parent) {
    node.parentNode = parent
    if (!parent.docId) return
    if (node.children && node.children.length) everyNode(node, function (at) { enter(at, at.parentNode) })
    else enter(node, parent)
  }

  function forget (node) {
    everyNode(node, function (at) {
      if (at.ownerDocument) at.ownerDocument.nodeMap.delete(at.ref)
      at.docId = undefined
      at.ownerDocument = undefined
    })
  }

  function contains (node, other) {
    for (var at = other; at; at = at.parentNode) if (at === node) return true
    return false
  }

  function Node () {
    this.ref = String(nextReference++)
    this.nodeId = this.ref
    this.children = []
    this.pureChildren = []
    this.parentNode = null
    this.nodeType = 0
  }

  Object.defineProperty(Node.prototype, 'nextSibling', { get: function () { return sibling(this, 1) } })
  Object.defineProperty(Node.prototype, 'previousSibling', { get: function () { return sibling(this, -1) } })

  function sibling (node, step) {
    var list = node.parentNode ? node.parentNode.children : []
    return list[list.indexOf(node) + step] || null
  }

  // Frees a node's members; only its reference is left.
  Node.prototype.destroy = function () {
    forget(this)
    everyNode(this, function (at) {
      if (!at.children) return
      // A caller that iterates over the children keeps the former array.
      var gone = at.children
      at.children = []
      at.pureChildren = []
      gone.forEach(function (child) { child.parentNode = null })
      if (at.event) at.event = Object.create(null)
    })
  }

  function Comment (text) {
    Node.call(this)
    this.nodeType = 8
    this.type = 'comment'
    this.value = text
    this.children = undefined
    this.pureChildren = undefined
  }
  Comment.prototype = Object.create(Node.prototype)
  Comment.prototype.constructor = Comment
  Comment.prototype.toString = function () { return '<!-- ' + this.value + ' -->' }

  framework.Node = Node
  framework.Comment = Comment
  framework.put = put
  framework.define = define
  framework.assign = assign
  framework.everyNode = everyNode
  framework.link = link
  framework.forget = forget
  framework.contains = contains
})(globalThis.__framework = {})
