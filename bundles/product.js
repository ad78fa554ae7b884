// { "framework": "Vanilla" }
// Product: choices that change the picture, the price and what may be tapped.
(function () {
  'use strict'

  var document = weex.document
  var storage = weex.requireModule('storage')
  var modal = weex.requireModule('modal')

  var COLOR = {
    page: '#F4F1EA', card: '#FFFFFF', ink: '#22313F', faint: '#7A8691', accent: '#3B5B4C', off: '#C9CED3', warm: '#C8663B'
  }

  var PRODUCT = {
    name: 'Corrie backpack',
    picture: 'backpack',
    cents: 14900,
    text: 'A pack for three days and the road between. The frame is a single bent tube of aluminium, the bag hangs ' +
      'from it on four straps and comes off without tools, so that either can be mended without the other.',
    facts: [
      ['Weight', '1,280 g'], ['Fabric', 'recycled nylon, 210 denier'], ['Frame', 'aluminium tube, 8 mm'],
      ['Made in', 'the valley below the corrie'], ['Guarantee', '10 years, mended before replaced']
    ]
  }

  var COLOURS = [
    { key: 'pine', name: 'Pine', extra: 0 }, { key: 'rust', name: 'Rust', extra: 500 }, { key: 'slate', name: 'Slate', extra: 0 }
  ]
  var SIZES = [
    { key: 'S', litres: 38, extra: -1000, stock: 4 }, { key: 'M', litres: 48, extra: 0, stock: 9 },
    { key: 'L', litres: 60, extra: 1500, stock: 2 }, { key: 'XL', litres: 75, extra: 3000, stock: 0 }
  ]
  var LIMIT = 5

  var state = { colour: parameter('colour', 'pine'), size: 'M', quantity: 1, isAdding: false }
  var parts = {}

  function parameter (name, fallback) {
    var match = new RegExp('[?&]' + name + '=([a-z]+)').exec(String(weex.config.bundleUrl || ''))
    return match ? match[1] : fallback
  }

  function box (style, children) {
    var node = document.createElement('div', { attr: {}, style: style || {} })
    ;(children || []).forEach(function (child) { node.appendChild(child) })
    return node
  }

  function text (value, style) {
    return document.createElement('text', { attr: { value: value }, style: style || {} })
  }

  function find (list, key) {
    return list.filter(function (item) { return item.key === key })[0] || list[0]
  }

  function money (cents) { return (cents / 100).toFixed(2) + ' €' }

  // ------------------------------------------------------- what follows from the state

  function most () { return Math.min(LIMIT, find(SIZES, state.size).stock) }

  function unitPrice () {
    return PRODUCT.cents + find(COLOURS, state.colour).extra + find(SIZES, state.size).extra
  }

  // Three and more are a tenth cheaper.
  function price () {
    var whole = unitPrice() * state.quantity
    return state.quantity >= 3 ? Math.round(whole * 0.9) : whole
  }

  function canAdd () { return !state.isAdding && most() > 0 }

  function change (changes) {
    Object.keys(changes).forEach(function (key) { state[key] = changes[key] })
    state.quantity = Math.max(1, Math.min(state.quantity, Math.max(1, most())))
    paint()
  }

  function paint () {
    var size = find(SIZES, state.size)
    parts.picture.setAttr('src', 'images/' + PRODUCT.picture + '-' + find(COLOURS, state.colour).key + '.png')
    parts.colours.forEach(function (chip) { mark(chip, chip.key === state.colour, true) })
    parts.sizes.forEach(function (chip) { mark(chip, chip.key === state.size, find(SIZES, chip.key).stock > 0) })
    parts.litres.setAttr('value', size.litres + ' litres, ' + (size.stock === 0 ? 'sold out' : size.stock + ' in stock'))
    parts.quantity.setAttr('value', String(state.quantity))
    parts.minus.setStyle('opacity', state.quantity > 1 ? 1 : 0.35)
    parts.plus.setStyle('opacity', state.quantity < most() ? 1 : 0.35)
    parts.price.setAttr('value', money(price()))
    parts.hint.setAttr('value', state.quantity >= 3 ? 'three or more: a tenth off' : money(unitPrice()) + ' each')
    parts.add.setStyle('backgroundColor', canAdd() ? COLOR.warm : COLOR.off)
    parts.addLabel.setAttr('value', state.isAdding ? 'Adding …' : most() === 0 ? 'Sold out' : 'Add to cart')
  }

  function mark (chip, isOn, isAvailable) {
    chip.node.setStyle('backgroundColor', isOn ? COLOR.accent : COLOR.card)
    chip.node.setStyle('opacity', isAvailable ? 1 : 0.4)
    chip.label.setStyle('color', isOn ? '#FFFFFF' : COLOR.ink)
  }

  // ------------------------------------------------------------------- building

  function makeChips (items, label, pick) {
    var chips = []
    var row = box({ flexDirection: 'row', marginTop: 12 })
    items.forEach(function (item) {
      var caption = text(label(item), { fontSize: 28, textAlign: 'center' })
      var node = box({
        width: 150, height: 70, marginRight: 16, borderRadius: 12, justifyContent: 'center', borderWidth: 2,
        borderColor: COLOR.accent
      }, [caption])
      node.addEvent('click', function () { pick(item) })
      chips.push({ key: item.key, node: node, label: caption })
      row.appendChild(node)
    })
    return { row: row, chips: chips }
  }

  function makeStep (sign, step) {
    var node = box({
      width: 80, height: 80, borderRadius: 40, backgroundColor: COLOR.accent, justifyContent: 'center'
    }, [text(sign, { fontSize: 44, color: '#FFFFFF', textAlign: 'center' })])
    node.addEvent('click', function () {
      var next = state.quantity + step
      if (next >= 1 && next <= most()) change({ quantity: next })
    })
    return node
  }

  function addToCart () {
    if (!canAdd()) return
    var line = { name: PRODUCT.name, colour: state.colour, size: state.size, quantity: state.quantity, cents: price() }
    if (!storage) return say('There is no storage here, the cart would be lost.')
    change({ isAdding: true })
    storage.getItem('cart', function (answer) {
      var cart = []
      try { cart = JSON.parse(answer && answer.result === 'success' ? answer.data : '[]') } catch (error) { cart = [] }
      if (!Array.isArray(cart)) cart = []
      cart.push(line)
      storage.setItem('cart', JSON.stringify(cart), function (stored) {
        change({ isAdding: false })
        say(stored && stored.result === 'success'
          ? state.quantity + ' in the cart, ' + cart.length + (cart.length === 1 ? ' line' : ' lines') + ' in all'
          : 'The cart could not be kept, please try again.')
      })
    })
  }

  function say (message) {
    parts.message.setAttr('value', message)
    if (modal) modal.toast({ message: message, duration: 2 })
  }

  var body = document.createBody('scroller', { attr: {}, style: { width: 750, backgroundColor: COLOR.page } })
  document.documentElement.appendChild(body)

  parts.picture = document.createElement('image', {
    attr: { src: 'images/' + PRODUCT.picture + '-pine.png', resize: 'contain' }, style: { width: 500, height: 500 }
  })
  body.appendChild(box({ width: 750, height: 540, alignItems: 'center', justifyContent: 'center', backgroundColor: COLOR.card }, [parts.picture]))

  var column = box({ width: 702, marginLeft: 24 })
  body.appendChild(column)
  column.appendChild(text(PRODUCT.name, { fontSize: 46, fontWeight: 'bold', color: COLOR.ink, marginTop: 28 }))
  column.appendChild(text(PRODUCT.text, { fontSize: 28, lineHeight: 42, color: COLOR.ink, marginTop: 16 }))

  var colours = makeChips(COLOURS, function (item) { return item.name }, function (item) { change({ colour: item.key }) })
  parts.colours = colours.chips
  column.appendChild(text('Colour', { fontSize: 28, color: COLOR.faint, marginTop: 28 }))
  column.appendChild(colours.row)

  var sizes = makeChips(SIZES, function (item) { return item.key }, function (item) {
    if (item.stock > 0) change({ size: item.key })
  })
  parts.sizes = sizes.chips
  parts.litres = text('-', { fontSize: 26, color: COLOR.faint, marginTop: 10 })
  column.appendChild(text('Size', { fontSize: 28, color: COLOR.faint, marginTop: 28 }))
  column.appendChild(sizes.row)
  column.appendChild(parts.litres)

  parts.minus = makeStep('−', -1)
  parts.plus = makeStep('+', 1)
  parts.quantity = text('1', { fontSize: 44, color: COLOR.ink, width: 120, textAlign: 'center' })
  parts.price = text('-', { fontSize: 44, fontWeight: 'bold', color: COLOR.accent, textAlign: 'right' })
  parts.hint = text('-', { fontSize: 24, color: COLOR.faint, textAlign: 'right' })
  column.appendChild(box({ flexDirection: 'row', justifyContent: 'space-between', alignItems: 'center', marginTop: 36 }, [
    box({ flexDirection: 'row', alignItems: 'center' }, [parts.minus, parts.quantity, parts.plus]),
    box({ width: 380 }, [parts.price, parts.hint])
  ]))

  parts.addLabel = text('Add to cart', { fontSize: 36, color: '#FFFFFF', textAlign: 'center' })
  parts.add = box({ width: 702, height: 100, marginTop: 30, borderRadius: 50, justifyContent: 'center' }, [parts.addLabel])
  parts.add.addEvent('click', addToCart)
  column.appendChild(parts.add)
  parts.message = text('Free delivery from 50 €', { fontSize: 26, color: COLOR.faint, marginTop: 16, textAlign: 'center' })
  column.appendChild(parts.message)

  var facts = box({ marginTop: 30, marginBottom: 50, padding: 24, backgroundColor: COLOR.card, borderRadius: 14 })
  PRODUCT.facts.forEach(function (fact) {
    facts.appendChild(box({ flexDirection: 'row', paddingTop: 10, paddingBottom: 10 }, [
      text(fact[0], { fontSize: 26, color: COLOR.faint, width: 180 }),
      text(fact[1], { fontSize: 26, color: COLOR.ink, width: 470 })
    ]))
  })
  column.appendChild(facts)
  paint()
})()
