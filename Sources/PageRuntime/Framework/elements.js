// Elements, and the commands that changes of their tree send to the host.
;(function (framework) {
  'use strict'

  var link = framework.link
  var forget = framework.forget

  function Element (type, props) {
    framework.Node.call(this)
    props = props || {}
    this.nodeType = 1
    this.type = String(type || 'div')
    this.attr = framework.assign({}, props.attr)
    this.style = framework.assign({}, props.style)
    this.classStyle = framework.assign({}, props.classStyle)
    this.event = Object.create(null)
  }
  Element.prototype = Object.create(framework.Node.prototype)
  Element.prototype.constructor = Element

  framework.Element = Element

  // The sender of commands to the host; none while the element is in no document.
  framework.host = function (element) { return element.docId ? element.ownerDocument.listener : null }
  var host = framework.host

  // MARK: Sending

  // A deeper tree goes to the host in parts: the host limits the depth of values.
  var DEPTH_AT_ONCE = 64

  function isDeep (node) {
    var isDeeper = false
    framework.everyNode(node, function (at) { isDeeper = isDeeper || at.depth - node.depth > DEPTH_AT_ONCE })
    return isDeeper
  }

  function inPieces (node, tell) {
    framework.everyNode(node, function (at) {
      if (at.nodeType === 1) tell(framework.describe(at, true), at)
    })
  }

  function announce (listener, node, parent, index) {
    if (!node.children.length || !isDeep(node)) return listener.addElement(node, parent.ref, index)
    inPieces(node, function (text, at) {
      framework.sendElement(listener, text, at.parentNode.ref, at === node ? index : -1)
    })
  }

  framework.announceBody = function (listener, body) {
    if (!isDeep(body)) return listener.createBody(body)
    inPieces(body, function (text, at) {
      if (at === body) framework.sendBody(listener, text)
      else framework.sendElement(listener, text, at.parentNode.ref, -1)
    })
  }

  // MARK: Inserting

  // Most insertions are at the end: no search is needed.
  function append (parent, node) {
    parent.children.push(node)
    link(node, parent)
    if (node.nodeType !== 1) return
    parent.pureChildren.push(node)
    var listener = host(parent)
    if (listener) announce(listener, node, parent, -1)
  }

  // The body cannot be moved, and an element cannot be put below itself.
  function mayInsert (parent, node) {
    return Boolean(node) && (node instanceof Element || node instanceof framework.Comment) && !node.role &&
      parent.role !== 'documentElement' &&
      !(node === parent || node.children && node.children.length && framework.contains(node, parent))
  }

  function take (list, node) {
    var index = list.indexOf(node)
    if (index >= 0) list.splice(index, 1)
    return index
  }

  // `next` is the child that comes after the node; null for the end.
  function insert (parent, node, next) {
    if (!mayInsert(parent, node)) return
    var former = node.parentNode
    if (!former && !next) return append(parent, node)
    var wasShown = former && host(former) && host(former) === host(parent)
    // The host counts the children with the element still at its old place.
    var formerIndex = former === parent ? parent.pureChildren.indexOf(node) : -1
    if (former) {
      take(former.children, node)
      take(former.pureChildren, node)
      if (!wasShown && node.nodeType === 1 && host(former)) host(former).removeElement(node.ref)
      if (!wasShown) forget(node)
    }
    var index = next ? parent.children.indexOf(next) : parent.children.length
    parent.children.splice(index, 0, node)
    link(node, parent)
    if (node.nodeType !== 1) return
    var before = 0
    for (var at = 0; at < index; at++) if (parent.children[at].nodeType === 1) before += 1
    parent.pureChildren.splice(before, 0, node)
    var listener = host(parent)
    if (!listener || formerIndex === before) return
    var isLast = before === parent.pureChildren.length - 1
    if (!wasShown) announce(listener, node, parent, isLast ? -1 : before)
    else listener.moveElement(node.ref, parent.ref, before + (formerIndex >= 0 && formerIndex < before ? 1 : 0))
  }

  Element.prototype.appendChild = function (node) {
    insert(this, node, null)
    return node
  }

  Element.prototype.insertBefore = function (node, before) {
    if (before && (before === node || before.parentNode !== this)) return node
    insert(this, node, before || null)
    return node
  }

  // Without a node before it, the element is inserted at the beginning.
  Element.prototype.insertAfter = function (node, after) {
    if (after && (after === node || after.parentNode !== this)) return node
    var next = after ? after.nextSibling : this.children[0]
    if (next === node) next = node.nextSibling
    insert(this, node, next || null)
    return node
  }

  // MARK: Removing

  // A preserved node may be used again, with the nodes below it.
  Element.prototype.removeChild = function (node, isPreserved) {
    if (!node || node.parentNode !== this || node.role) return
    take(this.children, node)
    if (take(this.pureChildren, node) >= 0 && host(this)) host(this).removeElement(node.ref)
    forget(node)
    node.parentNode = null
    if (!isPreserved) node.destroy()
  }

  Element.prototype.clear = function () {
    if (this.role === 'documentElement') return
    var listener = host(this)
    var removed = this.children
    if (listener) this.pureChildren.forEach(function (node) { listener.removeElement(node.ref) })
    this.children = []
    this.pureChildren = []
    removed.forEach(function (node) {
      node.parentNode = null
      node.destroy()
    })
  }
})(globalThis.__framework)
