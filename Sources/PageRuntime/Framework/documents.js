// One document for each page.
;(function (framework) {
  'use strict'

  // Frozen with the framework.
  var commands = framework.commands = globalThis.__commands

  // Sends commands to the host.
  function Listener (id) {
    this.id = id
    this.batched = false
    this.hasEnded = false
  }

  function send (listener, command) {
    if (!listener.hasEnded) commands.add(listener.id, command)
  }

  // As JSON: parts of a deep tree have no children yet.
  framework.sendBody = function (listener, text) { send(listener, commands.createBody(text)) }
  framework.sendElement = function (listener, text, parentRef, index) {
    send(listener, commands.addElement(parentRef, text, index))
  }

  Listener.prototype.createBody = function (body) { framework.sendBody(this, framework.describe(body)) }
  Listener.prototype.addElement = function (element, parentRef, index) {
    framework.sendElement(this, framework.describe(element), parentRef, index)
  }
  Listener.prototype.removeElement = function (ref) { send(this, commands.removeElement(ref)) }
  Listener.prototype.moveElement = function (ref, parentRef, index) {
    send(this, commands.moveElement(ref, parentRef, index))
  }
  Listener.prototype.updateAttrs = function (ref, attrs) { send(this, commands.updateAttrs(ref, attrs)) }
  Listener.prototype.updateStyle = function (ref, style) { send(this, commands.updateStyle(ref, style)) }
  Listener.prototype.addEvent = function (ref, type) { send(this, commands.addEvent(ref, type)) }
  Listener.prototype.removeEvent = function (ref, type) { send(this, commands.removeEvent(ref, type)) }
  Listener.prototype.createFinish = function () { send(this, commands.createFinish()) }
  Listener.prototype.updateFinish = function () { send(this, commands.updateFinish()) }
  Listener.prototype.refreshFinish = function () { send(this, commands.refreshFinish()) }

  function Document (id, url, tasks) {
    this.id = id
    this.URL = url
    // A map: in an object, refs would be indexes of a sparse array, which takes three times as long.
    this.nodeMap = new Map()
    this.listener = new Listener(id)
    this.taskCenter = tasks
    this.body = null
    var root = framework.makeElement('document')
    root.ref = '_documentElement'
    root.role = 'documentElement'
    root.docId = id
    root.ownerDocument = this
    root.depth = 0
    this.nodeMap.set(root.ref, root)
    this.documentElement = root
    var document = this
    framework.define(root, 'appendChild', function (node) { return appendBody(document, node) })
    framework.define(root, 'insertBefore', function (node, before) { return appendBody(document, node, before) })
  }

  function appendBody (document, node, before) {
    var root = document.documentElement
    if (root.pureChildren.length || !(node instanceof framework.Node) || node.parentNode || node === root) return
    if (node.nodeType === 1 && node !== document.body) setBody(document, node)
    var index = root.children.indexOf(before)
    root.children.splice(index < 0 ? root.children.length : index, 0, node)
    framework.link(node, root)
    if (node.nodeType !== 1) return node
    root.pureChildren.push(node)
    framework.announceBody(document.listener, node)
    return node
  }

  function setBody (document, element) {
    var former = document.body
    if (former) {
      former.role = undefined
      former.ref = former.nodeId
    }
    element.role = 'body'
    element.ref = '_root'
    element.depth = 1
    document.nodeMap.set(element.ref, element)
    document.body = element
  }

  Document.prototype.createBody = function (type, props) {
    if (!this.body) setBody(this, framework.makeElement(type, props))
    return this.body
  }

  Document.prototype.createDocumentElement = function () { return this.documentElement }
  Document.prototype.createElement = function (type, props) { return framework.makeElement(type, props) }
  Document.prototype.createComment = function (text) { return new framework.Comment(text) }
  Document.prototype.getRef = function (ref) { return this.nodeMap.get(ref) }

  // The commands of an entry reach the host together at its end, whether the document is open or closed.
  Document.prototype.close = function () { this.listener.batched = true }
  Document.prototype.open = function () { this.listener.batched = false }

  Document.prototype.fireEvent = function (element, type, event, domChanges, options) {
    if (!element) return
    event = event || {}
    event.type = event.type || type
    event.target = element
    event.currentTarget = element
    event.timestamp = Date.now()
    if (domChanges) {
      if (domChanges.attrs) element.setAttrs(domChanges.attrs, true)
      if (domChanges.style) element.setStyles(domChanges.style, true)
    }
    var isBubble = Boolean(this.body && this.body.attr.bubble === 'true')
    return element.fireEvent(type, event, isBubble, options)
  }

  Document.prototype.destroy = function () {
    this.documentElement.destroy()
    this.nodeMap.clear()
    this.body = null
    this.listener.hasEnded = true
  }

  framework.Document = Document
  framework.Listener = Listener
})(globalThis.__framework)
