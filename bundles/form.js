// { "framework": "Vanilla" }
// Order form: validation with inline messages, a draft kept in storage, and a
// JSON POST with progress, success, refusal and offline states.
(function () {
  'use strict'

  var document = weex.document
  var stream = weex.requireModule('stream')
  var storage = weex.requireModule('storage')
  var timer = weex.requireModule('timer')
  var picker = weex.requireModule('picker')
  var modal = weex.requireModule('modal')

  var DRAFT_KEY = 'order-form.draft'
  var DRAFT_DELAY = 600
  var EXPRESS_PRICE = 650
  var GIFT_PRICE = 300

  var COLOR = {
    page: '#F4F1EC', card: '#FFFFFF', ink: '#2B2A28', faint: '#8A857C',
    line: '#DDD6CB', accent: '#2F6F5E', accentSoft: '#E3EFEA',
    bad: '#B3392F', badSoft: '#FBE9E7', off: '#A9B8B2'
  }

  // Prices are in cents, so that sums stay exact.
  var PRODUCTS = [
    { sku: 'tea-green-100', title: 'Green tea, 100 g', price: 890 },
    { sku: 'tea-black-250', title: 'Black tea, 250 g', price: 1250 },
    { sku: 'cup-stone', title: 'Stoneware cup', price: 1800 },
    { sku: 'pot-iron', title: 'Cast iron teapot', price: 6400 }
  ]

  var PRODUCT_TITLES = PRODUCTS.map(function (product) {
    return product.title + '  ·  ' + money(product.price)
  })

  function emptyOrder () {
    return {
      name: '', email: '', phone: '', product: -1, quantity: '1',
      address: '', note: '', express: false, gift: false
    }
  }

  var order = emptyOrder()
  var orderToken = newToken()
  var touched = false          // the user changed something: a late draft must not overwrite it
  var sending = false
  var attempt = 0
  var draftTimer = null
  var draftPending = false

  // ---------------------------------------------------------------- helpers

  function money (cents) {
    var rest = String(cents % 100)
    return '€ ' + Math.floor(cents / 100) + '.' + (rest.length < 2 ? '0' + rest : rest)
  }

  // Sent with every attempt for one order, corrected or not: where an answer got
  // lost on the way, the server can tell the repeated request from a second order.
  function newToken () {
    return Date.now().toString(36) + '-' + Math.floor(Math.random() * 1e9).toString(36)
  }

  function trim (value) {
    return String(value === undefined || value === null ? '' : value).replace(/^\s+|\s+$/g, '')
  }

  function box (style, children) {
    var node = document.createElement('div', { attr: {}, style: style || {} })
    ;(children || []).forEach(function (child) { node.appendChild(child) })
    return node
  }

  function text (value, style) {
    return document.createElement('text', { attr: { value: value }, style: style || {} })
  }

  function setText (node, value) {
    node.setAttr('value', value)
  }

  // A typed value is not always mirrored on the element, and setting an equal
  // value is skipped: go through another value, so that the field really changes.
  function setField (node, value) {
    if (node.attr.value === value) {
      node.setAttr('value', value + ' ')
    }
    node.setAttr('value', value)
  }

  function setShown (node, shown, height) {
    node.setStyle('height', shown ? height : 0)
    node.setStyle('opacity', shown ? 1 : 0)
  }

  function card (title, children) {
    var heading = text(title, { fontSize: 30, fontWeight: 'bold', color: COLOR.ink, marginBottom: 8 })
    return box({
      width: 702, marginLeft: 24, marginRight: 24, marginTop: 24,
      paddingTop: 28, paddingBottom: 28, paddingLeft: 28, paddingRight: 28,
      backgroundColor: COLOR.card, borderRadius: 16
    }, [heading].concat(children))
  }

  // ------------------------------------------------------------- form fields

  var fields = {}      // name -> { control, frame, error }; the error text exists only while there is one

  function addField (name, title, control, frame) {
    fields[name] = { control: control, frame: frame, error: null }
    return box({ width: 646, marginTop: 20 }, [
      text(title, { fontSize: 26, color: COLOR.faint, marginBottom: 8 }),
      frame
    ])
  }

  function frameStyle (height) {
    return {
      width: 646, height: height, borderWidth: 2, borderColor: COLOR.line, borderRadius: 10,
      backgroundColor: '#FFFFFF', paddingLeft: 20, paddingRight: 20, justifyContent: 'center'
    }
  }

  function inputField (name, title, type, placeholder) {
    var control = document.createElement('input', {
      attr: { type: type, value: order[name], placeholder: placeholder },
      style: { width: 602, height: 76, fontSize: 30, color: COLOR.ink, placeholderColor: '#B9B3A8' }
    })
    listenTyping(name, control)
    return addField(name, title, control, box(frameStyle(84), [control]))
  }

  function areaField (name, title, placeholder, rows) {
    var height = rows * 44 + 16
    var control = document.createElement('textarea', {
      attr: { value: order[name], placeholder: placeholder, rows: rows },
      style: { width: 602, height: height, fontSize: 30, color: COLOR.ink, placeholderColor: '#B9B3A8' }
    })
    listenTyping(name, control)
    return addField(name, title, control, box(frameStyle(height + 16), [control]))
  }

  function listenTyping (name, control) {
    function take (event) {
      if (!event || event.value === undefined || event.value === order[name]) return
      changeOrder(name, String(event.value))
    }
    control.addEvent('input', take)
    control.addEvent('change', take)
    control.addEvent('blur', function () { showError(name, check(name)) })
  }

  function switchRow (name, title, hint) {
    var control = document.createElement('switch', { attr: { checked: order[name] }, style: {} })
    control.addEvent('change', function (event) {
      changeOrder(name, !!(event && (event.value === true || event.value === 'true')))
    })
    fields[name] = { control: control, frame: null, error: null }
    return box({ width: 646, marginTop: 24, flexDirection: 'row', alignItems: 'center', justifyContent: 'space-between' }, [
      box({ width: 500 }, [
        text(title, { fontSize: 30, color: COLOR.ink }),
        text(hint, { fontSize: 24, color: COLOR.faint, marginTop: 4 })
      ]),
      control
    ])
  }

  // The product: the picker module where the host has one, otherwise a list
  // that unfolds under the field.
  var productLabel = text('Choose a product', { width: 540, fontSize: 30, lines: 1, color: COLOR.faint })
  var productArrow = text('▾', { width: 50, fontSize: 30, textAlign: 'right', color: COLOR.faint })
  var productOptions = box({ width: 646, height: 0, overflow: 'hidden', backgroundColor: COLOR.accentSoft, borderRadius: 10 })
  var optionsOpen = false

  function productField () {
    var style = frameStyle(84)
    style.flexDirection = 'row'
    style.alignItems = 'center'
    style.justifyContent = 'space-between'
    var frame = box(style, [productLabel, productArrow])
    frame.addEvent('click', chooseProduct)

    PRODUCT_TITLES.forEach(function (title, index) {
      var row = box({ width: 646, height: 72, paddingLeft: 20, paddingRight: 20, justifyContent: 'center' }, [
        text(title, { width: 606, fontSize: 28, lines: 1, color: COLOR.ink })
      ])
      row.addEvent('click', function () {
        if (!optionsOpen) return
        openOptions(false)
        pickProduct(index)
      })
      productOptions.appendChild(row)
    })

    var whole = addField('product', 'Product', frame, frame)
    whole.appendChild(productOptions)
    return whole
  }

  function chooseProduct () {
    if (sending) return
    if (!picker) {
      openOptions(!optionsOpen)
      return
    }
    picker.pick({ items: PRODUCT_TITLES, index: Math.max(0, order.product) }, function (answer) {
      if (!answer || answer.result !== 'success') return
      pickProduct(Number(answer.data))
    })
  }

  function openOptions (open) {
    optionsOpen = open
    productOptions.setStyle('height', open ? 72 * PRODUCTS.length : 0)
    setText(productArrow, open ? '▴' : '▾')
  }

  function pickProduct (index) {
    if (sending || !PRODUCTS[index]) return
    changeOrder('product', index)
    drawProduct()
    showError('product', check('product'))
  }

  function drawProduct () {
    var chosen = PRODUCTS[order.product]
    setText(productLabel, chosen ? PRODUCT_TITLES[order.product] : 'Choose a product')
    productLabel.setStyle('color', chosen ? COLOR.ink : COLOR.faint)
  }

  // The quantity: a number that can be typed, with a step button on each side.
  function quantityField () {
    var control = document.createElement('input', {
      attr: { type: 'number', value: order.quantity, placeholder: '1' },
      style: { width: 160, height: 76, fontSize: 32, textAlign: 'center', color: COLOR.ink }
    })
    listenTyping('quantity', control)

    function step (sign, change) {
      var button = box({
        width: 76, height: 76, borderRadius: 38, backgroundColor: COLOR.accentSoft,
        alignItems: 'center', justifyContent: 'center'
      }, [text(sign, { fontSize: 40, color: COLOR.accent })])
      button.addEvent('click', function () {
        if (sending) return
        var next = Math.min(99, Math.max(1, (parseInt(order.quantity, 10) || 0) + change))
        changeOrder('quantity', String(next))
        setField(control, order.quantity)
        showError('quantity', check('quantity'))
      })
      return button
    }

    var frame = box({
      width: 360, height: 84, flexDirection: 'row', alignItems: 'center', justifyContent: 'space-between',
      borderWidth: 2, borderColor: COLOR.line, borderRadius: 42
    }, [step('−', -1), control, step('+', 1)])
    return addField('quantity', 'Quantity', control, frame)
  }

  // -------------------------------------------------------------- validation

  var RULES = {
    name: function (value) {
      if (trim(value).length < 2) return 'Please tell us your name.'
      if (trim(value).length > 80) return 'At most 80 characters, please.'
      return ''
    },
    email: function (value) {
      if (!trim(value)) return 'We send the confirmation to this address.'
      return /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(trim(value)) ? '' : 'This does not look like an email address.'
    },
    phone: function (value) {
      if (!trim(value)) return ''
      return /^\+?[0-9][0-9 ()\/-]{5,19}$/.test(trim(value)) ? '' : 'Digits only, for example +44 20 7946 0018.'
    },
    product: function (value) {
      return PRODUCTS[value] ? '' : 'Please choose a product.'
    },
    quantity: function (value) {
      var number = Number(trim(value))
      if (!trim(value) || number !== Math.floor(number)) return 'A whole number, please.'
      if (number < 1 || number > 99) return 'Between 1 and 99.'
      return ''
    },
    address: function (value) {
      return trim(value).length < 10 ? 'Street, number, postcode and town, please.' : ''
    },
    note: function (value) {
      var over = String(value).length - 300
      return over > 0 ? 'The note is ' + over + ' characters too long.' : ''
    }
  }

  function check (name) {
    return RULES[name] ? RULES[name](order[name]) : ''
  }

  function showError (name, message) {
    var field = fields[name]
    if (!field || !field.frame) return
    if (message && !field.error) {
      field.error = text(message, { width: 646, marginTop: 6, fontSize: 24, lineHeight: 34, lines: 2, color: COLOR.bad })
      field.frame.parentNode.insertAfter(field.error, field.frame)
    } else if (message) {
      setText(field.error, message)
    } else if (field.error) {
      field.frame.parentNode.removeChild(field.error)
      field.error = null
    }
    field.frame.setStyle('borderColor', message ? COLOR.bad : COLOR.line)
  }

  function checkAll () {
    var wrong = 0
    Object.keys(RULES).forEach(function (name) {
      var message = check(name)
      showError(name, message)
      if (message) wrong += 1
    })
    return wrong
  }

  function changeOrder (name, value) {
    if (order[name] === value) return
    order[name] = value
    touched = true
    var field = fields[name]
    // While typing, a message may go away but no new one appears: that waits for blur.
    if (field && field.error && !check(name)) showError(name, '')
    drawTotal()
    if (!sending) hideStatus()
    saveDraftSoon()
  }

  // ------------------------------------------------------------------- total

  var totalText = text(money(0), { fontSize: 40, fontWeight: 'bold', color: COLOR.accent })
  var totalHint = text('Choose a product to see the price.', { width: 646, fontSize: 24, lines: 2, color: COLOR.faint, marginTop: 8 })

  function totalCents () {
    var product = PRODUCTS[order.product]
    if (!product || check('quantity')) return 0
    return product.price * Number(order.quantity) +
      (order.express ? EXPRESS_PRICE : 0) + (order.gift ? GIFT_PRICE : 0)
  }

  function drawTotal () {
    var cents = totalCents()
    var extras = []
    if (order.express) extras.push('express ' + money(EXPRESS_PRICE))
    if (order.gift) extras.push('gift wrap ' + money(GIFT_PRICE))
    setText(totalText, money(cents))
    setText(totalHint, cents
      ? (extras.length ? 'Includes ' + extras.join(' and ') + '.' : 'Standard delivery is free.')
      : 'Choose a product to see the price.')
  }

  // ------------------------------------------------------------ status panel

  var statusTitle = text('Not sent yet', { width: 606, fontSize: 30, fontWeight: 'bold', lines: 1, color: COLOR.ink })
  var statusBody = text('Fill in the form and place the order.', { width: 606, fontSize: 26, lineHeight: 36, lines: 3, marginTop: 8, color: COLOR.ink })
  var statusBar = box({ width: 0, height: 8, borderRadius: 4, backgroundColor: COLOR.accent })
  var statusTrack = box({ width: 606, height: 8, borderRadius: 4, marginTop: 16, backgroundColor: COLOR.line, opacity: 0 }, [statusBar])
  var statusPanel = box({
    width: 702, height: 0, opacity: 0, overflow: 'hidden', marginLeft: 24, marginRight: 24, marginTop: 24,
    paddingLeft: 28, paddingRight: 28, borderRadius: 16, justifyContent: 'center', backgroundColor: COLOR.accentSoft
  }, [statusTitle, statusBody, statusTrack])

  function showStatus (kind, title, body) {
    var bad = kind === 'failed' || kind === 'offline'
    setText(statusTitle, title)
    setText(statusBody, body)
    statusTitle.setStyle('color', bad ? COLOR.bad : COLOR.accent)
    statusPanel.setStyle('backgroundColor', bad ? COLOR.badSoft : COLOR.accentSoft)
    statusTrack.setStyle('opacity', kind === 'sending' ? 1 : 0)
    setShown(statusPanel, true, 230)
  }

  function hideStatus () {
    setShown(statusPanel, false, 0)
  }

  // The size of the answer is not known before it is here, so the bar shows
  // how far the request has come, not a share of bytes.
  function drawProgress (progress) {
    var state = Number(progress && progress.readyState) || 1
    statusBar.setStyle('width', Math.round(606 * Math.min(4, Math.max(1, state)) / 4))
    if (progress && progress.length > 0) {
      setText(statusBody, 'Receiving the answer, ' + progress.length + ' bytes so far.')
    } else if (state >= 2) {
      setText(statusBody, 'The shop is answering.')
    }
  }

  // ----------------------------------------------------------------- sending

  var sendLabel = text('Place order', { fontSize: 32, fontWeight: 'bold', color: '#FFFFFF' })
  var sendButton = box({
    width: 702, height: 96, marginLeft: 24, marginRight: 24, marginTop: 24, borderRadius: 48,
    backgroundColor: COLOR.accent, alignItems: 'center', justifyContent: 'center'
  }, [sendLabel])
  sendButton.addEvent('click', send)

  var clearButton = box({
    width: 702, height: 84, marginLeft: 24, marginRight: 24, marginTop: 8, marginBottom: 60,
    alignItems: 'center', justifyContent: 'center'
  }, [text('Clear the form', { fontSize: 28, color: COLOR.faint })])
  clearButton.addEvent('click', function () {
    if (sending) return
    startOver()
    hideStatus()
    if (modal) modal.toast({ message: 'The form is empty again.', duration: 2 })
  })

  function setSending (value) {
    sending = value
    sendButton.setStyle('backgroundColor', value ? COLOR.off : COLOR.accent)
    Object.keys(fields).forEach(function (name) {
      var control = fields[name].control
      if (control.type !== 'div') control.setAttr('disabled', value)
    })
  }

  function payload () {
    var product = PRODUCTS[order.product]
    return {
      token: orderToken,
      customer: { name: trim(order.name), email: trim(order.email), phone: trim(order.phone) || null },
      items: [{ sku: product.sku, quantity: Number(order.quantity), unitPrice: product.price }],
      address: trim(order.address),
      note: trim(order.note) || null,
      express: order.express,
      gift: order.gift,
      totalCents: totalCents()
    }
  }

  function send () {
    if (sending) return
    if (optionsOpen) openOptions(false)
    var wrong = checkAll()
    if (wrong) {
      showStatus('failed', 'Not sent yet', wrong === 1
        ? 'One field needs your attention.'
        : wrong + ' fields need your attention.')
      return
    }
    if (!stream) {
      saveDraft()
      showStatus('failed', 'Cannot send here', 'This app has no network module. Your draft is kept.')
      return
    }

    attempt += 1
    var current = attempt
    setSending(true)
    setText(sendLabel, 'Sending …')
    showStatus('sending', 'Sending your order', 'Contacting the shop.')
    drawProgress(null)

    stream.fetch({
      method: 'POST',
      url: 'api/orders',
      type: 'json',
      timeout: 15000,
      headers: { 'Content-Type': 'application/json', 'Accept': 'application/json' },
      body: JSON.stringify(payload())
    }, function (response) {
      // Only the first answer to the current attempt counts.
      if (!sending || current !== attempt) return
      setSending(false)
      finish(response || { status: -1, ok: false })
    }, function (progress) {
      if (sending && current === attempt) drawProgress(progress)
    })
  }

  function finish (response) {
    var status = Number(response.status)
    if (response.ok && status >= 200 && status < 300) {
      succeed(response.data)
      return
    }
    setText(sendLabel, 'Try again')
    saveDraft()
    if (status === -1) {
      showStatus('offline', 'You seem to be offline', 'Nothing was lost: the draft is kept on this device. Try again when there is a connection.')
    } else if (status === 400 || status === 422) {
      showRefusal(response.data)
    } else {
      showStatus('failed', 'The shop could not take the order',
        'It answered ' + status + (response.statusText ? ' (' + response.statusText + ')' : '') + '. Your draft is kept.')
    }
  }

  function succeed (data) {
    var number = data && typeof data === 'object' && (data.orderNumber || data.id)
    var email = trim(order.email)
    startOver()
    setText(sendLabel, 'Place another order')
    showStatus('done', 'Thank you!', (number ? 'Your order number is ' + number + '. ' : 'Your order has arrived. ') +
      'A confirmation goes to ' + email + '.')
  }

  // A refusal may name fields: { errors: { email: "unknown domain" } }
  function showRefusal (data) {
    var errors = data && typeof data === 'object' && data.errors
    var named = 0
    if (errors && typeof errors === 'object') {
      Object.keys(errors).forEach(function (name) {
        if (!RULES.hasOwnProperty(name)) return
        showError(name, String(errors[name]))
        named += 1
      })
    }
    showStatus('failed', 'The shop asks for a correction', named
      ? 'Please look at the marked ' + (named === 1 ? 'field.' : 'fields.')
      : 'It did not say which field. Please check the form and try again.')
  }

  function startOver () {
    dropDraft()
    order = emptyOrder()
    orderToken = newToken()
    setText(sendLabel, 'Place order')
    drawAll()
  }

  function drawAll () {
    Object.keys(fields).forEach(function (name) {
      var control = fields[name].control
      if (control.type === 'switch') {
        if (control.attr.checked === order[name]) control.setAttr('checked', !order[name])
        control.setAttr('checked', order[name])
      } else if (control.type !== 'div') {
        setField(control, order[name])
      }
      showError(name, '')
    })
    if (optionsOpen) openOptions(false)
    drawProduct()
    drawTotal()
  }

  // ------------------------------------------------------------------- draft

  var draftText = text('A draft is kept while you type.', { width: 702, fontSize: 24, lines: 1, marginTop: 10, color: COLOR.faint })

  function saveDraftSoon () {
    if (!storage) return
    draftPending = true
    if (!timer) {
      saveDraft()
      return
    }
    if (draftTimer !== null) timer.clearTimeout(draftTimer)
    draftTimer = timer.setTimeout(function () {
      draftTimer = null
      if (draftPending) saveDraft()
    }, DRAFT_DELAY)
  }

  function stopDraftTimer () {
    if (draftTimer !== null && timer) timer.clearTimeout(draftTimer)
    draftTimer = null
    draftPending = false
  }

  function saveDraft () {
    stopDraftTimer()
    if (!storage) return
    storage.setItem(DRAFT_KEY, JSON.stringify({ order: order, token: orderToken }), function (answer) {
      setText(draftText, answer && answer.result === 'success'
        ? 'Draft saved.'
        : 'The draft could not be saved on this device.')
    })
  }

  function dropDraft () {
    stopDraftTimer()
    if (!storage) return
    storage.removeItem(DRAFT_KEY, function () {
      setText(draftText, 'A draft is kept while you type.')
    })
  }

  function loadDraft () {
    if (!storage) {
      setText(draftText, 'This app cannot keep a draft.')
      return
    }
    storage.getItem(DRAFT_KEY, function (answer) {
      if (touched || sending || !answer || answer.result !== 'success' || !answer.data) return
      var draft
      try {
        draft = JSON.parse(answer.data)
      } catch (error) {
        dropDraft()
        return
      }
      if (!draft || typeof draft.order !== 'object' || !draft.order) return
      var fresh = emptyOrder()
      Object.keys(fresh).forEach(function (name) {
        // A draft of an older form may lack a field or have another type in it.
        if (typeof draft.order[name] === typeof fresh[name]) fresh[name] = draft.order[name]
      })
      order = fresh
      if (typeof draft.token === 'string' && draft.token) orderToken = draft.token
      drawAll()
      setText(draftText, 'Your draft from last time is back.')
    })
  }

  // -------------------------------------------------------------------- page

  var body = document.createBody('div', { attr: {}, style: { width: 750, backgroundColor: COLOR.page } })
  var scroller = document.createElement('scroller', {
    attr: { scrollDirection: 'vertical', showScrollbar: 'true' },
    style: { width: 750, flex: 1 }
  })

  scroller.appendChild(box({ width: 702, marginLeft: 24, marginRight: 24, marginTop: 48 }, [
    text('Order tea', { fontSize: 52, fontWeight: 'bold', color: COLOR.ink }),
    draftText
  ]))
  scroller.appendChild(card('What', [
    productField(),
    quantityField(),
    switchRow('gift', 'Gift wrap', 'Recycled paper and a card, ' + money(GIFT_PRICE))
  ]))
  scroller.appendChild(card('Who', [
    inputField('name', 'Name', 'text', 'Ada Example'),
    inputField('email', 'Email', 'email', 'ada@example.org'),
    inputField('phone', 'Phone (optional)', 'tel', '+44 20 7946 0018')
  ]))
  scroller.appendChild(card('Where', [
    areaField('address', 'Delivery address', 'Street and number\nPostcode and town', 3),
    switchRow('express', 'Express delivery', 'Next working day, ' + money(EXPRESS_PRICE)),
    areaField('note', 'Note to the shop (optional)', 'Leave it with the neighbours', 3)
  ]))
  scroller.appendChild(card('Total', [totalText, totalHint]))
  scroller.appendChild(statusPanel)
  scroller.appendChild(sendButton)
  scroller.appendChild(clearButton)
  body.appendChild(scroller)

  // Leaving the page must not lose what was typed within the last moment.
  body.addEvent('viewdisappear', function () {
    if (draftPending) saveDraft()
  })

  document.documentElement.appendChild(body)
  loadDraft()
})()
