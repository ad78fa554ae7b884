// Elements and comments, and what the host is told when they change.
;(function (framework) {
  'use strict'

  var nextReference = 1

  function link (node, parent) {
    node.parentNode = parent
    if (parent.docId) {
      node.docId = parent.docId
      node.ownerDocument = parent.ownerDocument
      node.ownerDocument.nodeMap[node.ref] = node
      node.depth = parent.depth + 1
    }
    if (node.children) node.children.forEach(function (child) { link(child, node) })
  }

  function forget (node) {
    if (node.ownerDocument) delete node.ownerDocument.nodeMap[node.ref]
    node.docId = undefined
    if (node.children) node.children.forEach(forget)
  }

  function place (list, node, index) {
    var old = list.indexOf(node)
    if (old >= 0) {
      list.splice(old, 1)
      if (old < index) index -= 1
    }
    list.splice(index, 0, node)
  }

  function contains (node, other) {
    for (var at = other; at; at = at.parentNode) if (at === node) return true
    return false
  }

  function Node () {
    this.ref = String(nextReference++)
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

  Node.prototype.destroy = function () {
    forget(this)
    this.children.forEach(function (child) { child.destroy() })
    this.children = []
    this.pureChildren = []
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
  Comment.prototype.destroy = function () { forget(this) }
  Comment.prototype.toString = function () { return '<!-- ' + this.value + ' -->' }

  function Element (type, props) {
    Node.call(this)
    props = props || {}
    this.nodeType = 1
    this.type = String(type || 'div')
    this.attr = assign({}, props.attr)
    this.style = assign({}, props.style)
    this.classStyle = assign({}, props.classStyle)
    this.event = {}
  }
  Element.prototype = Object.create(Node.prototype)
  Element.prototype.constructor = Element

  function assign (target, source) {
    for (var name in source) target[name] = source[name]
    return target
  }

  function host (element) { return element.ownerDocument && element.docId ? element.ownerDocument.listener : null }

  // MARK: The tree

  // What most insertions are: nothing needs to be looked for.
  function append (parent, node) {
    parent.children.push(node)
    link(node, parent)
    if (node.nodeType !== 1) return
    parent.pureChildren.push(node)
    var listener = host(parent)
    if (listener) listener.addElement(node, parent.ref, -1)
  }

  function insert (parent, node, index) {
    if (!node || !node.nodeType || contains(node, parent)) return
    var wasHere = node.parentNode === parent
    if (node.parentNode && !wasHere) node.parentNode.removeChild(node, true)
    if (!wasHere && index >= parent.children.length) return append(parent, node)
    place(parent.children, node, index)
    if (!wasHere) link(node, parent)
    if (node.nodeType !== 1) return
    var before = 0
    for (var at = 0; parent.children[at] !== node; at++) if (parent.children[at].nodeType === 1) before += 1
    var old = parent.pureChildren.indexOf(node)
    if (old >= 0) parent.pureChildren.splice(old, 1)
    parent.pureChildren.splice(before, 0, node)
    var listener = host(parent)
    if (!listener) return
    var isLast = before === parent.pureChildren.length - 1
    if (!wasHere) listener.addElement(node, parent.ref, isLast ? -1 : before)
    else if (old !== before) listener.moveElement(node.ref, parent.ref, before)
  }

  Element.prototype.appendChild = function (node) {
    insert(this, node, this.children.length)
    return node
  }

  Element.prototype.insertBefore = function (node, before) {
    var index = before ? this.children.indexOf(before) : this.children.length
    if (index < 0 || node === before) return node
    insert(this, node, index)
    return node
  }

  Element.prototype.insertAfter = function (node, after) {
    var index = after ? this.children.indexOf(after) : -1
    if (node === after || after && index < 0) return node
    insert(this, node, index + 1)
    return node
  }

  Element.prototype.removeChild = function (node, isPreserved) {
    var index = node ? this.children.indexOf(node) : -1
    if (index < 0) return
    this.children.splice(index, 1)
    var pure = this.pureChildren.indexOf(node)
    if (pure >= 0) {
      this.pureChildren.splice(pure, 1)
      var listener = host(this)
      if (listener) listener.removeElement(node.ref)
    }
    forget(node)
    node.parentNode = null
    if (!isPreserved) node.destroy()
  }

  Element.prototype.clear = function () {
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

  // MARK: Attributes and styles

  Element.prototype.setAttr = function (name, value, isSilent) {
    if (this.attr[name] === value && isSilent !== false) return
    this.attr[name] = value
    var changed = {}
    changed[name] = value
    var listener = host(this)
    if (!isSilent && listener) listener.updateAttrs(this.ref, changed)
  }

  Element.prototype.setAttrs = function (attrs, isSilent) {
    var changed = differing(this.attr, attrs)
    if (!changed) return
    assign(this.attr, changed)
    var listener = host(this)
    if (!isSilent && listener) listener.updateAttrs(this.ref, changed)
  }

  Element.prototype.setStyle = function (name, value, isSilent) {
    if (this.style[name] === value && isSilent !== false) return
    this.style[name] = value
    var changed = {}
    changed[name] = value
    var listener = host(this)
    if (!isSilent && listener) listener.updateStyle(this.ref, changed)
  }

  Element.prototype.setStyles = function (styles, isSilent) {
    var changed = differing(this.style, styles)
    if (!changed) return
    assign(this.style, changed)
    var listener = host(this)
    if (!isSilent && listener) listener.updateStyle(this.ref, changed)
  }

  Element.prototype.setClassStyle = function (classStyle) {
    // What the class no longer says goes back to nothing.
    var changed = {}
    for (var old in this.classStyle) changed[old] = ''
    this.classStyle = assign({}, classStyle)
    assign(changed, this.toStyle())
    var listener = host(this)
    if (listener) listener.updateStyle(this.ref, changed)
  }

  function differing (known, wanted) {
    var changed = null
    for (var name in wanted) {
      if (known[name] === wanted[name]) continue
      changed = changed || {}
      changed[name] = wanted[name]
    }
    return changed
  }

  // MARK: Events

  Element.prototype.addEvent = function (type, handler, params) {
    if (typeof handler !== 'function') return
    var isNew = !this.event[type]
    this.event[type] = { handler: handler, params: params }
    var listener = host(this)
    if (isNew && listener) listener.addEvent(this.ref, type)
  }

  Element.prototype.removeEvent = function (type) {
    if (!this.event[type]) return
    delete this.event[type]
    var listener = host(this)
    if (listener) listener.removeEvent(this.ref, type)
  }

  Element.prototype.fireEvent = function (type, event, isBubble, options) {
    var entry = this.event[type]
    var result = null
    var isStopped = false
    if (event) event.stopPropagation = function () { isStopped = true }
    if (entry) {
      var given = options && options.params
      result = given
        ? entry.handler.apply(this, (Array.isArray(given) ? given : [given]).concat([event]))
        : entry.handler.call(this, event)
    }
    if (isBubble && !isStopped && this.parentNode && this.parentNode.fireEvent) {
      if (event) event.currentTarget = this.parentNode
      this.parentNode.fireEvent(type, event, isBubble)
    }
    return result
  }

  // MARK: What the host gets

  Element.prototype.toStyle = function () { return assign(assign({}, this.classStyle), this.style) }

  Element.prototype.toJSON = function (ignoresChildren) {
    var result = { ref: this.ref, type: this.type, attr: this.attr, style: this.toStyle() }
    var events = []
    for (var type in this.event) {
      var params = this.event[type].params
      events.push(params ? { type: type, params: params } : type)
    }
    if (events.length) result.event = events
    if (!ignoresChildren && this.pureChildren.length) {
      result.children = this.pureChildren.map(function (child) { return child.toJSON() })
    }
    return result
  }

  Element.prototype.toString = function () { return '<' + this.type + ' ref=' + this.ref + '>' }

  // Components with methods of their own get them as functions.
  var componentMethods = {}

  framework.registerComponent = function (type, methods) { componentMethods[type] = methods || [] }
  framework.hasComponent = function (type) { return Object.prototype.hasOwnProperty.call(componentMethods, type) }

  framework.makeElement = function (type, props) {
    var element = new Element(type, props)
    var methods = framework.hasComponent(element.type) ? componentMethods[element.type] : []
    methods.forEach(function (method) {
      element[method] = function () {
        var tasks = element.ownerDocument && element.ownerDocument.tasks
        return tasks && tasks.callComponent(element.ref, method, Array.prototype.slice.call(arguments))
      }
    })
    return element
  }

  framework.Comment = Comment
  framework.link = link
})(globalThis.__framework = {})
