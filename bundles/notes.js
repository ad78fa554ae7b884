// { "framework": "Vanilla" }
// Notes kept in storage, one key per note. The editor saves itself shortly
// after the last keystroke; a clock runs while the page can be seen.
(function () {
  'use strict'

  var document = weex.document
  var storage = weex.requireModule('storage')
  var timer = weex.requireModule('timer')
  var modal = weex.requireModule('modal')

  var PREFIX = 'notes.item.'
  var SAVE_DELAY = 800
  var CLOCK_STEP = 1000
  var MAX_LENGTH = 2000

  var COLOR = {
    page: '#FBF8EF', card: '#FFFFFF', ink: '#33302A', faint: '#938C7E', line: '#E6DFCE',
    accent: '#B7791F', accentSoft: '#FBF0D9', bad: '#AE3B2E', white: '#FFFFFF'
  }

  var notes = []             // { id, body, created, changed }, the latest change first
  var rows = {}              // id -> { cell, title, date, frame, remove, removeLabel }
  var editing = null         // the note in the editor, null for one that is not yet written
  var typed = ''
  var saveTimer = null
  var clockTimer = null
  var askingFor = null       // id of the note whose delete button was tapped once
  var serial = 0

  // ---------------------------------------------------------------- helpers

  function two (number) {
    return number < 10 ? '0' + number : String(number)
  }

  function dateLine (time) {
    var date = new Date(time)
    return date.getFullYear() + '-' + two(date.getMonth() + 1) + '-' + two(date.getDate()) +
      ' ' + two(date.getHours()) + ':' + two(date.getMinutes())
  }

  function firstLine (body) {
    var lines = body.split('\n')
    for (var i = 0; i < lines.length; i++) {
      var line = lines[i].replace(/^\s+|\s+$/g, '')
      if (line) return line
    }
    return 'Empty note'
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

  function button (label, style, handler) {
    var full = { height: 68, borderRadius: 34, alignItems: 'center', justifyContent: 'center' }
    Object.keys(style.box).forEach(function (name) { full[name] = style.box[name] })
    var node = box(full, [label])
    node.addEvent('click', handler)
    return node
  }

  function toast (message) {
    if (modal) modal.toast({ message: message, duration: 2 })
  }

  function succeeded (answer) {
    return !!answer && answer.result === 'success'
  }

  // ------------------------------------------------------------------- clock

  var clockText = text('--:--:--', { width: 220, fontSize: 40, textAlign: 'right', color: COLOR.accent })

  function drawClock () {
    var now = new Date()
    setText(clockText, two(now.getHours()) + ':' + two(now.getMinutes()) + ':' + two(now.getSeconds()))
  }

  function startClock () {
    drawClock()
    if (!timer || clockTimer !== null) return
    clockTimer = timer.setInterval(drawClock, CLOCK_STEP)
  }

  function stopClock () {
    if (clockTimer === null) return
    timer.clearInterval(clockTimer)
    clockTimer = null
  }

  // ----------------------------------------------------------------- numbers

  var countText = text('Reading your notes …', { width: 430, fontSize: 24, lines: 1, color: COLOR.faint, marginTop: 6 })
  var storeText = text('Storage: asking …', { width: 702, fontSize: 24, lines: 1, color: COLOR.faint })

  function drawCount () {
    setText(countText, notes.length === 0 ? 'No notes yet'
      : notes.length === 1 ? 'One note' : notes.length + ' notes')
    emptyText.setStyle('opacity', notes.length === 0 ? 1 : 0)
    emptyText.setStyle('height', notes.length === 0 ? 90 : 0)
  }

  // Other pages of the app share the storage, so both numbers are shown:
  // everything that is in it, and what belongs to this page.
  function drawStore () {
    if (!storage) {
      setText(storeText, 'No storage here: notes last until the page closes.')
      return
    }
    storage.length(function (answer) {
      var total = succeeded(answer) ? Number(answer.data) : NaN
      storage.getAllKeys(function (keysAnswer) {
        var keys = keyList(keysAnswer)
        var own = keys.filter(isNoteKey).length
        if (isNaN(total)) {
          setText(storeText, 'Storage: the size cannot be read')
        } else {
          setText(storeText, 'Storage: ' + total + (total === 1 ? ' entry' : ' entries') + ', ' + own + ' from this page')
        }
      })
    })
  }

  function keyList (answer) {
    return succeeded(answer) && Array.isArray(answer.data) ? answer.data : []
  }

  function isNoteKey (key) {
    return typeof key === 'string' && key.indexOf(PREFIX) === 0
  }

  // ------------------------------------------------------------------ editor

  var stateText = text('New note', { width: 310, fontSize: 24, lines: 1, color: COLOR.faint })
  var area = document.createElement('textarea', {
    attr: { value: '', placeholder: 'Write something down …', rows: 5, maxlength: MAX_LENGTH },
    style: { width: 646, height: 220, fontSize: 30, lineHeight: 42, color: COLOR.ink, placeholderColor: '#C4BCAB' }
  })
  area.addEvent('input', function (event) {
    takeTyped(event)
  })
  area.addEvent('change', function (event) {
    takeTyped(event)
  })
  area.addEvent('blur', function () {
    saveNow()
  })

  var newButton = button(text('New note', { fontSize: 28, color: COLOR.accent }), {
    box: { width: 170, backgroundColor: COLOR.accentSoft }
  }, function () {
    saveNow()
    openEditor(null)
  })

  var addButton = button(text('Done', { fontSize: 28, color: COLOR.white }), {
    box: { width: 140, marginLeft: 16, backgroundColor: COLOR.accent }
  }, function () {
    if (!editing && !typed.replace(/\s+/g, '')) {
      toast('There is nothing to keep yet.')
      return
    }
    saveNow()
    openEditor(null)
  })

  function takeTyped (event) {
    if (!event || event.value === undefined) return
    var value = String(event.value).slice(0, MAX_LENGTH)
    if (value === typed) return
    typed = value
    setText(stateText, 'Typing …')
    saveSoon()
  }

  // A typed text is not always mirrored on the element, and setting an equal
  // value is skipped: go through another one, so that the field really changes.
  function setArea (value) {
    typed = value
    if (area.attr.value === value) area.setAttr('value', value + ' ')
    area.setAttr('value', value)
  }

  function openEditor (note) {
    cancelSave()
    markRow(editing, false)
    editing = note
    setArea(note ? note.body : '')
    markRow(editing, true)
    setText(stateText, note ? 'Editing, changed ' + dateLine(note.changed).slice(11) : 'New note')
  }

  // ------------------------------------------------------------------ saving

  function cancelSave () {
    if (saveTimer !== null && timer) timer.clearTimeout(saveTimer)
    saveTimer = null
  }

  function saveSoon () {
    if (!timer) {
      saveNow()
      return
    }
    cancelSave()
    saveTimer = timer.setTimeout(function () {
      saveTimer = null
      saveNow()
    }, SAVE_DELAY)
  }

  function saveNow () {
    cancelSave()
    var blank = !typed.replace(/\s+/g, '')
    if (editing ? editing.body === typed : blank) return

    var now = Date.now()
    var note = editing
    if (note) {
      note.body = typed
      note.changed = now
      notes.splice(notes.indexOf(note), 1)
    } else {
      serial += 1
      note = { id: now.toString(36) + '-' + serial, body: typed, created: now, changed: now }
      editing = note
    }
    notes.unshift(note)
    placeRow(note, 0)
    markRow(note, true)
    drawCount()
    writeNote(note)
  }

  function writeNote (note) {
    if (!storage) {
      setText(stateText, 'Kept for now only')
      return
    }
    var written = note.body
    setText(stateText, 'Saving …')
    storage.setItem(PREFIX + note.id, JSON.stringify(note), function (answer) {
      // Deleted while the write was under way: the delete came later and wins.
      if (notes.indexOf(note) < 0) return
      if (editing === note && typed === written) {
        setText(stateText, succeeded(answer) ? 'Saved ' + dateLine(Date.now()).slice(11) : 'Could not be saved')
      }
      if (!succeeded(answer)) toast('The note could not be saved.')
      drawStore()
    })
  }

  // -------------------------------------------------------------------- list

  var list = document.createElement('list', { attr: { showScrollbar: 'true' }, style: { width: 750, flex: 1, marginTop: 16 } })
  var emptyText = text('Notes that you write appear here.', {
    width: 750, height: 90, fontSize: 28, lineHeight: 90, lines: 1, textAlign: 'center', color: COLOR.faint
  })

  function makeRow (note) {
    var title = text(firstLine(note.body), { width: 490, fontSize: 30, lines: 1, textOverflow: 'ellipsis', color: COLOR.ink })
    var date = text(dateLine(note.changed), { width: 490, fontSize: 22, lines: 1, marginTop: 6, color: COLOR.faint })
    var words = box({ width: 500 }, [title, date])
    words.addEvent('click', function () {
      stopAsking()
      saveNow()
      if (notes.indexOf(note) >= 0) openEditor(note)
    })

    var removeLabel = text('Delete', { fontSize: 26, color: COLOR.bad })
    var remove = button(removeLabel, {
      box: { width: 138, height: 60, borderRadius: 30, borderWidth: 2, borderColor: COLOR.line, backgroundColor: COLOR.card }
    }, function () {
      if (askingFor === note.id) {
        deleteNote(note)
      } else {
        ask(note)
      }
    })

    var frame = box({
      width: 702, height: 116, marginLeft: 24, marginRight: 24, marginBottom: 16, paddingLeft: 28, paddingRight: 28,
      flexDirection: 'row', alignItems: 'center', justifyContent: 'space-between',
      backgroundColor: COLOR.card, borderRadius: 14, borderWidth: 2, borderColor: COLOR.card
    }, [words, remove])
    var cell = document.createElement('cell', { attr: {}, style: { width: 750 } })
    cell.appendChild(frame)
    rows[note.id] = { cell: cell, title: title, date: date, frame: frame, remove: remove, removeLabel: removeLabel }
    return rows[note.id]
  }

  // Puts the note's row at an index of the list, making it where there is none.
  function placeRow (note, index) {
    var row = rows[note.id] || makeRow(note)
    setText(row.title, firstLine(note.body))
    setText(row.date, dateLine(note.changed))
    var at = list.pureChildren[index]
    if (at === row.cell) return
    if (at) {
      list.insertBefore(row.cell, at)
    } else {
      list.appendChild(row.cell)
    }
  }

  function markRow (note, on) {
    var row = note && rows[note.id]
    if (row) row.frame.setStyle('borderColor', on ? COLOR.accent : COLOR.card)
  }

  function ask (note) {
    stopAsking()
    askingFor = note.id
    var row = rows[note.id]
    setText(row.removeLabel, 'Sure?')
    row.removeLabel.setStyle('color', COLOR.white)
    row.remove.setStyle('backgroundColor', COLOR.bad)
  }

  function stopAsking () {
    var row = askingFor !== null && rows[askingFor]
    askingFor = null
    if (!row) return
    setText(row.removeLabel, 'Delete')
    row.removeLabel.setStyle('color', COLOR.bad)
    row.remove.setStyle('backgroundColor', COLOR.card)
  }

  function deleteNote (note) {
    var index = notes.indexOf(note)
    if (index < 0) return
    stopAsking()
    notes.splice(index, 1)
    list.removeChild(rows[note.id].cell)
    delete rows[note.id]
    if (editing === note) openEditor(null)
    drawCount()
    if (!storage) return
    storage.removeItem(PREFIX + note.id, function (answer) {
      if (!succeeded(answer)) toast('The note could not be removed from storage.')
      drawStore()
    })
  }

  // ----------------------------------------------------------------- reading

  function parseNote (key, data) {
    var note
    try {
      note = JSON.parse(data)
    } catch (error) {
      return null
    }
    if (!note || typeof note.body !== 'string') return null
    var changed = Number(note.changed) || 0
    return { id: key.slice(PREFIX.length), body: note.body, created: Number(note.created) || changed, changed: changed }
  }

  function addRead (note) {
    var known = notes.some(function (other) { return other.id === note.id })
    if (known) return
    var index = 0
    while (index < notes.length && notes[index].changed >= note.changed) index += 1
    notes.splice(index, 0, note)
    placeRow(note, index)
  }

  function readAll () {
    if (!storage) {
      drawCount()
      drawStore()
      return
    }
    storage.getAllKeys(function (answer) {
      var keys = keyList(answer).filter(isNoteKey)
      var open = keys.length
      if (!succeeded(answer)) {
        setText(countText, 'The notes could not be read')
      } else if (!open) {
        drawCount()
      }
      keys.forEach(function (key) {
        storage.getItem(key, function (item) {
          var note = succeeded(item) ? parseNote(key, item.data) : null
          if (note) addRead(note)
          open -= 1
          if (open === 0) drawCount()
        })
      })
      drawStore()
    })
  }

  // -------------------------------------------------------------------- page

  var body = document.createBody('div', { attr: {}, style: { width: 750, backgroundColor: COLOR.page } })

  body.appendChild(box({
    width: 702, marginLeft: 24, marginRight: 24, marginTop: 48,
    flexDirection: 'row', alignItems: 'center', justifyContent: 'space-between'
  }, [
    box({ width: 450 }, [
      text('Notes', { fontSize: 52, fontWeight: 'bold', color: COLOR.ink }),
      countText
    ]),
    clockText
  ]))

  body.appendChild(box({
    width: 702, marginLeft: 24, marginRight: 24, marginTop: 24, paddingTop: 24, paddingBottom: 24,
    paddingLeft: 28, paddingRight: 28, backgroundColor: COLOR.card, borderRadius: 16
  }, [
    area,
    box({
      width: 646, marginTop: 16, flexDirection: 'row', alignItems: 'center', justifyContent: 'space-between'
    }, [
      stateText,
      newButtonRow()
    ])
  ]))

  body.appendChild(emptyText)
  body.appendChild(list)
  body.appendChild(box({
    width: 750, height: 72, paddingLeft: 24, paddingRight: 24, justifyContent: 'center',
    borderTopWidth: 2, borderTopColor: COLOR.line
  }, [storeText]))

  function newButtonRow () {
    var row = box({ width: 326, flexDirection: 'row' })
    row.appendChild(newButton)
    row.appendChild(addButton)
    return row
  }

  body.addEvent('viewappear', function () {
    startClock()
    drawStore()
  })
  body.addEvent('viewdisappear', function () {
    stopClock()
    stopAsking()
    saveNow()
  })

  document.documentElement.appendChild(body)
  startClock()
  readAll()
})()
