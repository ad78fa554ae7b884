// An element's attributes, styles and events, and its description for the host.
;(function (framework) {
  'use strict'

  var Element = framework.Element
  var assign = framework.assign
  var host = framework.host

  // MARK: Attributes and styles

  function single (name, value) {
    var changed = {}
    framework.put(changed, name, value)
    return changed
  }

  function differing (known, wanted) {
    var changed = null
    for (var name in wanted) {
      if (known[name] === wanted[name]) continue
      changed = changed || {}
      framework.put(changed, name, wanted[name])
    }
    return changed
  }

  Element.prototype.setAttr = function (name, value, isSilent) {
    if (this.attr[name] === value && isSilent !== false) return
    framework.put(this.attr, name, value)
    var listener = host(this)
    if (!isSilent && listener) listener.updateAttrs(this.ref, single(name, value))
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
    framework.put(this.style, name, value)
    var listener = host(this)
    if (!isSilent && listener) listener.updateStyle(this.ref, single(name, value))
  }

  Element.prototype.setStyles = function (styles, isSilent) {
    var changed = differing(this.style, styles)
    if (!changed) return
    assign(this.style, changed)
    var listener = host(this)
    if (!isSilent && listener) listener.updateStyle(this.ref, changed)
  }

  Element.prototype.setClassStyle = function (classStyle) {
    // Properties that the class no longer has are reset.
    for (var old in this.classStyle) framework.put(this.classStyle, old, '')
    assign(this.classStyle, classStyle)
    var listener = host(this)
    if (listener) listener.updateStyle(this.ref, this.toStyle())
  }

  // MARK: Events

  // The first handler of a type stays until it is removed.
  Element.prototype.addEvent = function (type, handler, params) {
    if (typeof handler !== 'function' || this.event[type]) return
    this.event[type] = { handler: handler, params: params }
    var listener = host(this)
    if (listener) listener.addEvent(this.ref, String(type))
  }

  Element.prototype.removeEvent = function (type) {
    if (!this.event[type]) return
    delete this.event[type]
    var listener = host(this)
    if (listener) listener.removeEvent(this.ref, String(type))
  }

  // Gestures bubble to the elements around; a list's own scrolling does not.
  var BUBBLING = ['click', 'longpress', 'touchstart', 'touchmove', 'touchend', 'panstart', 'panmove', 'panend',
    'horizontalpan', 'verticalpan', 'swipe']

  Element.prototype.fireEvent = function (type, event, isBubble, options) {
    var result = null
    var isStopped = false
    if (event) event.stopPropagation = function () { isStopped = true }
    var entry = this.event[type]
    if (entry && event) {
      var given = options && options.params
      var args = given === undefined || given === null || given === '' ? [] : Array.isArray(given) ? given : [given]
      result = entry.handler.apply(this, args.concat([event]))
    }
    var parent = this.parentNode
    if (isBubble && !isStopped && BUBBLING.indexOf(type) >= 0 && parent && parent.nodeType === 1) {
      if (event) event.currentTarget = parent
      parent.fireEvent(type, event, isBubble)
    }
    return result
  }

  // MARK: The description for the host

  Element.prototype.toStyle = function () { return assign(assign({}, this.classStyle), this.style) }

  function addEvents (described, element) {
    for (var type in element.event) {
      var params = element.event[type].params
      described.event = described.event || []
      described.event.push(params ? { type: type, params: params } : type)
    }
  }

  Element.prototype.toJSON = function (ignoresChildren) {
    var result = { ref: this.ref, type: this.type, attr: this.attr, style: this.toStyle() }
    addEvents(result, this)
    // `JSON.stringify` passes the name of the member that has the element.
    if (ignoresChildren !== true && this.pureChildren.length) {
      result.children = this.pureChildren.map(function (child) { return child.toJSON() })
    }
    return result
  }

  var stringify = JSON.stringify

  function isEmpty (object) {
    for (var name in object) return false
    return true
  }

  // The JSON text of `toJSON`, without objects for the children.
  framework.describe = function describe (element, ignoresChildren) {
    var described = {
      ref: element.ref,
      type: element.type,
      attr: element.attr,
      style: isEmpty(element.classStyle) ? element.style : element.toStyle()
    }
    addEvents(described, element)
    var text = stringify(described)
    var children = element.pureChildren
    if (ignoresChildren || !children.length) return text
    var below = ''
    for (var index = 0; index < children.length; index++) below += (below && ',') + describe(children[index])
    return text.slice(0, -1) + ',"children":[' + below + ']}'
  }

  Element.prototype.toString = function () {
    return '<' + this.type + ' attr=' + stringify(this.attr) + ' style=' + stringify(this.toStyle()) + '>' +
      this.pureChildren.join('') + '</' + this.type + '>'
  }

  // MARK: Components with methods of their own: their elements have them as functions

  var componentMethods = Object.create(null)

  framework.registerComponent = function (type, methods) { componentMethods[type] = methods || [] }
  framework.hasComponent = function (type) { return type in componentMethods }

  framework.makeElement = function (type, props) {
    var element = new Element(type, props)
    var methods = componentMethods[element.type] || []
    methods.forEach(function (method) {
      framework.define(element, method, function () {
        var tasks = element.ownerDocument && element.ownerDocument.taskCenter
        return tasks && tasks.callComponent(element.ref, method, Array.prototype.slice.call(arguments), element.type)
      })
    })
    return element
  }
})(globalThis.__framework)
