// { "framework": "Vanilla" }
// Home: a slider, the kinds of goods, and what is new.
(function () {
  'use strict'

  var document = weex.document
  var navigator = weex.requireModule('navigator')
  var storage = weex.requireModule('storage')

  var COLOR = { page: '#F4F1EA', card: '#FFFFFF', ink: '#22313F', faint: '#7A8691', accent: '#3B5B4C', warm: '#C8663B' }

  var SLIDES = [
    { picture: 'images/slide-mountains.svg', title: 'Above the clouds by noon', page: 'article.js' },
    { picture: 'images/slide-camp.svg', title: 'A tent for every night', page: 'catalogue.js' },
    { picture: 'images/slide-lake.svg', title: 'Evenings at the lake', page: 'weather.js' }
  ]

  var KINDS = [
    { name: 'Shelter', picture: 'images/tent-pine.png' },
    { name: 'Sleep', picture: 'images/sleepingbag-rust.png' },
    { name: 'Kitchen', picture: 'images/kettle-slate.png' },
    { name: 'Light', picture: 'images/lantern-rust.png' },
    { name: 'Tools', picture: 'images/axe-slate.png' },
    { name: 'Carry', picture: 'images/backpack-pine.png' },
    { name: 'Boots', picture: 'images/boots-rust.png' },
    { name: 'Wear', picture: 'images/jacket-pine.png' }
  ]

  var FEED = [
    {
      title: 'The quiet stove', page: 'product.js?picture=stove&colour=slate', picture: 'images/stove-slate.png',
      line: 'Boils half a litre in three minutes, and lets you hear the birds while it does.'
    },
    {
      title: 'What a store of pages is good for', page: 'article.js', picture: 'images/headlamp-rust.png',
      line: 'A long read for the train: why a page that was open once should open again without a net.'
    },
    {
      title: 'Hang it between two birches', page: 'product.js?picture=hammock&colour=pine', picture: 'images/hammock-pine.png',
      line: 'Four hundred grams, straps included. Rated for two people who like each other.'
    },
    {
      title: 'Will it rain on Saturday?', page: 'weather.js', picture: 'images/jacket-slate.png',
      line: 'Seven days at the lake, with the wind, and how likely you are to need the jacket.'
    },
    {
      title: 'Order by card', page: 'form.js', picture: 'images/mug-pine.png',
      line: 'Tell us what you need and where it shall go. Drafts are kept until they are sent.'
    },
    {
      title: 'Your notes from the last trip', page: 'notes.js', picture: 'images/knife-rust.png',
      line: 'They are on this device and nowhere else, with the time you wrote them.'
    }
  ]

  function box (style, children) {
    var node = document.createElement('div', { attr: {}, style: style || {} })
    ;(children || []).forEach(function (child) { node.appendChild(child) })
    return node
  }

  function text (value, style) {
    return document.createElement('text', { attr: { value: value }, style: style || {} })
  }

  function picture (src, width, height, more) {
    var style = { width: width, height: height }
    Object.keys(more || {}).forEach(function (key) { style[key] = more[key] })
    return document.createElement('image', { attr: { src: src, resize: 'cover' }, style: style })
  }

  function go (page) {
    return function () {
      if (!navigator) return
      var base = String(weex.config.bundleUrl || '').replace(/[^/]*$/, '')
      navigator.push({ url: base + page, animated: 'true' }, function () {})
    }
  }

  function makeTitleBar () {
    var visits = text('', { fontSize: 26, color: '#DDE6E0' })
    countVisit(visits)
    var gear = text('Settings', { fontSize: 28, color: '#FFFFFF' })
    gear.addEvent('click', go('settings.js'))
    return box({
      flexDirection: 'row', justifyContent: 'space-between', alignItems: 'center', width: 750, height: 110,
      paddingLeft: 24, paddingRight: 24, backgroundColor: COLOR.accent
    }, [
      box({ width: 500 }, [text('Northbound', { fontSize: 40, color: '#FFFFFF', fontWeight: 'bold' }), visits]),
      gear
    ])
  }

  // The count is shown when storage answers; until then the line is a greeting.
  function countVisit (line) {
    line.setAttr('value', 'Good to see you')
    if (!storage) return
    storage.getItem('home.visits', function (answer) {
      var before = answer && answer.result === 'success' ? parseInt(answer.data, 10) : 0
      var now = (before > 0 ? before : 0) + 1
      if (now > 1) line.setAttr('value', 'Visit number ' + now)
      storage.setItem('home.visits', String(now), function () {})
    })
  }

  function makeSlider () {
    var slider = document.createElement('slider', {
      attr: { autoPlay: true, interval: 4000, infinite: true }, style: { width: 750, height: 400 }
    })
    SLIDES.forEach(function (slide) {
      var frame = box({ width: 750, height: 400 }, [
        picture(slide.picture, 750, 400),
        box({
          position: 'absolute', left: 0, bottom: 0, width: 750, height: 90, justifyContent: 'center',
          backgroundColor: 'rgba(20,30,38,0.55)'
        }, [text(slide.title, { fontSize: 34, color: '#FFFFFF', marginLeft: 24 })])
      ])
      frame.addEvent('click', go(slide.page))
      slider.appendChild(frame)
    })
    slider.appendChild(document.createElement('indicator', {
      attr: {},
      style: {
        position: 'absolute', right: 20, bottom: 30, width: 140, height: 30, itemSize: 14, itemColor: '#B8C4CE',
        itemSelectedColor: '#FFFFFF'
      }
    }))
    return slider
  }

  function makeKinds () {
    var grid = box({ width: 750, backgroundColor: COLOR.card, paddingTop: 20, paddingBottom: 20 })
    for (var start = 0; start < KINDS.length; start += 4) {
      var row = box({ flexDirection: 'row', width: 750, marginTop: 10 })
      KINDS.slice(start, start + 4).forEach(function (kind) {
        var tile = box({ width: 187, alignItems: 'center' }, [
          picture(kind.picture, 120, 120, { borderRadius: 60 }),
          text(kind.name, { fontSize: 26, color: COLOR.ink, marginTop: 10, textAlign: 'center' })
        ])
        tile.addEvent('click', go('catalogue.js'))
        row.appendChild(tile)
      })
      grid.appendChild(row)
    }
    return grid
  }

  function makeCard (story) {
    var card = box({
      flexDirection: 'row', width: 710, marginLeft: 20, marginTop: 20, padding: 20, backgroundColor: COLOR.card,
      borderRadius: 14
    }, [
      picture(story.picture, 180, 180, { borderRadius: 10 }),
      box({ width: 470, marginLeft: 20 }, [
        text(story.title, { fontSize: 34, color: COLOR.ink, fontWeight: 'bold', lines: 2 }),
        text(story.line, { fontSize: 26, color: COLOR.faint, marginTop: 10, lines: 3, lineHeight: 36 }),
        text('Read on', { fontSize: 26, color: COLOR.warm, marginTop: 10 })
      ])
    ])
    card.addEvent('click', go(story.page))
    return card
  }

  var body = document.createBody('scroller', { attr: {}, style: { width: 750, backgroundColor: COLOR.page } })
  document.documentElement.appendChild(body)
  body.appendChild(makeTitleBar())
  body.appendChild(makeSlider())
  body.appendChild(makeKinds())
  body.appendChild(text('New this week', {
    fontSize: 36, color: COLOR.ink, fontWeight: 'bold', marginTop: 30, marginLeft: 24
  }))
  FEED.forEach(function (story) { body.appendChild(makeCard(story)) })
  body.appendChild(text('Opened from ' + (weex.config.bundleUrl || 'this device'), {
    fontSize: 22, color: COLOR.faint, width: 702, marginLeft: 24, marginTop: 30, marginBottom: 40, lines: 2
  }))
})()
