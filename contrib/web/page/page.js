'use strict'

const $ = id => document.getElementById(id)
const roles = { capture: 'the capture', binary: 'a binary, or its symbols', exe: 'the program', image: 'a binary, loaded at', ram: 'memory', regs: 'registers', symbols: 'a list of symbols', none: 'nothing' }

/** The bytes of a gzip stream in base64. */
async function unpacked (base64) {
  const packed = Uint8Array.fromBase64?.(base64) ?? Uint8Array.from(atob(base64), c => c.charCodeAt(0))
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
}

const module = unpacked($('wasm').textContent).then(bytes => WebAssembly.compile(bytes))
module.catch(fail)
const workerURL = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }))

/** Files that were dropped: { path, file, role, at }. */
let files = []
let worker

/** What a file most likely is, by its first bytes and its name. */
async function guess (path, file) {
  const name = path.split('/').pop()
  const head = new DataView(await file.slice(0, 64).arrayBuffer())
  const magic = head.byteLength >= 20 ? head.getUint32(0) : 0
  if (magic === 0x7f454c46) return head.getUint16(16, head.getUint8(5) === 1) === 4 ? 'capture' : 'binary'
  if (magic >>> 16 === 0x4d5a || magic === 0xcafebabe) return 'binary'
  if ([0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe].includes(magic)) return head.getUint32(12, magic >>> 8 !== 0xfeedfa) === 4 ? 'capture' : 'binary'
  if (/^(vmlinu|System\.map|kallsyms)|\.(so|ko|debug|sym|pdb|dll)(\.|$)/i.test(name)) return 'binary'
  return /\.(ram|bin|raw|mem)$/i.test(name) ? 'ram' : 'capture'
}

/** Adds files: [path, Blob]…; those of a folder have paths below it. */
async function add (list, settings = {}) {
  for (const [path, file] of list) {
    files = files.filter(f => f.path !== path)
    files.push({ path, file, role: await guess(path, file), at: '', ...settings[path] })
  }
  const programs = files.filter(f => f.role === 'binary')
  if (programs.length === 1 && !files.some(f => f.role === 'exe') && files.some(f => f.role === 'ram')) programs[0].role = 'exe'
  show()
  if (files.some(f => f.role === 'capture' || (f.role === 'ram' && f.at))) await run()
}

function show () {
  $('list').hidden = $('actions').hidden = files.length === 0
  const most = 200
  $('list').tBodies[0].replaceChildren(...files.slice(0, most).map(row))
  if (files.length > most) say(`${files.length - most} more files are not listed`)
}

function row (f) {
  const role = document.createElement('select')
  role.append(...Object.entries(roles).map(([value, text]) => new Option(text, value, false, f.role === value)))
  const at = document.createElement('input')
  at.value = f.at
  at.placeholder = '0x20000000'
  at.hidden = !['ram', 'image'].includes(f.role)
  at.onchange = () => { f.at = at.value.trim() }
  role.onchange = () => { f.role = role.value; at.hidden = !['ram', 'image'].includes(f.role) }
  const tr = document.createElement('tr')
  for (const cell of [f.path, f.file.size.toLocaleString('en'), role, at]) tr.insertCell().append(cell)
  return tr
}

function options () {
  const of = (...kinds) => files.filter(f => kinds.includes(f.role)).map(f => f.at ? `${f.path}@${f.at}` : f.path)
  const o = { image: of('image'), ram: of('ram'), symbols: of('symbols'), exe: of('exe')[0] ?? '', regs: of('regs')[0] ?? '', 'no-cache': true }
  if (files.some(f => f.role === 'binary')) o.sysroot = ['.']
  return o
}

/** Makes the reports of all captures, in a worker of its own, and shows the first. */
async function run () {
  stop()
  const captures = files.filter(f => f.role === 'capture').map(f => f.path)
  if (captures.length === 0) captures.push('')
  const began = performance.now()
  const seconds = () => ((performance.now() - began) / 1000).toFixed(1) + ' s'
  let read = 0
  const clock = setInterval(() => say(`Reading, ${seconds()}, ${(read / 1e6).toFixed(1)} MB read`), 200)
  say('Starting')
  worker = new Worker(workerURL)
  const mine = worker
  mine.end = () => { clearInterval(clock); mine.terminate() }
  mine.onerror = e => { mine.end(); fail(new Error(e.message)) }
  mine.onmessage = ({ data }) => {
    if (mine !== worker) return
    if (data.read !== undefined) read = data.read
    if (data.report !== undefined) addReport(data.capture || 'memory', data.report)
    if (data.failure) fail(new Error(data.failure))
    if (data.end) {
      mine.end()
      if (!$('status').classList.contains('failed')) say(`Made in ${seconds()}, ${(read / 1e6).toFixed(1)} MB read, ${(data.memory / 2 ** 20).toFixed(0)} MiB of memory`)
      $('status').dataset.memory = data.memory
      $('status').dataset.done = 'yes'
    }
  }
  try {
    mine.postMessage({ module: await module, files: files.map(f => [f.path, f.file]), options: options(), captures })
  } catch (error) {
    mine.end()
    fail(error)
  }
}

function stop () {
  worker?.end?.()
  worker = undefined
  $('reports').replaceChildren()
  $('report').hidden = true
  $('report').removeAttribute('srcdoc')
  $('status').classList.remove('failed')
  delete $('status').dataset.done
}

/** Adds a report: a button that shows it, and a link that keeps it. */
function addReport (capture, html) {
  const button = document.createElement('button')
  button.textContent = capture
  button.onclick = () => { $('report').srcdoc = html; $('report').hidden = false }
  const link = document.createElement('a')
  link.textContent = 'keep'
  link.download = capture.split('/').pop() + '.html'
  link.href = URL.createObjectURL(new Blob([html], { type: 'text/html' }))
  $('reports').append(button, link)
  if ($('report').hidden) button.onclick()
}

function say (text) { $('status').textContent = text }

function fail (error) {
  say(error.message)
  $('status').classList.add('failed')
}

/** The files of what was dropped, folders walked through: [path, File]…. */
async function dropped (entries, most = 20000) {
  const found = []
  while (entries.length > 0 && found.length < most) {
    const entry = entries.pop()
    if (entry.isFile) {
      found.push([entry.fullPath.slice(1), await new Promise((resolve, reject) => entry.file(resolve, reject))])
      continue
    }
    const reader = entry.createReader()
    for (let some; (some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length > 0;) entries.push(...some)
  }
  return found
}

$('drop').ondragover = document.ondragover = e => { e.preventDefault(); $('drop').classList.add('over') }
document.ondragleave = () => $('drop').classList.remove('over')
document.ondrop = e => {
  e.preventDefault()
  $('drop').classList.remove('over')
  dropped([...e.dataTransfer.items].map(i => i.webkitGetAsEntry()).filter(Boolean)).then(list => add(list)).catch(fail)
}
for (const id of ['files', 'folder']) {
  $(id).onchange = () => add([...$(id).files].map(f => [f.webkitRelativePath || f.name, f])).catch(fail)
}
$('run').onclick = () => run().catch(fail)
$('clear').onclick = () => { files = []; stop(); say(''); show() }
for (const button of document.querySelectorAll('[data-example]')) {
  button.onclick = async () => {
    const example = JSON.parse($('examples').textContent)[button.dataset.example]
    files = []
    const list = await Promise.all(Object.entries(example.files).map(async ([path, packed]) => [path, new Blob([await unpacked(packed)])]))
    add(list, example.settings).catch(fail)
  }
}
