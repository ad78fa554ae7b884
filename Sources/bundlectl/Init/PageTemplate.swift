/// A page with its tests, for a folder that `init` makes.
enum PageTemplate: String, CaseIterable {
  case hello, list, form

  /// The texts of the files, by their paths in the folder, in order.
  var files: [(path: String, text: String)] {
    let own =
      switch self {
      case .hello: Self.helloFiles
      case .list: Self.listFiles
      case .form: Self.formFiles
      }
    return own + [(".github/workflows/pages.yml", Self.workflow), ("README.md", readme)]
  }

  private var subject: String {
    switch self {
    case .hello: "A greeting that counts taps."
    case .list: "A list that loads more at its end, and loads anew when it is pulled down."
    case .form: "A form that is checked, sent, and says what became of it."
    }
  }

  private var readme: String {
    """
    # Page

    \(subject)

    - `dist/\(rawValue).js` is the page's bundle. It is written by hand; a bundler may write it as well.
    - `tests/` has a test for each file `*.test.json`: taps, texts, time, and what is expected.
    - `tests/__snapshots__/` has the elements that the tests have seen. Commit them.

    ## Work on it

        bundlectl render dist/\(rawValue).js --watch    # shows the elements after each change
        bundlectl test --watch                  # runs the tests after each change
        bundlectl test --update                 # takes over what the page shows now

    ## In continuous integration

    `.github/workflows/pages.yml` runs the tests for each push. A snapshot that is missing or
    differs fails there, and nothing is written. No test needs a network.

    """
  }

  private static let workflow = """
    name: pages
    on: [push, pull_request]
    jobs:
      test:
        runs-on: ubuntu-latest
        steps:
          - uses: actions/checkout@v4
          # The runner needs bundlectl on its path, such as from PageKit's Debian package.
          - run: bundlectl test --ci --report github --report junit=results.xml

    """
}

// MARK: - hello

extension PageTemplate {
  private static let helloFiles: [(path: String, text: String)] = [
    (
      "dist/hello.js",
      """
      // { "framework": "Vanilla" }
      // A greeting that counts taps.
      const document = weex.document

      const body = document.createBody('div', { style: { padding: 40, backgroundColor: '#ffffff' } })
      document.documentElement.appendChild(body)

      const greeting = document.createElement('text', {
        attr: { id: 'greeting', value: 'Hello' },
        style: { fontSize: 48, color: '#1f2d3a' }
      })
      body.appendChild(greeting)

      const button = document.createElement('text', {
        attr: { id: 'again', value: 'Say it again' },
        style: { height: 96, lineHeight: 96, fontSize: 32, color: '#1d4f91' }
      })
      body.appendChild(button)

      let taps = 0
      button.addEvent('click', () => {
        taps += 1
        greeting.setAttr('value', taps === 1 ? 'Hello again' : `Hello for the ${taps + 1}th time`)
      })

      """
    ),
    (
      "tests/hello.test.json",
      """
      {
        "page": "../dist/hello.js",
        "budgets": {"bundleBytes": 2000, "elements": 10, "requests": 0},
        "steps": [
          {"snapshot": "start"},
          {"tap": "text=Say it again"},
          {"expect": {"#greeting": {"attr": {"value": "Hello again"}}}},
          {"tap": "#again"},
          {"tap": "#again"},
          {"expect": "text=Hello for the 4th time"},
          {"accessible": true}
        ]
      }

      """
    ),
    (
      "tests/__snapshots__/hello/start.outline",
      """
      div #1
        text #1 id="greeting" value="Hello"
        text #2 id="again" value="Say it again" @click

      """
    ),
  ]
}

// MARK: - list

extension PageTemplate {
  private static func items(from first: Int) -> String {
    let items = (first..<first + 8).map { "{\"title\": \"Item \($0)\"}" }
    return "{\"more\": \(first == 1), \"items\": [\n  \(items.joined(separator: ",\n  "))\n]}\n"
  }

  private static let listFiles: [(path: String, text: String)] = [
    (
      "dist/list.js",
      """
      // { "framework": "Vanilla" }
      // A list that loads more at its end, and loads anew when it is pulled down.
      const document = weex.document
      const stream = weex.requireModule('stream')

      const body = document.createBody('div', { style: { backgroundColor: '#ffffff' } })
      document.documentElement.appendChild(body)

      const note = text('', { padding: 24, color: '#8a1c14' })
      note.setAttr('id', 'note')
      const list = document.createElement('list', {
        attr: { id: 'items', loadmoreoffset: 100 }, style: { width: 750, flex: 1 }
      })
      const refresh = document.createElement('refresh', { attr: { display: 'hide' } })
      refresh.appendChild(text('Loading anew', { padding: 24, color: '#1f2d3a' }))
      list.appendChild(refresh)
      body.appendChild(list)
      body.appendChild(note)

      let pages = 0
      let hasMore = true
      let isLoading = false

      function text (value, style) {
        return document.createElement('text', { attr: { value }, style: { fontSize: 32, ...style } })
      }

      function cell (item) {
        const node = document.createElement('cell', { attr: {}, style: { height: 200, padding: 24 } })
        node.appendChild(text(item.title, { color: '#1f2d3a' }))
        return node
      }

      function load () {
        if (isLoading || !hasMore) return
        isLoading = true
        stream.fetch({ method: 'GET', url: `items/${pages + 1}.json`, type: 'json' }, answer => {
          isLoading = false
          refresh.setAttr('display', 'hide')
          note.setAttr('value', answer.ok ? '' : 'The items could not be loaded. Tap to try again.')
          if (!answer.ok) return
          pages += 1
          hasMore = answer.data.more
          answer.data.items.forEach(item => list.appendChild(cell(item)))
        })
      }

      function loadAnew () {
        refresh.setAttr('display', 'show')
        list.children.filter(node => node !== refresh).forEach(node => list.removeChild(node))
        pages = 0
        hasMore = true
        load()
      }

      list.addEvent('loadmore', load)
      refresh.addEvent('refresh', loadAnew)
      note.addEvent('click', load)
      load()

      """
    ),
    ("dist/items/1.json", items(from: 1)),
    ("dist/items/2.json", items(from: 9)),
    (
      "tests/list.test.json",
      """
      {
        "page": "../dist/list.js",
        "budgets": {"bundleBytes": 4000, "elements": 60, "requests": 3},
        "steps": [
          {"snapshot": "start"},
          {"expect": {"cell": {"count": 8}}},
          {"fire": ["#items", "loadmore"]},
          {"expect": {"cell": {"count": 16}, "text=Item 16": {"count": 1}}},
          {"fire": ["refresh", "refresh"]},
          {"expect": {"cell": {"count": 8}, "refresh": {"attr": {"display": "hide"}}}}
        ]
      }

      """
    ),
    (
      "tests/offline.test.json",
      """
      {
        "page": "../dist/list.js",
        "answers": [
          {"url": "items/1.json", "failure": "there is no network"},
          {"url": "items/1.json", "json": {"more": false, "items": [{"title": "Only one"}]}}
        ],
        "steps": [
          {"expect": {"cell": {"count": 0}}},
          {"tap": "text=The items could not be loaded. Tap to try again."},
          {"expect": "text=Only one"}
        ]
      }

      """
    ),
    (
      "tests/__snapshots__/list/start.outline",
      """
      div #1
        list #1 id="items" loadmoreoffset=100 @loadmore
          refresh #1 display="hide" @refresh
            text #1 value="Loading anew"

      """
        + (1...8).map { "    cell #\($0 + 1)\n      text #1 value=\"Item \($0)\"\n" }.joined()
        + "  text #2 id=\"note\" value=\"\" @click\n"
    ),
  ]
}

// MARK: - form

extension PageTemplate {
  private static let formFiles: [(path: String, text: String)] = [
    (
      "dist/form.js",
      """
      // { "framework": "Vanilla" }
      // A form that is checked, sent, and says what became of it.
      const document = weex.document
      const stream = weex.requireModule('stream')

      const body = document.createBody('scroller', { style: { padding: 40, backgroundColor: '#ffffff' } })
      document.documentElement.appendChild(body)

      const name = field('name', 'text', 'Name')
      const email = field('email', 'email', 'E-mail')
      const send = text('send', 'Sign up', { height: 96, lineHeight: 96, color: '#1d4f91' })
      const note = text('note', '', { color: '#8a1c14' })
      ;[name, email, send, note].forEach(node => body.appendChild(node))

      const values = { name: '', email: '' }
      let isSending = false

      function text (id, value, style) {
        return document.createElement('text', { attr: { id, value }, style: { fontSize: 32, ...style } })
      }

      function field (id, type, placeholder) {
        const node = document.createElement('input', {
          attr: { id, type, placeholder, value: '' }, style: { height: 96, fontSize: 32, marginBottom: 24 }
        })
        node.addEvent('input', event => { values[id] = event.value.trim() })
        return node
      }

      function fault () {
        if (!values.name) return 'Please give your name.'
        if (!/^[^@]+@[^@]+$/.test(values.email)) return 'Please give your e-mail address.'
        return ''
      }

      function say (sentence) { note.setAttr('value', sentence) }

      send.addEvent('click', () => {
        if (isSending) return
        say(fault())
        if (fault()) return
        isSending = true
        say('Sending …')
        stream.fetch({
          method: 'POST', url: 'https://api.example.com/signup', type: 'json',
          headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(values)
        }, answer => {
          isSending = false
          say(answer.ok ? `Welcome, ${answer.data.name}!` : 'That did not work. Please try again.')
          if (answer.ok) setTimeout(() => say(''), 3000)
        })
      })

      """
    ),
    (
      "tests/form.test.json",
      """
      {
        "page": "../dist/form.js",
        "answers": [
          {"method": "POST", "url": "https://api.example.com/signup", "status": 503},
          {"method": "POST", "url": "https://api.example.com/signup", "json": {"name": "Ann"}}
        ],
        "steps": [
          {"snapshot": "start"},
          {"accessible": true},
          {"tap": "text=Sign up"},
          {"expect": "text=Please give your name."},
          {"input": ["#name", "Ann"]},
          {"input": ["#email", "ann@example.com"]},
          {"tap": "#send"},
          {"expect": "text=That did not work. Please try again."},
          {"tap": "#send"},
          {"expect": "text=Welcome, Ann!"},
          {"advance": "3s"},
          {"expect": {"#note": {"attr": {"value": ""}}}}
        ]
      }

      """
    ),
    (
      "tests/__snapshots__/form/start.outline",
      """
      scroller #1
        input #1 id="name" placeholder="Name" type="text" value="" @input
        input #2 id="email" placeholder="E-mail" type="email" value="" @input
        text #3 id="send" value="Sign up" @click
        text #4 id="note" value=""

      """
    ),
  ]
}
