// What a page of uni-app (nvue, compiled for Vue 2) expects around it, over the modules that PageKit has. It runs before
// the bundle: bundlectl render page.js --framework weex-main-jsfm.js --prelude prelude.js
//
// Names that are not here are undefined: add what your pages call.
;(function (global) {
  'use strict'

  var weex = global.weex
  function module (name) { return weex.requireModule(name) || {} }
  var modal = module('modal'), navigator = module('navigator'), storage = module('storage'), stream = module('stream')
  var env = weex.config.env || {}

  // MARK: Sizes: 750 rpx are the width of the screen, and so are 375 px

  var WIDTH = 375
  module('meta').setViewport({ width: WIDTH })

  function pixels (rpx) { return Math.round(rpx * WIDTH / 0.75) / 1000 }

  // '20rpx' and '0 20upx 0 8px' in the page's own unit.
  function converted (value) {
    if (typeof value !== 'string' || value.indexOf('px') < 0) return value
    var single = /^(-?[\d.]+)(?:rpx|upx)$/.exec(value)
    if (single) return pixels(+single[1])
    return value.replace(/(-?[\d.]+)(?:rpx|upx)/g, function (_, number) { return pixels(+number) + 'px' })
  }

  function convertedStyle (style) {
    var result = {}
    for (var name in style) result[name] = converted(style[name])
    return result
  }

  // Frameworks set styles with these methods of elements, also of elements with methods of their own.
  var prototype = Object.getPrototypeOf(weex.document ? weex.document.createElement('div') : {})
  if (prototype && typeof prototype.setStyle === 'function' && !prototype.setStyle.isForUniApp) {
    var setStyle = prototype.setStyle, setStyles = prototype.setStyles, setClassStyle = prototype.setClassStyle
    prototype.setStyle = function (name, value, silent) { return setStyle.call(this, name, converted(value), silent) }
    prototype.setStyles = function (styles, silent) { return setStyles.call(this, convertedStyle(styles), silent) }
    prototype.setClassStyle = function (style) { return setClassStyle.call(this, convertedStyle(style)) }
    prototype.setStyle.isForUniApp = true
  }

  // MARK: Calls with success, fail and complete

  function succeed (options, result) {
    if (options && options.success) options.success(result)
    if (options && options.complete) options.complete(result)
  }

  function fail (options, message) {
    if (options && options.fail) options.fail({ errMsg: message })
    if (options && options.complete) options.complete({ errMsg: message })
  }

  // Without callbacks a call returns a promise of its result, as uni-app's do.
  function promising (body) {
    return function (options) {
      options = options || {}
      if (options.success || options.fail || options.complete) return body(options)
      return new Promise(function (resolve, reject) {
        body(Object.assign({}, options, { success: resolve, fail: reject }))
      })
    }
  }

  // MARK: Requests

  function query (data) {
    return Object.keys(data || {}).map(function (name) {
      return encodeURIComponent(name) + '=' + encodeURIComponent(data[name])
    }).join('&')
  }

  function request (options) {
    var method = (options.method || 'GET').toUpperCase(), url = options.url, data = options.data
    if (method === 'GET' && data && typeof data === 'object') {
      var text = query(data)
      if (text) url += (url.indexOf('?') < 0 ? '?' : '&') + text
    }
    stream.fetch({
      method: method, url: url, type: options.dataType === 'text' ? 'text' : 'json', headers: options.header || {},
      body: method === 'GET' ? undefined : data, timeout: options.timeout
    }, function (answer) {
      if (answer.status < 0) return fail(options, 'request:fail ' + answer.data)
      succeed(options, { data: answer.data, statusCode: answer.status, header: answer.headers, errMsg: 'request:ok' })
    })
  }

  // MARK: Pages

  // '/pages/list/list?id=1' is the bundle pages/list/list.js of the app.
  function target (path) {
    var parts = path.split('?'), own = weex.config.bundleUrl.split('?')[0], at = own.lastIndexOf('/pages/')
    var page = parts[0].charAt(0) === '/' && at >= 0 ? own.slice(0, at) + parts[0] : parts[0]
    return page + (/\.js$/.test(page) ? '' : '.js') + (parts[1] ? '?' + parts[1] : '')
  }

  function open (options) {
    navigator.push({ url: target(options.url), animated: 'true' }, function () { succeed(options, { errMsg: 'navigateTo:ok' }) })
  }

  function back (options) {
    navigator.pop({ animated: 'true' }, function () { succeed(options, { errMsg: 'navigateBack:ok' }) })
  }

  // MARK: Storage

  // Calls that return at once see what this page has stored, and what was stored before once that has been read.
  var stored = {}
  if (storage.getAllKeys) {
    storage.getAllKeys(function (answer) {
      [].concat(answer.data || []).forEach(function (key) {
        storage.getItem(key, function (value) { if (!(key in stored) && value.result === 'success') stored[key] = value.data })
      })
    })
  }

  function parsed (text) {
    try { return JSON.parse(text) } catch (error) { return text }
  }

  function setStorageSync (key, value) {
    stored[key] = JSON.stringify(value)
    storage.setItem(key, stored[key])
  }

  function getStorageSync (key) { return stored[key] === undefined ? '' : parsed(stored[key]) }

  function removeStorageSync (key) {
    stored[key] = undefined
    storage.removeItem(key)
  }

  // MARK: The device

  function getSystemInfoSync () {
    var height = Math.round((env.deviceHeight || 1334) * WIDTH / (env.deviceWidth || 750))
    return {
      brand: '', model: env.deviceModel, platform: String(env.platform || '').toLowerCase(), system: env.osVersion,
      pixelRatio: env.scale || 2, screenWidth: WIDTH, screenHeight: height, windowWidth: WIDTH, windowHeight: height,
      statusBarHeight: 20, language: 'en', safeAreaInsets: { top: 20, bottom: 0, left: 0, right: 0 },
      safeArea: { top: 20, left: 0, right: WIDTH, bottom: height, width: WIDTH, height: height - 20 }
    }
  }

  // MARK: Events between the parts of the app

  var listeners = {}

  function on (name, body) { (listeners[name] = listeners[name] || []).push(body) }
  function off (name, body) {
    if (name === undefined) listeners = {}
    else listeners[name] = body ? (listeners[name] || []).filter(function (other) { return other !== body }) : []
  }
  function once (name, body) {
    function first () {
      off(name, first)
      body.apply(null, arguments)
    }
    on(name, first)
  }
  function emit (name) {
    var args = [].slice.call(arguments, 1)
    ;(listeners[name] || []).slice().forEach(function (body) { body.apply(null, args) })
  }

  // MARK: uni and plus

  function nothing (options) { succeed(options, {}) }

  global.uni = {
    request: promising(request),
    navigateTo: promising(open), redirectTo: promising(open), reLaunch: promising(open), switchTab: promising(open),
    navigateBack: promising(back),
    showToast: promising(function (options) {
      modal.toast({ message: options.title, duration: (options.duration || 1500) / 1000 })
      succeed(options, { errMsg: 'showToast:ok' })
    }),
    hideToast: nothing, showLoading: nothing, hideLoading: nothing, stopPullDownRefresh: nothing, setNavigationBarTitle: nothing,
    showModal: promising(function (options) {
      var ok = options.confirmText || 'OK', cancel = options.cancelText || 'Cancel'
      var message = [options.title, options.content].filter(Boolean).join('\n')
      if (options.showCancel === false) {
        return modal.alert({ message: message, okTitle: ok }, function () { succeed(options, { confirm: true, cancel: false }) })
      }
      modal.confirm({ message: message, okTitle: ok, cancelTitle: cancel }, function (title) {
        succeed(options, { confirm: title === ok, cancel: title !== ok })
      })
    }),
    setStorageSync: setStorageSync, getStorageSync: getStorageSync, removeStorageSync: removeStorageSync,
    setStorage: promising(function (options) {
      setStorageSync(options.key, options.data)
      succeed(options, { errMsg: 'setStorage:ok' })
    }),
    getStorage: promising(function (options) {
      storage.getItem(options.key, function (answer) {
        if (answer.result !== 'success') return fail(options, 'getStorage:fail data not found')
        succeed(options, { data: parsed(answer.data) })
      })
    }),
    getSystemInfoSync: getSystemInfoSync,
    getSystemInfo: promising(function (options) { succeed(options, getSystemInfoSync()) }),
    upx2px: function (rpx) { return pixels(+rpx || 0) },
    requireNativePlugin: function (name) { return weex.requireModule(name) },
    $on: on, $off: off, $once: once, $emit: emit
  }

  var webview = {
    id: '1', addEventListener: function () {}, removeEventListener: function () {}, setStyle: function () {},
    getStyle: function () { return {} }, close: function () { back({}) }
  }
  var globalEvent = module('globalEvent')

  global.plus = {
    os: { name: env.platform }, device: { model: env.deviceModel }, runtime: { version: env.appVersion, appid: env.appName },
    screen: { resolutionWidth: WIDTH, scale: env.scale || 2 },
    navigator: { getStatusbarHeight: function () { return 20 }, setStatusBarStyle: function () {} },
    webview: { currentWebview: function () { return webview }, getWebviewById: function () { return null }, all: function () { return [webview] } },
    globalEvent: {
      addEventListener: function (name, body) { globalEvent.addEventListener(name, body) },
      removeEventListener: function (name) { globalEvent.removeEventListener(name) }
    }
  }

  // The app itself is not there: its globalData is empty, and the page is the only one.
  var app = { globalData: {} }, pages = [{ route: '', options: {}, $getAppWebview: function () { return webview } }]
  global.getApp = function () { return app }
  global.getCurrentPages = function () { return pages.slice() }

  // MARK: Vue: styles, components, and a page's own hooks

  var Vue = global.Vue
  if (!Vue || !Vue.prototype) return

  // {".title": {"": {"fontSize": ["32rpx", 0, 0, 1]}}} as Vue for Weex reads it: {title: {fontSize: 16}}
  Vue.prototype.__$appStyle__ = {}
  Vue.prototype.__merge_style = function (from, to) {
    Object.keys(from || {}).forEach(function (selector) {
      if (selector.charAt(0) !== '.') return
      var style = to[selector.slice(1)] = Object.assign({}, to[selector.slice(1)])
      var declared = from[selector][''] || from[selector]
      for (var name in declared) style[name] = converted(Array.isArray(declared[name]) ? declared[name][0] : declared[name])
    })
  }

  if (typeof Vue.component === 'function') {
    var elements = {
      'u-text': 'text', 'u-image': 'image', 'u-input': 'input', 'u-textarea': 'textarea', 'u-video': 'video', 'u-web-view': 'web',
      'u-slider': 'slider', 'scroll-view': 'scroller', swiper: 'slider', 'swiper-item': 'div', button: 'text', label: 'div',
      navigator: 'div', 'rich-text': 'richtext', 'cover-view': 'div', block: 'div'
    }
    Object.keys(elements).forEach(function (name) {
      Vue.component(name, {
        functional: true,
        render: function (h, context) {
          var attrs = Object.assign({}, context.data.attrs, context.props)
          if (name === 'scroll-view' && attrs.scrollX) attrs.scrollDirection = 'horizontal'
          return h(elements[name], Object.assign({}, context.data, { attrs: attrs }), context.children)
        }
      })
    })
  }

  if (typeof Vue.mixin === 'function') {
    var parameters = {}
    ;(weex.config.bundleUrl.split('?')[1] || '').split('&').forEach(function (pair) {
      var parts = pair.split('=')
      if (parts[0]) parameters[decodeURIComponent(parts[0])] = decodeURIComponent(parts[1] || '')
    })
    var call = function (page, name, argument) {
      var hooks = page.$options.mpType === 'page' ? [].concat(page.$options[name] || []) : []
      hooks.forEach(function (hook) { hook.call(page, argument) })
    }
    Vue.mixin({
      created: function () {
        call(this, 'onLoad', parameters)
        call(this, 'onShow')
      },
      mounted: function () { call(this, 'onReady') },
      destroyed: function () { call(this, 'onUnload') }
    })
  }
})(this)
