// { "framework": "Vanilla" }
// Article: a long read with pictures, a size switch, and a bar that shows how far one is.
(function () {
  'use strict'

  var document = weex.document
  var storage = weex.requireModule('storage')

  var COLOR = { page: '#FBF9F4', ink: '#2A2F33', faint: '#7D858C', accent: '#A4472F', line: '#E5DFD3' }
  var SIZES = { small: 26, medium: 30, large: 36 }

  var ARTICLE = [
    ['title', 'The shelf and the lighthouse'],
    ['lead', 'Why a page that was open once should open again without a net, and what it takes to keep that promise.'],
    ['picture', 'images/article-tower.svg', 'A light that goes out when the cable is cut is no lighthouse.'],
    ['text', 'The keepers of lighthouses had a rule that is older than electricity: the light must not depend on the ' +
      'land. Oil was stored in the tower for a whole winter, wicks were cut in advance, the clockwork that turned the ' +
      'lens was wound by hand and could be wound by anyone who could climb the stairs. A ship at night does not care ' +
      'why a light is out. It only sees that it is.'],
    ['text', 'A screen in somebody\'s hand is in the same position. It was promised to be there. When it is white, ' +
      'nobody asks whether the tunnel, the mast or the server is to blame. What was promised is not there, and the ' +
      'thumb goes back to where it came from.'],
    ['heading', 'What a page is made of'],
    ['text', 'A page of the kind you are reading now is a small program. It says what stands where, in which size and ' +
      'colour, what happens when something is touched, and where the pictures are. Before it runs it must be here, and ' +
      'before it is here it must be fetched: a name is looked up, a connection made, keys are exchanged, a question is ' +
      'sent, an answer waited for. On a good day that takes less time than reading this sentence. On a train it takes ' +
      'as long as the tunnel.'],
    ['text', 'The program itself seldom changes. It may be the same for weeks, while it is fetched anew every morning ' +
      'by everyone who opens it. So the first idea of everybody who has ever waited for a page is a shelf: put it there ' +
      'when it comes, and look there first.'],
    ['picture', 'images/article-shelf.svg', 'A shelf is easy to fill. Knowing what is still true on it is the work.'],
    ['heading', 'The trouble with shelves'],
    ['text', 'The first trouble is age. What is on the shelf was true when it was put there. A price, a timetable, a ' +
      'mended fault: the newer page exists, and the older one looks just as confident. One could ask the server each ' +
      'time, but then one waits each time, and the shelf was pointless. One could never ask, but then nothing is ever ' +
      'mended. A rule that works well lies in between: ask once when the application starts, for everything at once, ' +
      'and remember the answer until it is started again. One short question, and a list of fingerprints comes back. ' +
      'Whatever has the right fingerprint may be used at once, the whole day long.'],
    ['text', 'The second trouble is damage. Discs fill up in the middle of a sentence. Batteries end between two words. ' +
      'A phone that went dark while it was writing wakes up with a file of the right name and the right length that is ' +
      'full of nothing. Programs that only look whether the file is there will run that nothing again and again, and ' +
      'the person who holds the phone will see white again and again, until the application is removed in anger. The ' +
      'fingerprint helps here too, if one takes the trouble to compare it with what is really on the disc and not with ' +
      'what one believes to have written.'],
    ['rich', [
      ['The third trouble is ', false], ['politeness', true], [': a server that has lost a page often does not say so. ' +
      'It answers that all is well, and sends a friendly page of apology in its place. Put on the shelf under the old ' +
      'name, the apology is what opens from then on, with the net and without.', false]
    ]],
    ['heading', 'Winter stores'],
    ['text', 'The keepers did not carry oil up the stairs when the lamp began to flicker. They did it in autumn. A page ' +
      'that will be needed can be fetched before it is needed, while the person is still looking at another one, and ' +
      'with it the pictures and the few figures it will ask for. It should be done quietly: not all at once, not on the ' +
      'last percent of a battery, not on a connection that is paid by the minute, and it must get out of the way as ' +
      'soon as somebody really opens something.'],
    ['text', 'And it should be done whole. A shelf on which half of the pages are from this week and half from the last ' +
      'is worse than an old one, because the halves were never meant to meet. So the new things are put aside until the ' +
      'last of them has come, and then the shelf is turned round in one movement. Until that moment everything opens ' +
      'from the old side, and after it everything from the new. There is no instant at which the light is out.'],
    ['heading', 'What remains to be said'],
    ['text', 'None of this is new. It has been written by hand in a hundred applications, on long evenings, each time ' +
      'by somebody who had just seen a white screen at the worst of moments. Most of them got the first half right, and ' +
      'learned of the second half from their users. The keepers would have understood: they wrote down every night in a ' +
      'book when the light was lit, how it burned, and when it was put out, so that the next one would not have to find ' +
      'out again.'],
    ['text', 'If you can read this on a train, in a tunnel, on the second floor of a tower with the cable cut, then ' +
      'somebody carried the oil upstairs in time. If you noticed nothing at all, they did it well.'],
    ['note', 'Written for the shop\'s reading corner. The pictures were drawn for this article.']
  ]

  var size = 'medium'
  var scalable = []          // [node, factor]
  var buttons = {}
  var bar, percent
  var height = 0

  function box (style, children) {
    var node = document.createElement('div', { attr: {}, style: style || {} })
    ;(children || []).forEach(function (child) { node.appendChild(child) })
    return node
  }

  function text (value, style, factor) {
    var node = document.createElement('text', { attr: { value: value }, style: style || {} })
    if (factor) scalable.push([node, factor])
    return node
  }

  var make = {
    title: function (value) {
      return text(value, { fontWeight: 'bold', color: COLOR.ink, marginTop: 30 }, 1.7)
    },
    lead: function (value) {
      return text(value, { color: COLOR.faint, marginTop: 16, marginBottom: 10 }, 1.1)
    },
    heading: function (value) {
      return text(value, { fontWeight: 'bold', color: COLOR.accent, marginTop: 40 }, 1.3)
    },
    text: function (value) {
      return text(value, { color: COLOR.ink, marginTop: 20 }, 1)
    },
    note: function (value) {
      return text(value, { color: COLOR.faint, marginTop: 40, marginBottom: 60, fontStyle: 'italic' }, 0.85)
    },
    picture: function (src, caption) {
      return box({ marginTop: 30 }, [
        document.createElement('image', {
          attr: { src: src, resize: 'cover', alt: caption }, style: { width: 702, height: 393, borderRadius: 10 }
        }),
        text(caption, { color: COLOR.faint, marginTop: 10 }, 0.8)
      ])
    },
    rich: function (runs) {
      var node = document.createElement('richtext', { attr: {}, style: { marginTop: 20, width: 702 } })
      runs.forEach(function (run) {
        var span = document.createElement('span', {
          attr: { value: run[0] }, style: run[1] ? { color: COLOR.accent, fontWeight: 'bold' } : { color: COLOR.ink }
        })
        scalable.push([span, 1])
        node.appendChild(span)
      })
      return node
    }
  }

  function setSize (name) {
    size = SIZES.hasOwnProperty(name) ? name : 'medium'
    scalable.forEach(function (entry) {
      var points = Math.round(SIZES[size] * entry[1])
      entry[0].setStyle('fontSize', points)
      entry[0].setStyle('lineHeight', Math.round(points * 1.5))
    })
    Object.keys(buttons).forEach(function (key) {
      buttons[key].setStyle('color', key === size ? COLOR.accent : COLOR.faint)
    })
  }

  function choose (name) {
    return function () {
      setSize(name)
      if (storage) storage.setItem('article.size', name, function () {})
    }
  }

  // Scroll events tell the offset of the content, which is negative below the top.
  function onScroll (event) {
    if (!event || !event.contentOffset || !event.contentSize) return
    height = event.contentSize.height || height
    var room = Math.max(1, height - 1200)
    var share = Math.max(0, Math.min(1, -event.contentOffset.y / room))
    bar.setStyle('width', Math.round(750 * share))
    percent.setAttr('value', Math.round(share * 100) + ' %')
  }

  var body = document.createBody('div', { attr: {}, style: { width: 750, backgroundColor: COLOR.page } })
  document.documentElement.appendChild(body)

  bar = box({ width: 0, height: 6, backgroundColor: COLOR.accent })
  percent = text('0 %', { fontSize: 24, color: COLOR.faint, width: 90, textAlign: 'right' })
  var sizes = box({ flexDirection: 'row', alignItems: 'center' })
  ;[['small', 24], ['medium', 32], ['large', 42]].forEach(function (entry) {
    var button = text('A', { fontSize: entry[1], width: 70, textAlign: 'center', color: COLOR.faint })
    button.addEvent('click', choose(entry[0]))
    buttons[entry[0]] = button
    sizes.appendChild(button)
  })
  body.appendChild(box({ width: 750, height: 6, backgroundColor: COLOR.line }, [bar]))
  body.appendChild(box({
    flexDirection: 'row', justifyContent: 'space-between', alignItems: 'center', width: 702, height: 80, marginLeft: 24
  }, [sizes, percent]))

  var scroller = document.createElement('scroller', { attr: {}, style: { width: 750, flex: 1 } })
  var column = box({ width: 702, marginLeft: 24 })
  ARTICLE.forEach(function (part) { column.appendChild(make[part[0]](part[1], part[2])) })
  scroller.appendChild(column)
  scroller.addEvent('scroll', onScroll)
  body.appendChild(scroller)

  setSize('medium')
  if (storage) {
    storage.getItem('article.size', function (answer) {
      if (answer && answer.result === 'success') setSize(answer.data)
    })
  }
})()
