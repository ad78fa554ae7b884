// One document for each page.
;(function (framework) {
  'use strict'

  // The commands for the host, each with a native function.
  function Listener (id) {
    this.id = id
    this.held = null
  }

  function command (name) {
    return function () {
      var call = [name, this.id].concat(Array.prototype.slice.call(arguments))
      if (this.held) this.held.push(call)
      else send(call)
    }
  }

  function send (call) {
    var native = globalThis[call[0]]
    if (typeof native === 'function') native.apply(null, call.slice(1))
  }

  Listener.prototype.createBody = function (body) { command('callCreateBody').call(this, body.toJSON()) }
  Listener.prototype.addElement = function (element, parentRef, index) {
    command('callAddElement').call(this, parentRef, element.toJSON(), index)
  }
  Listener.prototype.removeElement = command('callRemoveElement')
  Listener.prototype.moveElement = command('callMoveElement')
  Listener.prototype.updateAttrs = command('callUpdateAttrs')
  Listener.prototype.updateStyle = command('callUpdateStyle')
  Listener.prototype.addEvent = command('callAddEvent')
  Listener.prototype.removeEvent = command('callRemoveEvent')
  Listener.prototype.createFinish = command('callCreateFinish')
  Listener.prototype.updateFinish = command('callUpdateFinish')
  Listener.prototype.refreshFinish = command('callRefreshFinish')

  function Document (id, url, tasks) {
    this.id = id
    this.URL = url
    this.nodeMap = Object.create(null)
    this.listener = new Listener(id)
    this.taskCenter = tasks
    this.body = null
    var root = framework.makeElement('document')
    root.ref = '_documentElement'
    root.role = 'documentElement'
    root.docId = id
    root.ownerDocument = this
    root.depth = 0
    this.nodeMap[root.ref] = root
    this.documentElement = root
    var document = this
    framework.define(root, 'appendChild', function (node) { return appendBody(document, node) })
    framework.define(root, 'insertBefore', function (node) { return appendBody(document, node) })
  }

  function appendBody (document, node) {
    var root = document.documentElement
    if (root.pureChildren.length || !(node instanceof framework.Node) || node.parentNode || node === root) return
    if (node.nodeType === 1 && node !== document.body) setBody(document, node)
    root.children.push(node)
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
    document.body = element
  }

  Document.prototype.createBody = function (type, props) {
    if (!this.body) setBody(this, framework.makeElement(type, props))
    return this.body
  }

  Document.prototype.createElement = function (type, props) { return framework.makeElement(type, props) }
  Document.prototype.createComment = function (text) { return new framework.Comment(text) }
  Document.prototype.getRef = function (ref) { return this.nodeMap[ref] }

  // Commands wait between close and open.
  Document.prototype.close = function () { this.listener.held = this.listener.held || [] }
  Document.prototype.open = function () {
    var held = this.listener.held || []
    this.listener.held = null
    held.forEach(send)
  }

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
    this.nodeMap = Object.create(null)
    this.body = null
    this.listener.held = []
  }

  framework.Document = Document
  framework.Listener = Listener
})(globalThis.__framework)
