// { "framework": "Vanilla" }
// Catalogue: two hundred goods in one list, filtered by kind.
(function () {
  'use strict'

  var document = weex.document
  var navigator = weex.requireModule('navigator')
  var dom = weex.requireModule('dom')

  // name, kind, picture, colour, price in cents, rating in tenths, pieces in stock
  var GOODS = [
    ['Tarn Tent', 'shelter', 'tent', 'pine', 17900, 30, 0],
    ['Tarn Tarp', 'shelter', 'tarp', 'rust', 8000, 41, 3],
    ['Tarn Hammock', 'shelter', 'hammock', 'slate', 5000, 31, 6],
    ['Tarn Sleeping bag', 'sleep', 'sleepingbag', 'pine', 13100, 42, 9],
    ['Tarn Mat', 'sleep', 'mat', 'rust', 6100, 32, 12],
    ['Tarn Stove', 'kitchen', 'stove', 'slate', 5700, 43, 1],
    ['Tarn Pot', 'kitchen', 'pot', 'pine', 3200, 33, 4],
    ['Tarn Pan', 'kitchen', 'pan', 'rust', 3800, 44, 7],
    ['Tarn Kettle', 'kitchen', 'kettle', 'slate', 2600, 34, 10],
    ['Tarn Mug', 'kitchen', 'mug', 'pine', 2100, 45, 13],
    ['Tarn Headlamp', 'light', 'headlamp', 'rust', 3700, 35, 2],
    ['Tarn Lantern', 'light', 'lantern', 'slate', 4300, 46, 5],
    ['Tarn Axe', 'tools', 'axe', 'pine', 5800, 36, 8],
    ['Tarn Knife', 'tools', 'knife', 'rust', 5500, 47, 11],
    ['Tarn Spade', 'tools', 'spade', 'slate', 3000, 37, 0],
    ['Tarn Backpack', 'carry', 'backpack', 'pine', 15700, 48, 3],
    ['Tarn Dry bag', 'carry', 'drybag', 'rust', 2200, 38, 6],
    ['Tarn Boots', 'wear', 'boots', 'slate', 16800, 49, 9],
    ['Tarn Jacket', 'wear', 'jacket', 'pine', 17800, 39, 12],
    ['Tarn Hat', 'wear', 'hat', 'rust', 3900, 50, 1],
    ['Fell Tent', 'shelter', 'tent', 'rust', 19500, 37, 5],
    ['Fell Tarp', 'shelter', 'tarp', 'slate', 7500, 48, 8],
    ['Fell Hammock', 'shelter', 'hammock', 'pine', 6600, 38, 11],
    ['Fell Sleeping bag', 'sleep', 'sleepingbag', 'rust', 12600, 49, 0],
    ['Fell Mat', 'sleep', 'mat', 'slate', 7700, 39, 3],
    ['Fell Stove', 'kitchen', 'stove', 'pine', 5200, 50, 6],
    ['Fell Pot', 'kitchen', 'pot', 'rust', 4800, 40, 9],
    ['Fell Pan', 'kitchen', 'pan', 'slate', 3300, 30, 12],
    ['Fell Kettle', 'kitchen', 'kettle', 'pine', 4200, 41, 1],
    ['Fell Mug', 'kitchen', 'mug', 'rust', 1600, 31, 4],
    ['Fell Headlamp', 'light', 'headlamp', 'slate', 3200, 42, 7],
    ['Fell Lantern', 'light', 'lantern', 'pine', 3800, 32, 10],
    ['Fell Axe', 'tools', 'axe', 'rust', 5300, 43, 13],
    ['Fell Knife', 'tools', 'knife', 'slate', 5000, 33, 2],
    ['Fell Spade', 'tools', 'spade', 'pine', 2500, 44, 5],
    ['Fell Backpack', 'carry', 'backpack', 'rust', 15200, 34, 8],
    ['Fell Dry bag', 'carry', 'drybag', 'slate', 1700, 45, 11],
    ['Fell Boots', 'wear', 'boots', 'pine', 16300, 35, 0],
    ['Fell Jacket', 'wear', 'jacket', 'rust', 17300, 46, 3],
    ['Fell Hat', 'wear', 'hat', 'slate', 3400, 36, 6],
    ['Birch Tent', 'shelter', 'tent', 'slate', 19000, 44, 10],
    ['Birch Tarp', 'shelter', 'tarp', 'pine', 7000, 34, 13],
    ['Birch Hammock', 'shelter', 'hammock', 'rust', 6100, 45, 2],
    ['Birch Sleeping bag', 'sleep', 'sleepingbag', 'slate', 12100, 35, 5],
    ['Birch Mat', 'sleep', 'mat', 'pine', 7200, 46, 8],
    ['Birch Stove', 'kitchen', 'stove', 'rust', 4700, 36, 11],
    ['Birch Pot', 'kitchen', 'pot', 'slate', 4300, 47, 0],
    ['Birch Pan', 'kitchen', 'pan', 'pine', 2800, 37, 3],
    ['Birch Kettle', 'kitchen', 'kettle', 'rust', 3700, 48, 6],
    ['Birch Mug', 'kitchen', 'mug', 'slate', 1100, 38, 9],
    ['Birch Headlamp', 'light', 'headlamp', 'pine', 4800, 49, 12],
    ['Birch Lantern', 'light', 'lantern', 'rust', 3300, 39, 1],
    ['Birch Axe', 'tools', 'axe', 'slate', 6900, 50, 4],
    ['Birch Knife', 'tools', 'knife', 'pine', 4500, 40, 7],
    ['Birch Spade', 'tools', 'spade', 'rust', 4100, 30, 10],
    ['Birch Backpack', 'carry', 'backpack', 'slate', 14700, 41, 13],
    ['Birch Dry bag', 'carry', 'drybag', 'pine', 3300, 31, 2],
    ['Birch Boots', 'wear', 'boots', 'rust', 15800, 42, 5],
    ['Birch Jacket', 'wear', 'jacket', 'slate', 18900, 32, 8],
    ['Birch Hat', 'wear', 'hat', 'pine', 2900, 43, 11],
    ['Skerry Tent', 'shelter', 'tent', 'pine', 18500, 30, 1],
    ['Skerry Tarp', 'shelter', 'tarp', 'rust', 8600, 41, 4],
    ['Skerry Hammock', 'shelter', 'hammock', 'slate', 5600, 31, 7],
    ['Skerry Sleeping bag', 'sleep', 'sleepingbag', 'pine', 13700, 42, 10],
    ['Skerry Mat', 'sleep', 'mat', 'rust', 6700, 32, 13],
    ['Skerry Stove', 'kitchen', 'stove', 'slate', 6300, 43, 2],
    ['Skerry Pot', 'kitchen', 'pot', 'pine', 3800, 33, 5],
    ['Skerry Pan', 'kitchen', 'pan', 'rust', 4400, 44, 8],
    ['Skerry Kettle', 'kitchen', 'kettle', 'slate', 3200, 34, 11],
    ['Skerry Mug', 'kitchen', 'mug', 'pine', 600, 45, 0],
    ['Skerry Headlamp', 'light', 'headlamp', 'rust', 4300, 35, 3],
    ['Skerry Lantern', 'light', 'lantern', 'slate', 2800, 46, 6],
    ['Skerry Axe', 'tools', 'axe', 'pine', 6400, 36, 9],
    ['Skerry Knife', 'tools', 'knife', 'rust', 4000, 47, 12],
    ['Skerry Spade', 'tools', 'spade', 'slate', 3600, 37, 1],
    ['Skerry Backpack', 'carry', 'backpack', 'pine', 14200, 48, 4],
    ['Skerry Dry bag', 'carry', 'drybag', 'rust', 2800, 38, 7],
    ['Skerry Boots', 'wear', 'boots', 'slate', 15300, 49, 10],
    ['Skerry Jacket', 'wear', 'jacket', 'pine', 18400, 39, 13],
    ['Skerry Hat', 'wear', 'hat', 'rust', 2400, 50, 2],
    ['Heath Tent', 'shelter', 'tent', 'rust', 18000, 37, 6],
    ['Heath Tarp', 'shelter', 'tarp', 'slate', 8100, 48, 9],
    ['Heath Hammock', 'shelter', 'hammock', 'pine', 5100, 38, 12],
    ['Heath Sleeping bag', 'sleep', 'sleepingbag', 'rust', 13200, 49, 1],
    ['Heath Mat', 'sleep', 'mat', 'slate', 6200, 39, 4],
    ['Heath Stove', 'kitchen', 'stove', 'pine', 5800, 50, 7],
    ['Heath Pot', 'kitchen', 'pot', 'rust', 3300, 40, 10],
    ['Heath Pan', 'kitchen', 'pan', 'slate', 3900, 30, 13],
    ['Heath Kettle', 'kitchen', 'kettle', 'pine', 2700, 41, 2],
    ['Heath Mug', 'kitchen', 'mug', 'rust', 2200, 31, 5],
    ['Heath Headlamp', 'light', 'headlamp', 'slate', 3800, 42, 8],
    ['Heath Lantern', 'light', 'lantern', 'pine', 4400, 32, 11],
    ['Heath Axe', 'tools', 'axe', 'rust', 5900, 43, 0],
    ['Heath Knife', 'tools', 'knife', 'slate', 5600, 33, 3],
    ['Heath Spade', 'tools', 'spade', 'pine', 3100, 44, 6],
    ['Heath Backpack', 'carry', 'backpack', 'rust', 15800, 34, 9],
    ['Heath Dry bag', 'carry', 'drybag', 'slate', 2300, 45, 12],
    ['Heath Boots', 'wear', 'boots', 'pine', 16900, 35, 1],
    ['Heath Jacket', 'wear', 'jacket', 'rust', 17900, 46, 4],
    ['Heath Hat', 'wear', 'hat', 'slate', 1900, 36, 7],
    ['Corrie Tent', 'shelter', 'tent', 'slate', 19600, 44, 11],
    ['Corrie Tarp', 'shelter', 'tarp', 'pine', 7600, 34, 0],
    ['Corrie Hammock', 'shelter', 'hammock', 'rust', 6700, 45, 3],
    ['Corrie Sleeping bag', 'sleep', 'sleepingbag', 'slate', 12700, 35, 6],
    ['Corrie Mat', 'sleep', 'mat', 'pine', 7800, 46, 9],
    ['Corrie Stove', 'kitchen', 'stove', 'rust', 5300, 36, 12],
    ['Corrie Pot', 'kitchen', 'pot', 'slate', 4900, 47, 1],
    ['Corrie Pan', 'kitchen', 'pan', 'pine', 3400, 37, 4],
    ['Corrie Kettle', 'kitchen', 'kettle', 'rust', 2200, 48, 7],
    ['Corrie Mug', 'kitchen', 'mug', 'slate', 1700, 38, 10],
    ['Corrie Headlamp', 'light', 'headlamp', 'pine', 3300, 49, 13],
    ['Corrie Lantern', 'light', 'lantern', 'rust', 3900, 39, 2],
    ['Corrie Axe', 'tools', 'axe', 'slate', 5400, 50, 5],
    ['Corrie Knife', 'tools', 'knife', 'pine', 5100, 40, 8],
    ['Corrie Spade', 'tools', 'spade', 'rust', 2600, 30, 11],
    ['Corrie Backpack', 'carry', 'backpack', 'slate', 15300, 41, 0],
    ['Corrie Dry bag', 'carry', 'drybag', 'pine', 1800, 31, 3],
    ['Corrie Boots', 'wear', 'boots', 'rust', 16400, 42, 6],
    ['Corrie Jacket', 'wear', 'jacket', 'slate', 17400, 32, 9],
    ['Corrie Hat', 'wear', 'hat', 'pine', 3500, 43, 12],
    ['Alder Tent', 'shelter', 'tent', 'pine', 19100, 30, 2],
    ['Alder Tarp', 'shelter', 'tarp', 'rust', 7100, 41, 5],
    ['Alder Hammock', 'shelter', 'hammock', 'slate', 6200, 31, 8],
    ['Alder Sleeping bag', 'sleep', 'sleepingbag', 'pine', 12200, 42, 11],
    ['Alder Mat', 'sleep', 'mat', 'rust', 7300, 32, 0],
    ['Alder Stove', 'kitchen', 'stove', 'slate', 4800, 43, 3],
    ['Alder Pot', 'kitchen', 'pot', 'pine', 4400, 33, 6],
    ['Alder Pan', 'kitchen', 'pan', 'rust', 2900, 44, 9],
    ['Alder Kettle', 'kitchen', 'kettle', 'slate', 3800, 34, 12],
    ['Alder Mug', 'kitchen', 'mug', 'pine', 1200, 45, 1],
    ['Alder Headlamp', 'light', 'headlamp', 'rust', 4900, 35, 4],
    ['Alder Lantern', 'light', 'lantern', 'slate', 3400, 46, 7],
    ['Alder Axe', 'tools', 'axe', 'pine', 7000, 36, 10],
    ['Alder Knife', 'tools', 'knife', 'rust', 4600, 47, 13],
    ['Alder Spade', 'tools', 'spade', 'slate', 4200, 37, 2],
    ['Alder Backpack', 'carry', 'backpack', 'pine', 14800, 48, 5],
    ['Alder Dry bag', 'carry', 'drybag', 'rust', 3400, 38, 8],
    ['Alder Boots', 'wear', 'boots', 'slate', 15900, 49, 11],
    ['Alder Jacket', 'wear', 'jacket', 'pine', 16900, 39, 0],
    ['Alder Hat', 'wear', 'hat', 'rust', 3000, 50, 3],
    ['Moor Tent', 'shelter', 'tent', 'rust', 18600, 37, 7],
    ['Moor Tarp', 'shelter', 'tarp', 'slate', 8700, 48, 10],
    ['Moor Hammock', 'shelter', 'hammock', 'pine', 5700, 38, 13],
    ['Moor Sleeping bag', 'sleep', 'sleepingbag', 'rust', 13800, 49, 2],
    ['Moor Mat', 'sleep', 'mat', 'slate', 6800, 39, 5],
    ['Moor Stove', 'kitchen', 'stove', 'pine', 6400, 50, 8],
    ['Moor Pot', 'kitchen', 'pot', 'rust', 3900, 40, 11],
    ['Moor Pan', 'kitchen', 'pan', 'slate', 2400, 30, 0],
    ['Moor Kettle', 'kitchen', 'kettle', 'pine', 3300, 41, 3],
    ['Moor Mug', 'kitchen', 'mug', 'rust', 700, 31, 6],
    ['Moor Headlamp', 'light', 'headlamp', 'slate', 4400, 42, 9],
    ['Moor Lantern', 'light', 'lantern', 'pine', 2900, 32, 12],
    ['Moor Axe', 'tools', 'axe', 'rust', 6500, 43, 1],
    ['Moor Knife', 'tools', 'knife', 'slate', 4100, 33, 4],
    ['Moor Spade', 'tools', 'spade', 'pine', 3700, 44, 7],
    ['Moor Backpack', 'carry', 'backpack', 'rust', 14300, 34, 10],
    ['Moor Dry bag', 'carry', 'drybag', 'slate', 2900, 45, 13],
    ['Moor Boots', 'wear', 'boots', 'pine', 15400, 35, 2],
    ['Moor Jacket', 'wear', 'jacket', 'rust', 18500, 46, 5],
    ['Moor Hat', 'wear', 'hat', 'slate', 2500, 36, 8],
    ['Fjord Tent', 'shelter', 'tent', 'slate', 18100, 44, 12],
    ['Fjord Tarp', 'shelter', 'tarp', 'pine', 8200, 34, 1],
    ['Fjord Hammock', 'shelter', 'hammock', 'rust', 5200, 45, 4],
    ['Fjord Sleeping bag', 'sleep', 'sleepingbag', 'slate', 13300, 35, 7],
    ['Fjord Mat', 'sleep', 'mat', 'pine', 6300, 46, 10],
    ['Fjord Stove', 'kitchen', 'stove', 'rust', 5900, 36, 13],
    ['Fjord Pot', 'kitchen', 'pot', 'slate', 3400, 47, 2],
    ['Fjord Pan', 'kitchen', 'pan', 'pine', 4000, 37, 5],
    ['Fjord Kettle', 'kitchen', 'kettle', 'rust', 2800, 48, 8],
    ['Fjord Mug', 'kitchen', 'mug', 'slate', 2300, 38, 11],
    ['Fjord Headlamp', 'light', 'headlamp', 'pine', 3900, 49, 0],
    ['Fjord Lantern', 'light', 'lantern', 'rust', 4500, 39, 3],
    ['Fjord Axe', 'tools', 'axe', 'slate', 6000, 50, 6],
    ['Fjord Knife', 'tools', 'knife', 'pine', 5700, 40, 9],
    ['Fjord Spade', 'tools', 'spade', 'rust', 3200, 30, 12],
    ['Fjord Backpack', 'carry', 'backpack', 'slate', 15900, 41, 1],
    ['Fjord Dry bag', 'carry', 'drybag', 'pine', 2400, 31, 4],
    ['Fjord Boots', 'wear', 'boots', 'rust', 14900, 42, 7],
    ['Fjord Jacket', 'wear', 'jacket', 'slate', 18000, 32, 10],
    ['Fjord Hat', 'wear', 'hat', 'pine', 2000, 43, 13],
    ['Scree Tent', 'shelter', 'tent', 'pine', 19700, 30, 3],
    ['Scree Tarp', 'shelter', 'tarp', 'rust', 7700, 41, 6],
    ['Scree Hammock', 'shelter', 'hammock', 'slate', 6800, 31, 9],
    ['Scree Sleeping bag', 'sleep', 'sleepingbag', 'pine', 12800, 42, 12],
    ['Scree Mat', 'sleep', 'mat', 'rust', 7900, 32, 1],
    ['Scree Stove', 'kitchen', 'stove', 'slate', 5400, 43, 4],
    ['Scree Pot', 'kitchen', 'pot', 'pine', 2900, 33, 7],
    ['Scree Pan', 'kitchen', 'pan', 'rust', 3500, 44, 10],
    ['Scree Kettle', 'kitchen', 'kettle', 'slate', 2300, 34, 13],
    ['Scree Mug', 'kitchen', 'mug', 'pine', 1800, 45, 2],
    ['Scree Headlamp', 'light', 'headlamp', 'rust', 3400, 35, 5],
    ['Scree Lantern', 'light', 'lantern', 'slate', 4000, 46, 8],
    ['Scree Axe', 'tools', 'axe', 'pine', 5500, 36, 11],
    ['Scree Knife', 'tools', 'knife', 'rust', 5200, 47, 0],
    ['Scree Spade', 'tools', 'spade', 'slate', 2700, 37, 3],
    ['Scree Backpack', 'carry', 'backpack', 'pine', 15400, 48, 6],
    ['Scree Dry bag', 'carry', 'drybag', 'rust', 1900, 38, 9],
    ['Scree Boots', 'wear', 'boots', 'slate', 16500, 49, 12],
    ['Scree Jacket', 'wear', 'jacket', 'pine', 17500, 39, 1],
    ['Scree Hat', 'wear', 'hat', 'rust', 3600, 50, 4]
  ]

  var KINDS = [
    ['all', 'All'], ['shelter', 'Shelter'], ['sleep', 'Sleep'], ['kitchen', 'Kitchen'],
    ['light', 'Light'], ['tools', 'Tools'], ['carry', 'Carry'], ['wear', 'Wear']
  ]

  var COLOR = { page: '#F4F1EA', card: '#FFFFFF', ink: '#22313F', faint: '#7A8691', accent: '#3B5B4C', star: '#C98A1B' }

  var current = 'all'
  var chips = {}
  var cells = []             // every cell once, in the order of GOODS; filtered ones are out of the list
  var list, header, counter

  function box (style, children) {
    var node = document.createElement('div', { attr: {}, style: style || {} })
    ;(children || []).forEach(function (child) { node.appendChild(child) })
    return node
  }

  function text (value, style) {
    return document.createElement('text', { attr: { value: value }, style: style || {} })
  }

  function money (cents) {
    var euros = Math.floor(cents / 100)
    var rest = cents % 100
    return euros + '.' + (rest < 10 ? '0' : '') + rest + ' €'
  }

  function stars (tenths) {
    var full = Math.round(tenths / 10)
    return '★★★★★'.slice(0, full) + '☆☆☆☆☆'.slice(0, 5 - full) + ' ' + (tenths / 10).toFixed(1)
  }

  function stock (pieces) {
    if (pieces === 0) return 'sold out'
    return pieces < 4 ? 'only ' + pieces + ' left' : 'in stock'
  }

  function open (index) {
    if (!navigator) return
    var good = GOODS[index]
    var base = String(weex.config.bundleUrl || '').replace(/[^/]*$/, '')
    var query = '?item=' + index + '&picture=' + good[2] + '&colour=' + good[3]
    navigator.push({ url: base + 'product.js' + query, animated: 'true' }, function () {})
  }

  function makeCell (good, index) {
    var cell = document.createElement('cell', { attr: {}, style: { width: 750 } })
    var row = box({
      flexDirection: 'row', alignItems: 'center', width: 710, height: 200, marginLeft: 20, marginTop: 12,
      backgroundColor: COLOR.card, borderRadius: 12, opacity: good[6] === 0 ? 0.6 : 1
    }, [
      document.createElement('image', {
        attr: { src: 'images/' + good[2] + '-' + good[3] + '.png', resize: 'contain' },
        style: { width: 160, height: 160, marginLeft: 20 }
      }),
      box({ width: 490, marginLeft: 20 }, [
        text(good[0], { fontSize: 32, color: COLOR.ink, lines: 1, fontWeight: 'bold' }),
        text(stars(good[5]), { fontSize: 26, color: COLOR.star, marginTop: 8 }),
        box({ flexDirection: 'row', justifyContent: 'space-between', marginTop: 12, width: 490 }, [
          text(money(good[4]), { fontSize: 34, color: COLOR.accent }),
          text(stock(good[6]), { fontSize: 26, color: COLOR.faint })
        ])
      ])
    ])
    row.addEvent('click', function () { open(index) })
    cell.appendChild(row)
    return cell
  }

  function makeHeader () {
    header = document.createElement('header', { attr: {}, style: { width: 750 } })
    var bar = box({ width: 750, backgroundColor: COLOR.accent, paddingTop: 20, paddingBottom: 20 })
    var line = box({ flexDirection: 'row', justifyContent: 'space-between', width: 710, marginLeft: 20 })
    counter = text('', { fontSize: 28, color: '#DDE6E0' })
    line.appendChild(text('Everything for outside', { fontSize: 36, color: '#FFFFFF', fontWeight: 'bold' }))
    line.appendChild(counter)
    bar.appendChild(line)
    var rows = [box({ flexDirection: 'row', width: 710, marginLeft: 20, marginTop: 16 }),
      box({ flexDirection: 'row', width: 710, marginLeft: 20, marginTop: 10 })]
    KINDS.forEach(function (kind, position) {
      var label = text(kind[1], { fontSize: 26, textAlign: 'center' })
      var chip = box({ width: 165, height: 56, marginRight: 12, borderRadius: 28, justifyContent: 'center' }, [label])
      chip.addEvent('click', function () { filter(kind[0]) })
      chips[kind[0]] = { chip: chip, label: label }
      rows[position < 4 ? 0 : 1].appendChild(chip)
    })
    rows.forEach(function (row) { bar.appendChild(row) })
    header.appendChild(bar)
    return header
  }

  function paintChips () {
    Object.keys(chips).forEach(function (kind) {
      var isOn = kind === current
      chips[kind].chip.setStyle('backgroundColor', isOn ? '#FFFFFF' : '#57776A')
      chips[kind].label.setStyle('color', isOn ? COLOR.accent : '#FFFFFF')
    })
  }

  function fits (index) { return current === 'all' || GOODS[index][1] === current }

  // Cells that leave are kept: they come back as they were.
  function filter (kind) {
    if (kind === current) return
    current = kind
    var before = null
    for (var index = GOODS.length - 1; index >= 0; index--) {
      var cell = cells[index]
      var isIn = cell.parentNode === list
      if (fits(index)) {
        if (!isIn) {
          if (before) list.insertBefore(cell, before)
          else list.appendChild(cell)
        }
        before = cell
      } else if (isIn) {
        list.removeChild(cell, true)
      }
    }
    paintChips()
    showCount()
    if (dom) dom.scrollToElement(header, { offset: 0, animated: false })
  }

  function showCount () {
    var count = 0
    for (var index = 0; index < GOODS.length; index++) { if (fits(index)) count++ }
    counter.setAttr('value', count === 1 ? '1 article' : count + ' articles')
  }

  var body = document.createBody('div', { attr: {}, style: { width: 750, backgroundColor: COLOR.page } })
  document.documentElement.appendChild(body)

  list = document.createElement('list', { attr: { loadmoreoffset: 200 }, style: { width: 750, flex: 1 } })
  list.appendChild(makeHeader())
  GOODS.forEach(function (good, index) {
    cells[index] = makeCell(good, index)
    list.appendChild(cells[index])
  })

  list.addEvent('loadmore', function () { top.setStyle('opacity', 1) })
  body.appendChild(list)

  // Faint until the end of the list is near.
  var top = box({
    position: 'absolute', right: 24, bottom: 40, width: 100, height: 100, borderRadius: 50, justifyContent: 'center',
    backgroundColor: COLOR.accent, opacity: 0.5
  }, [text('Top', { fontSize: 30, color: '#FFFFFF', textAlign: 'center' })])
  top.addEvent('click', function () { if (dom) dom.scrollToElement(header, { offset: 0, animated: true }) })
  body.appendChild(top)

  paintChips()
  showCount()
})()
