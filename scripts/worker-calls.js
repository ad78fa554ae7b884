// { "framework": "Vanilla" }
var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
var out = []
function tryIt(name, f) { try { out.push(name + ': ' + f()) } catch (e) { out.push(name + ' threw ' + e) } }
tryIt('jit', function () { function f(n) { var s = 0; for (var i = 0; i < n; i++) s = (s * 31 + i) | 0; return s } var r = 0; for (var k = 0; k < 300; k++) r ^= f(100000); return r })
tryIt('float', function () { var a = new Float64Array(100000); for (var k = 0; k < 100; k++) for (var i = 0; i < a.length; i++) a[i] = Math.sqrt(i * k) + a[i]; return a[500] })
tryIt('gc', function () { var keep = []; for (var i = 0; i < 300000; i++) { var o = { a: [i], b: 'x' + i }; if (i % 100 == 0) keep.push(o) } return keep.length })
tryIt('intl', function () { return new Intl.DateTimeFormat('de-DE', { dateStyle: 'full', timeStyle: 'long', timeZone: 'Asia/Tokyo' }).format(new Date(0)) + new Intl.NumberFormat('fr', { style: 'currency', currency: 'EUR' }).format(1234.5) + 'ä'.localeCompare('z', 'sv') + new Intl.Collator('ja').compare('あ', 'ア') })
tryIt('date', function () { return new Date().toString() + new Date(2020, 1, 1).toLocaleString() + Intl.DateTimeFormat().resolvedOptions().timeZone })
tryIt('regexp', function () { return /^(a+)+$/.test('aaaaaaaaaaaaaaaaaaaaab') + 'x'.repeat(100000).replace(/x/g, 'yy').length })
tryIt('buffers', function () { var s = 0; for (var i = 0; i < 20; i++) s += new ArrayBuffer(4 << 20).byteLength; return s })
tryIt('sab', function () { return typeof SharedArrayBuffer + (typeof Atomics) })
tryIt('wait', function () { return Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 20) })
tryIt('wasm', function () { return typeof WebAssembly + new WebAssembly.Memory({ initial: 4 }).buffer.byteLength + new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0,1,7,1,96,2,127,127,1,127,3,2,1,0,7,7,1,3,97,100,100,0,0,10,9,1,7,0,32,0,32,1,106,11]))).exports.add(2, 3) })
tryIt('stack', function () { (function f() { f() })() })
tryIt('weak', function () { var r = new WeakRef({}); new FinalizationRegistry(function () {}).register({}, 1); return typeof r.deref() })
tryIt('big', function () { return String(7n ** 2000n).length })
tryIt('json', function () { return JSON.stringify(JSON.parse('[' + '1,'.repeat(100000) + '1]')).length })
tryIt('random', function () { return Math.random() > 2 })
tryIt('eval', function () { return eval('1+1') + new Function('return 3')() })
tryIt('string', function () { return 'é'.normalize('NFD').length + 'İ'.toLocaleLowerCase('tr') + new Intl.Segmenter('en', {granularity: 'word'}).segment('a b c').containing(2).segment })
var t = d.createElement('text', { attr: { value: out.join('\n') } }); b.appendChild(t)
var n = 0
setInterval(function () { n++; var a = []; for (var i = 0; i < 20000; i++) a.push({ i: i, s: 'k' + i }); t.setAttr('value', 'tick ' + n + '\n' + out.join('\n')) }, 100)
try { var st = weex.requireModule('storage'); st.setItem('a', 'b', function () { st.getItem('a', function (e) { out.push('storage ' + JSON.stringify(e)) }) }) } catch (e) { out.push('storage ' + e) }
try { var s = weex.requireModule('stream'); s.fetch({ method: 'GET', url: 'data/weather.json', type: 'json' }, function (r) { out.push('stream ' + r.status) }) } catch (e) { out.push('stream ' + e) }
try { var ws = weex.requireModule('webSocket'); ws.WebSocket('ws://127.0.0.1:9/', ''); ws.onerror(function (e) { out.push('ws ' + JSON.stringify(e)) }) ; ws.onclose(function (e) { out.push('wsclose ' + JSON.stringify(e)) })} catch (e) { out.push('ws ' + e) }
Promise.resolve().then(function () { out.push('promise') })
