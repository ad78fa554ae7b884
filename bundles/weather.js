// { "framework": "Vanilla" }
// Weather: a card with the current conditions and a table of seven days.
// The host may answer one request more than once, first from its cache and
// then with fresher data, so drawing starts from the data every time.
(function () {
  'use strict'

  var document = weex.document
  var stream = weex.requireModule('stream')

  var DATA_URL = 'data/weather.json'
  var DAY_COUNT = 7
  var WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

  // Only these pictures exist; an unknown condition is drawn as a cloud.
  var ICONS = {
    sun: 'images/sun.svg',
    cloud: 'images/cloud.svg',
    rain: 'images/rain.svg',
    snow: 'images/snow.svg',
    wind: 'images/wind.svg'
  }

  var COLOR = {
    page: '#EAF1F7', card: '#FFFFFF', ink: '#22313F', faint: '#74879A', line: '#E1E9F0',
    accent: '#2F6FA8', deep: '#2B5F8F', onDeep: '#FFFFFF', onDeepFaint: '#C7DBEC',
    cold: '#3F8FD9', warm: '#D9822B', bad: '#A93B32', badSoft: '#FBEAE8', note: '#8A6A1F', noteSoft: '#FBF3DC'
  }

  var request = 0            // the latest request; answers to earlier ones are dropped
  var loading = false
  var shown = null           // the data on the screen

  // ---------------------------------------------------------------- helpers

  function box (style, children) {
    var node = document.createElement('div', { attr: {}, style: style || {} })
    ;(children || []).forEach(function (child) { node.appendChild(child) })
    return node
  }

  function text (value, style) {
    return document.createElement('text', { attr: { value: value }, style: style || {} })
  }

  function icon (condition, size) {
    return document.createElement('image', {
      attr: { src: iconFor(condition), resize: 'contain' },
      style: { width: size, height: size }
    })
  }

  function iconFor (condition) {
    return ICONS.hasOwnProperty(condition) ? ICONS[condition] : ICONS.cloud
  }

  function isNumber (value) {
    return typeof value === 'number' && isFinite(value)
  }

  // "–" where the data has no number, and a real minus sign for a negative one.
  function number (value, unit) {
    if (!isNumber(value)) return '–'
    var rounded = Math.round(value * 10) / 10
    return (rounded < 0 ? '−' : '') + Math.abs(rounded) + (unit ? (unit.charAt(0) === '°' ? unit : ' ' + unit) : '')
  }

  function whole (value, unit) {
    return number(isNumber(value) ? Math.round(value) : value, unit)
  }

  function word (value, fallback) {
    return typeof value === 'string' && value ? value : fallback
  }

  function two (value) {
    return value < 10 ? '0' + value : String(value)
  }

  // "2025-03-14" is read as that calendar day, whatever the time zone.
  function dayName (date, index) {
    var parts = /^(\d{4})-(\d{2})-(\d{2})/.exec(String(date))
    if (!parts) return 'Day ' + (index + 1)
    var day = new Date(Date.UTC(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3])))
    return WEEKDAYS[day.getUTCDay()]
  }

  function dayDate (date) {
    var parts = /^(\d{4})-(\d{2})-(\d{2})/.exec(String(date))
    return parts ? Number(parts[3]) + '.' + Number(parts[2]) + '.' : ' '
  }

  function timeLine (updated) {
    var date = new Date(updated)
    if (isNaN(date.getTime())) return 'time unknown'
    return date.getUTCFullYear() + '-' + two(date.getUTCMonth() + 1) + '-' + two(date.getUTCDate()) +
      ' ' + two(date.getUTCHours()) + ':' + two(date.getUTCMinutes()) + ' UTC'
  }

  // --------------------------------------------------------------- page frame

  var placeText = text('Weather', { width: 520, fontSize: 48, fontWeight: 'bold', lines: 1, color: COLOR.ink })
  var updatedText = text('Loading …', { width: 520, fontSize: 24, lines: 1, marginTop: 6, color: COLOR.faint })
  var refreshLabel = text('Refresh', { fontSize: 26, color: COLOR.accent })
  var refreshButton = box({
    width: 160, height: 68, borderRadius: 34, backgroundColor: COLOR.card, alignItems: 'center', justifyContent: 'center'
  }, [refreshLabel])
  refreshButton.addEvent('click', function () { load() })

  var noticeText = text('Up to date', { width: 646, fontSize: 26, lineHeight: 36, lines: 2, color: COLOR.note })
  var notice = box({
    width: 702, height: 0, marginTop: 0, opacity: 0, overflow: 'hidden', paddingLeft: 28, paddingRight: 28,
    justifyContent: 'center', borderRadius: 12, backgroundColor: COLOR.noteSoft
  }, [noticeText])

  // Everything that depends on the data is inside this one element.
  var content = box({ width: 702, marginTop: 24 })

  function showNotice (message) {
    if (message) noticeText.setAttr('value', message)
    notice.setStyle('height', message ? 100 : 0)
    notice.setStyle('marginTop', message ? 24 : 0)
    notice.setStyle('opacity', message ? 1 : 0)
  }

  function setLoading (value) {
    loading = value
    refreshLabel.setAttr('value', value ? 'Loading' : 'Refresh')
    refreshButton.setStyle('opacity', value ? 0.6 : 1)
  }

  function fill (children) {
    content.clear()
    children.forEach(function (child) { content.appendChild(child) })
  }

  // ------------------------------------------------------------------ drawing

  function drawWaiting () {
    fill([
      box({ width: 702, height: 360, borderRadius: 20, backgroundColor: '#D6E3EE', alignItems: 'center', justifyContent: 'center' }, [
        text('Looking at the sky …', { fontSize: 30, color: COLOR.faint })
      ]),
      box({ width: 702, height: 560, borderRadius: 20, marginTop: 24, backgroundColor: '#DFE9F2' })
    ])
  }

  function drawError (message) {
    var retry = box({
      width: 300, height: 84, marginTop: 32, borderRadius: 42, backgroundColor: COLOR.accent,
      alignItems: 'center', justifyContent: 'center'
    }, [text('Try again', { fontSize: 30, color: COLOR.onDeep })])
    retry.addEvent('click', function () { load() })

    updatedText.setAttr('value', 'No data')
    fill([
      box({
        width: 702, paddingTop: 48, paddingBottom: 48, paddingLeft: 28, paddingRight: 28,
        borderRadius: 20, backgroundColor: COLOR.badSoft, alignItems: 'center'
      }, [
        icon('cloud', 120),
        text('The weather did not arrive', { width: 646, fontSize: 34, fontWeight: 'bold', textAlign: 'center', marginTop: 20, color: COLOR.bad }),
        text(message, { width: 646, fontSize: 26, lineHeight: 38, lines: 3, textAlign: 'center', marginTop: 12, color: COLOR.ink }),
        retry
      ])
    ])
  }

  function currentCard (data) {
    var now = data.current
    var units = data.units

    function fact (title, value) {
      return box({ width: 206, marginTop: 24 }, [
        text(title, { width: 206, fontSize: 22, lines: 1, color: COLOR.onDeepFaint }),
        text(value, { width: 206, fontSize: 28, lines: 1, marginTop: 4, color: COLOR.onDeep })
      ])
    }

    return box({
      width: 702, borderRadius: 20, paddingTop: 32, paddingBottom: 32, paddingLeft: 28, paddingRight: 28,
      backgroundColor: COLOR.deep
    }, [
      box({ width: 646, flexDirection: 'row', alignItems: 'center' }, [
        icon(now.condition, 176),
        box({ width: 446, marginLeft: 24 }, [
          text(number(now.temperature, units.temperature), { width: 446, fontSize: 84, lines: 1, color: COLOR.onDeep }),
          text(word(now.summary, 'Current conditions'), { width: 446, fontSize: 30, lines: 2, marginTop: 4, color: COLOR.onDeepFaint })
        ])
      ]),
      box({ width: 646, marginTop: 8, flexDirection: 'row', justifyContent: 'space-between' }, [
        fact('Feels like', number(now.feelsLike, units.temperature)),
        fact('Humidity', whole(now.humidity, '%')),
        fact('Wind', whole(now.wind, units.wind) + (word(now.windDirection, '') ? ' ' + now.windDirection : ''))
      ]),
      box({ width: 646, flexDirection: 'row', justifyContent: 'space-between' }, [
        fact('Pressure', whole(now.pressure, 'hPa')),
        fact('Sunrise', word(now.sunrise, '–')),
        fact('Sunset', word(now.sunset, '–'))
      ])
    ])
  }

  // One scale for the whole week, so that the bars of the days compare.
  function weekScale (days) {
    var low = Infinity
    var high = -Infinity
    days.forEach(function (day) {
      if (isNumber(day.low)) low = Math.min(low, day.low)
      if (isNumber(day.high)) high = Math.max(high, day.high)
    })
    return { low: low, span: Math.max(1, high - low) }
  }

  function rangeBar (day, scale) {
    var width = 116
    var track = box({ width: width, height: 10, borderRadius: 5, backgroundColor: COLOR.line })
    if (!isNumber(day.low) || !isNumber(day.high) || day.high < day.low) return track
    var left = Math.round((width - 10) * (day.low - scale.low) / scale.span)
    var length = Math.round((width - 10) * (day.high - day.low) / scale.span) + 10
    track.appendChild(box({
      width: Math.min(length, width - left), height: 10, marginLeft: left, borderRadius: 5,
      backgroundColor: (day.low + day.high) / 2 < 5 ? COLOR.cold : COLOR.warm
    }))
    return track
  }

  // The columns of a row add up to 646: 172 + 76 + 138 + 64 + 132 + 64.
  function tableHead (units) {
    function head (value, width, align) {
      return text(value, { width: width, fontSize: 22, lines: 1, textAlign: align, color: COLOR.faint })
    }
    return box({ width: 646, height: 44, flexDirection: 'row', alignItems: 'center' }, [
      head('Day', 248, 'left'),
      head('Rain, wind', 138, 'left'),
      head('Low', 64, 'right'),
      head(units.temperature, 132, 'center'),
      head('High', 64, 'left')
    ])
  }

  function dayRow (day, index, scale, units) {
    return box({
      width: 646, height: 104, flexDirection: 'row', alignItems: 'center',
      borderTopWidth: 2, borderTopColor: COLOR.line
    }, [
      box({ width: 172 }, [
        text(index === 0 ? 'Today' : dayName(day.date, index), { width: 172, fontSize: 28, lines: 1, color: COLOR.ink }),
        text(dayDate(day.date), { width: 172, fontSize: 22, lines: 1, marginTop: 4, color: COLOR.faint })
      ]),
      box({ width: 76 }, [icon(day.condition, 64)]),
      box({ width: 138 }, [
        text(number(day.rain, units.rain), { width: 138, fontSize: 24, lines: 1, color: day.rain > 0 ? COLOR.cold : COLOR.faint }),
        text(whole(day.wind, units.wind), { width: 138, fontSize: 22, lines: 1, marginTop: 4, color: COLOR.faint })
      ]),
      text(whole(day.low, '°'), { width: 64, fontSize: 28, lines: 1, textAlign: 'right', color: COLOR.faint }),
      box({ width: 132, alignItems: 'center' }, [rangeBar(day, scale)]),
      text(whole(day.high, '°'), { width: 64, fontSize: 28, lines: 1, color: COLOR.ink })
    ])
  }

  function weekTable (data) {
    var scale = weekScale(data.days)
    var rows = data.days.map(function (day, index) {
      return dayRow(day, index, scale, data.units)
    })
    return box({
      width: 702, marginTop: 24, paddingTop: 28, paddingBottom: 16, paddingLeft: 28, paddingRight: 28,
      borderRadius: 20, backgroundColor: COLOR.card
    }, [
      text('Seven days', { fontSize: 30, fontWeight: 'bold', color: COLOR.ink, marginBottom: 12 }),
      tableHead(data.units)
    ].concat(rows))
  }

  function draw (data) {
    shown = data
    placeText.setAttr('value', data.place)
    updatedText.setAttr('value', 'Updated ' + timeLine(data.updated))
    fill([currentCard(data), weekTable(data)])
  }

  // ------------------------------------------------------------------ loading

  // Gives the data in the shape that drawing relies on, or null.
  function readable (data) {
    if (!data || typeof data !== 'object' || !data.current || typeof data.current !== 'object') return null
    var days = (Array.isArray(data.days) ? data.days : []).filter(function (day) {
      return !!day && typeof day === 'object'
    }).slice(0, DAY_COUNT)
    if (!days.length) return null
    var units = data.units && typeof data.units === 'object' ? data.units : {}
    return {
      place: word(data.place, 'Weather'),
      updated: word(data.updated, ''),
      units: {
        temperature: word(units.temperature, '°C'),
        wind: word(units.wind, 'km/h'),
        rain: word(units.rain, 'mm')
      },
      current: data.current,
      days: days
    }
  }

  function isOlder (data, than) {
    var left = Date.parse(data.updated)
    var right = Date.parse(than.updated)
    return !isNaN(left) && !isNaN(right) && left < right
  }

  function fail (message) {
    if (shown) {
      showNotice('No fresh data: ' + message)
    } else {
      drawError(message)
    }
  }

  function take (response) {
    var status = Number(response && response.status)
    if (!response || status === -1) {
      fail('There seems to be no connection.')
      return
    }
    if (!response.ok) {
      fail('The server answered ' + status + '.')
      return
    }
    var data = readable(response.data)
    if (!data) {
      fail('The answer could not be read.')
      return
    }
    showNotice('')
    // A slow cache must not replace what is newer.
    if (shown && isOlder(data, shown)) return
    draw(data)
  }

  function load () {
    if (loading) return
    if (!stream) {
      fail('This app has no network module.')
      return
    }
    request += 1
    var current = request
    setLoading(true)
    if (!shown) {
      updatedText.setAttr('value', 'Loading …')
      drawWaiting()
    }
    stream.fetch({
      method: 'GET',
      url: DATA_URL,
      type: 'json',
      timeout: 10000,
      headers: { 'Accept': 'application/json' }
    }, function (response) {
      if (current !== request) return
      setLoading(false)
      take(response)
    })
  }

  // --------------------------------------------------------------------- page

  var body = document.createBody('div', { attr: {}, style: { width: 750, backgroundColor: COLOR.page } })
  var scroller = document.createElement('scroller', {
    attr: { scrollDirection: 'vertical', showScrollbar: 'true' },
    style: { width: 750, flex: 1 }
  })
  scroller.appendChild(box({ width: 702, marginLeft: 24, marginRight: 24, marginTop: 48, marginBottom: 48 }, [
    box({ width: 702, flexDirection: 'row', alignItems: 'center', justifyContent: 'space-between' }, [
      box({ width: 526 }, [placeText, updatedText]),
      refreshButton
    ]),
    notice,
    content
  ]))
  body.appendChild(scroller)
  document.documentElement.appendChild(body)
  load()
})()
