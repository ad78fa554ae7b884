// { "framework": "Vanilla" }
// Settings: the language, switches kept in storage, news of changes to other
// open pages over a BroadcastChannel, and what the host says about itself.
(function () {
  'use strict'

  var document = weex.document
  var storage = weex.requireModule('storage')
  var locale = weex.requireModule('locale')
  var globalEvent = weex.requireModule('globalEvent')
  var modal = weex.requireModule('modal')

  var STORE_KEY = 'settings.v1'
  var CHANNEL = 'settings'
  var FALLBACK_LANGUAGE = 'en'

  var COLOR = {
    page: '#F2F2F6', card: '#FFFFFF', ink: '#26262E', faint: '#85858F', line: '#E8E8EE',
    accent: '#5A55C8', accentSoft: '#ECEBFA', bad: '#B23A48'
  }

  var LANGUAGES = [
    { code: 'auto', title: null },
    { code: 'en', title: 'English' },
    { code: 'de', title: 'Deutsch' },
    { code: 'fr', title: 'Français' },
    { code: 'zh', title: '中文' }
  ]

  var WORDS = {
    en: {
      title: 'Settings', language: 'Language', auto: 'As the device', switches: 'Preferences',
      notify: 'Notifications', notifyHint: 'Tell me when an order is on its way',
      images: 'Save data', imagesHint: 'Load pictures only on Wi-Fi',
      large: 'Larger text', largeHint: 'Reading pages use bigger letters',
      preload: 'Load ahead', preloadHint: 'Fetch likely pages before they are opened',
      about: 'About', events: 'Messages', reset: 'Reset settings', resetAsk: 'Set everything back to how it was at first?',
      ok: 'Reset', cancel: 'Cancel', saved: 'Saved', unsaved: 'Could not be saved', reading: 'Reading …',
      memory: 'Kept until the page closes', none: 'Nothing yet', fresh: 'As delivered, nothing changed yet', unknown: 'unknown',
      active: 'The app came to the front', inactive: 'The app went to the back',
      langEvent: 'The device language changed', other: 'Changed on another page', sent: 'Other pages were told',
      noChannel: 'Other pages cannot be told here', device: 'Device language: '
    },
    de: {
      title: 'Einstellungen', language: 'Sprache', auto: 'Wie das Gerät', switches: 'Vorlieben',
      notify: 'Mitteilungen', notifyHint: 'Melden, wenn Bestelltes unterwegs ist',
      images: 'Daten sparen', imagesHint: 'Bilder nur im WLAN laden',
      large: 'Größere Schrift', largeHint: 'Leseseiten nutzen größere Buchstaben',
      preload: 'Vorausladen', preloadHint: 'Wahrscheinliche Seiten vorher holen',
      about: 'Über', events: 'Meldungen', reset: 'Zurücksetzen', resetAsk: 'Alles auf den Anfang zurücksetzen?',
      ok: 'Zurücksetzen', cancel: 'Abbrechen', saved: 'Gespeichert', unsaved: 'Nicht gespeichert', reading: 'Wird gelesen …',
      memory: 'Gilt, bis die Seite schließt', none: 'Noch nichts', fresh: 'Wie geliefert, noch nichts geändert', unknown: 'unbekannt',
      active: 'Die App ist wieder vorn', inactive: 'Die App ging nach hinten',
      langEvent: 'Die Gerätesprache hat gewechselt', other: 'Auf einer anderen Seite geändert', sent: 'Andere Seiten wissen es',
      noChannel: 'Andere Seiten sind hier nicht erreichbar', device: 'Gerätesprache: '
    },
    fr: {
      title: 'Réglages', language: 'Langue', auto: 'Celle de l’appareil', switches: 'Préférences',
      notify: 'Notifications', notifyHint: 'M’avertir quand une commande part',
      images: 'Économie de données', imagesHint: 'Charger les images en Wi-Fi seulement',
      large: 'Texte plus grand', largeHint: 'Des lettres plus grandes à la lecture',
      preload: 'Préchargement', preloadHint: 'Charger d’avance les pages probables',
      about: 'À propos', events: 'Messages', reset: 'Réinitialiser', resetAsk: 'Tout remettre comme au début ?',
      ok: 'Réinitialiser', cancel: 'Annuler', saved: 'Enregistré', unsaved: 'Non enregistré', reading: 'Lecture …',
      memory: 'Valable jusqu’à la fermeture', none: 'Rien pour le moment', fresh: 'D’origine, rien n’est modifié', unknown: 'inconnu',
      active: 'L’application est au premier plan', inactive: 'L’application est à l’arrière-plan',
      langEvent: 'La langue de l’appareil a changé', other: 'Modifié sur une autre page', sent: 'Les autres pages sont informées',
      noChannel: 'Autres pages injoignables ici', device: 'Langue de l’appareil : '
    },
    zh: {
      title: '设置', language: '语言', auto: '跟随设备', switches: '偏好',
      notify: '通知', notifyHint: '订单发货时提醒我',
      images: '节省流量', imagesHint: '仅在 Wi-Fi 下加载图片',
      large: '大号文字', largeHint: '阅读页面使用更大的字',
      preload: '预加载', preloadHint: '提前获取可能打开的页面',
      about: '关于', events: '消息', reset: '恢复默认', resetAsk: '将所有设置恢复为初始状态？',
      ok: '恢复', cancel: '取消', saved: '已保存', unsaved: '无法保存', reading: '正在读取…',
      memory: '页面关闭前有效', none: '暂无', fresh: '默认设置，尚未更改', unknown: '未知',
      active: '应用回到前台', inactive: '应用进入后台',
      langEvent: '设备语言已更改', other: '已在其他页面更改', sent: '已通知其他页面',
      noChannel: '此处无法通知其他页面', device: '设备语言：'
    }
  }

  var SWITCHES = ['notify', 'images', 'large', 'preload']

  function defaults () {
    return { language: 'auto', notify: true, images: false, large: false, preload: true }
  }

  var settings = defaults()
  var deviceLanguage = ''
  var changedHere = false      // a late answer from storage must not undo a tap
  var channel = null

  // ---------------------------------------------------------------- helpers

  function box (style, children) {
    var node = document.createElement('div', { attr: {}, style: style || {} })
    ;(children || []).forEach(function (child) { node.appendChild(child) })
    return node
  }

  function text (value, style) {
    return document.createElement('text', { attr: { value: value }, style: style || {} })
  }

  // Texts that follow the language: [element, key of WORDS]
  var translated = []

  function wordText (key, style) {
    var node = text(t(key), style)
    translated.push([node, key])
    return node
  }

  // "de-AT", "zh_Hans_CN" and "EN" all name one of the languages above.
  function baseLanguage (tag) {
    var base = String(tag || '').toLowerCase().split(/[-_]/)[0]
    return WORDS.hasOwnProperty(base) ? base : ''
  }

  function activeLanguage () {
    if (settings.language !== 'auto') return baseLanguage(settings.language) || FALLBACK_LANGUAGE
    return baseLanguage(deviceLanguage) || FALLBACK_LANGUAGE
  }

  function t (key) {
    return WORDS[activeLanguage()][key]
  }

  function two (number) {
    return number < 10 ? '0' + number : String(number)
  }

  function clock () {
    var now = new Date()
    return two(now.getHours()) + ':' + two(now.getMinutes()) + ':' + two(now.getSeconds())
  }

  function card (titleKey, children) {
    return box({
      width: 702, marginTop: 24, paddingTop: 28, paddingBottom: 20, paddingLeft: 28, paddingRight: 28,
      backgroundColor: COLOR.card, borderRadius: 16
    }, [
      wordText(titleKey, { width: 646, fontSize: 26, fontWeight: 'bold', lines: 1, color: COLOR.accent, marginBottom: 8 })
    ].concat(children))
  }

  // ------------------------------------------------------------------ status

  var statusKey = 'reading'
  var statusText = text(t('reading'), { width: 702, fontSize: 24, lines: 1, marginTop: 8, color: COLOR.faint })

  function showStatus (key) {
    statusKey = key
    statusText.setAttr('value', t(key))
    statusText.setStyle('color', key === 'unsaved' ? COLOR.bad : COLOR.faint)
  }

  // ---------------------------------------------------------------- messages

  var LOG_SIZE = 5
  var log = []                 // { time, key, detail }, the latest first
  var logTexts = []

  function logCard () {
    for (var i = 0; i < LOG_SIZE; i++) {
      logTexts.push(text(i === 0 ? t('none') : ' ', {
        width: 646, height: 44, fontSize: 24, lineHeight: 44, lines: 1, textOverflow: 'ellipsis', color: COLOR.faint
      }))
    }
    return card('events', logTexts)
  }

  function drawLog () {
    logTexts.forEach(function (node, index) {
      var entry = log[index]
      node.setAttr('value', entry
        ? entry.time + '  ' + t(entry.key) + (entry.detail ? ' (' + entry.detail + ')' : '')
        : index === 0 ? t('none') : ' ')
    })
  }

  function addLog (key, detail) {
    log.unshift({ time: clock(), key: key, detail: detail || '' })
    log.length = Math.min(log.length, LOG_SIZE)
    drawLog()
  }

  // ---------------------------------------------------------------- language

  var languageRows = {}        // code -> { mark, label }
  var deviceText = text(' ', { width: 646, fontSize: 24, lines: 1, marginTop: 12, marginBottom: 8, color: COLOR.faint })

  function languageCard () {
    var children = LANGUAGES.map(function (language, index) {
      var mark = text(' ', { width: 60, fontSize: 30, textAlign: 'right', color: COLOR.accent })
      var label = text(language.title || t('auto'), { width: 560, fontSize: 30, lines: 1, color: COLOR.ink })
      var row = box({
        width: 646, height: 84, flexDirection: 'row', alignItems: 'center', justifyContent: 'space-between',
        borderTopWidth: index === 0 ? 0 : 2, borderTopColor: COLOR.line
      }, [label, mark])
      row.addEvent('click', function () { change('language', language.code) })
      languageRows[language.code] = { mark: mark, label: label }
      return row
    })
    return card('language', children.concat([deviceText]))
  }

  function drawLanguage () {
    translated.forEach(function (pair) {
      pair[0].setAttr('value', t(pair[1]))
    })
    LANGUAGES.forEach(function (language) {
      var row = languageRows[language.code]
      var chosen = settings.language === language.code
      row.label.setAttr('value', language.title || t('auto'))
      row.label.setStyle('color', chosen ? COLOR.accent : COLOR.ink)
      row.mark.setAttr('value', chosen ? '✓' : ' ')
    })
    deviceText.setAttr('value', t('device') + (deviceLanguage || t('unknown')))
    statusText.setAttr('value', t(statusKey))
    drawLog()
  }

  function askLanguage () {
    if (!locale) {
      drawLanguage()
      return
    }
    locale.getLanguage(function (language) {
      deviceLanguage = typeof language === 'string' ? language : ''
      drawLanguage()
    })
  }

  // ---------------------------------------------------------------- switches

  var controls = {}

  function switchCard () {
    return card('switches', SWITCHES.map(function (name, index) {
      var control = document.createElement('switch', { attr: { checked: settings[name] }, style: {} })
      control.addEvent('change', function (event) {
        change(name, !!(event && (event.value === true || event.value === 'true')))
      })
      controls[name] = control
      return box({
        width: 646, height: 116, flexDirection: 'row', alignItems: 'center', justifyContent: 'space-between',
        borderTopWidth: index === 0 ? 0 : 2, borderTopColor: COLOR.line
      }, [
        box({ width: 520 }, [
          wordText(name, { width: 520, fontSize: 30, lines: 1, color: COLOR.ink }),
          wordText(name + 'Hint', { width: 520, fontSize: 24, lines: 1, marginTop: 6, color: COLOR.faint })
        ]),
        control
      ])
    }))
  }

  // What the user flipped is not always mirrored on the element, and setting
  // an equal value is skipped: go through the other one.
  function drawSwitches () {
    SWITCHES.forEach(function (name) {
      var control = controls[name]
      if (control.attr.checked === settings[name]) control.setAttr('checked', !settings[name])
      control.setAttr('checked', settings[name])
    })
  }

  // ------------------------------------------------------- changing, keeping

  function change (name, value) {
    if (settings[name] === value) return
    settings[name] = value
    changedHere = true
    if (name === 'language') drawLanguage()
    save()
    tell()
  }

  // Takes what is known and of the right kind from an object of unknown origin.
  function merged (from) {
    var result = defaults()
    if (!from || typeof from !== 'object') return result
    SWITCHES.forEach(function (name) {
      if (typeof from[name] === 'boolean') result[name] = from[name]
    })
    LANGUAGES.forEach(function (language) {
      if (from.language === language.code) result.language = language.code
    })
    return result
  }

  function save () {
    if (!storage) {
      showStatus('memory')
      return
    }
    storage.setItem(STORE_KEY, JSON.stringify(settings), function (answer) {
      showStatus(answer && answer.result === 'success' ? 'saved' : 'unsaved')
    })
  }

  function load () {
    if (!storage) {
      showStatus('memory')
      return
    }
    storage.getItem(STORE_KEY, function (answer) {
      if (changedHere) return
      var stored = null
      if (answer && answer.result === 'success' && answer.data) {
        try {
          stored = JSON.parse(answer.data)
        } catch (error) {
          stored = null
        }
      }
      settings = merged(stored)
      drawSwitches()
      drawLanguage()
      showStatus(stored ? 'saved' : 'fresh')
    })
  }

  function reset () {
    settings = defaults()
    changedHere = true
    drawSwitches()
    drawLanguage()
    tell()
    if (!storage) {
      showStatus('memory')
      return
    }
    storage.removeItem(STORE_KEY, function (answer) {
      showStatus(answer && answer.result === 'success' ? 'fresh' : 'unsaved')
    })
  }

  function askReset () {
    if (!modal) {
      reset()
      return
    }
    var ok = t('ok')
    modal.confirm({ message: t('resetAsk'), okTitle: ok, cancelTitle: t('cancel') }, function (answer) {
      // The answer is the title of the button.
      if (answer === ok) reset()
    })
  }

  // ------------------------------------------------------------- other pages

  function openChannel () {
    if (typeof BroadcastChannel !== 'function') return
    channel = new BroadcastChannel(CHANNEL)
    channel.onmessage = function (event) {
      var message = event && event.data
      if (!message || message.type !== 'settings' || !message.settings) return
      // The sender has stored it already. Not told again, or two open
      // settings pages would answer each other for ever.
      settings = merged(message.settings)
      changedHere = true
      drawSwitches()
      drawLanguage()
      addLog('other')
    }
  }

  function tell () {
    if (!channel) {
      addLog('noChannel')
      return
    }
    channel.postMessage({ type: 'settings', settings: merged(settings) })
    addLog('sent')
  }

  // ----------------------------------------------------------- global events

  // The first two are sent when the app changes between front and back; the
  // last is for hosts that announce a new language while a page is open.
  var listeners = {
    WXApplicationDidBecomeActiveEvent: function () {
      addLog('active')
      askLanguage()
    },
    WXApplicationWillResignActiveEvent: function () {
      addLog('inactive')
    },
    languageChange: function (event) {
      addLog('langEvent', event && typeof event.language === 'string' ? event.language : '')
      askLanguage()
    }
  }
  var listening = false

  function listen (on) {
    if (!globalEvent || listening === on) return
    listening = on
    Object.keys(listeners).forEach(function (name) {
      if (on) {
        globalEvent.addEventListener(name, listeners[name])
      } else {
        globalEvent.removeEventListener(name)
      }
    })
  }

  // ------------------------------------------------------------------- about

  function aboutCard () {
    var config = weex.config || {}
    var env = config.env || {}
    var size = env.deviceWidth && env.deviceHeight ? env.deviceWidth + ' × ' + env.deviceHeight : ''
    var facts = [
      ['App', join(env.appName, env.appVersion)],
      ['Platform', join(env.platform)],
      ['System', join(env.osName, env.osVersion)],
      ['Device', join(env.deviceModel)],
      ['Runtime', join(env.weexVersion)],
      ['Screen', join(size, env.scale ? '@' + env.scale + 'x' : '')],
      ['Page', join(String(config.bundleUrl || '').replace(/[?#].*$/, '').split('/').pop())]
    ]
    return card('about', facts.map(function (fact, index) {
      return box({
        width: 646, height: 72, flexDirection: 'row', alignItems: 'center', justifyContent: 'space-between',
        borderTopWidth: index === 0 ? 0 : 2, borderTopColor: COLOR.line
      }, [
        text(fact[0], { width: 200, fontSize: 28, lines: 1, color: COLOR.faint }),
        text(fact[1], { width: 430, fontSize: 28, lines: 1, textAlign: 'right', textOverflow: 'ellipsis', color: COLOR.ink })
      ])
    }))
  }

  // The parts that are there, with a space between; a dash where there is none.
  function join () {
    return Array.prototype.filter.call(arguments, function (part) {
      return part !== undefined && part !== null && part !== ''
    }).join(' ') || '–'
  }

  // -------------------------------------------------------------------- page

  var body = document.createBody('div', { attr: {}, style: { width: 750, backgroundColor: COLOR.page } })
  var scroller = document.createElement('scroller', {
    attr: { scrollDirection: 'vertical', showScrollbar: 'true' },
    style: { width: 750, flex: 1 }
  })
  var resetButton = box({
    width: 702, height: 92, marginTop: 24, borderRadius: 16, backgroundColor: COLOR.card,
    alignItems: 'center', justifyContent: 'center'
  }, [wordText('reset', { fontSize: 30, color: COLOR.bad })])
  resetButton.addEvent('click', askReset)

  scroller.appendChild(box({ width: 702, marginLeft: 24, marginRight: 24, marginTop: 48, marginBottom: 60 }, [
    wordText('title', { width: 702, fontSize: 52, fontWeight: 'bold', lines: 1, color: COLOR.ink }),
    statusText,
    languageCard(),
    switchCard(),
    logCard(),
    aboutCard(),
    resetButton
  ]))
  body.appendChild(scroller)

  // A page in the back of the stack still hears of changes over the channel,
  // which closes with the page; only the app's own events are of no use to it.
  body.addEvent('viewappear', function () { listen(true) })
  body.addEvent('viewdisappear', function () { listen(false) })

  document.documentElement.appendChild(body)
  openChannel()
  listen(true)
  askLanguage()
  load()
})()
