'use strict'

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { parentPort } = require('node:worker_threads')

globalThis.fs = fs
globalThis.path = path
require('./wasm_exec.js')

const api = new Promise((resolve, reject) => {
  globalThis.backsight = resolve
  const go = new globalThis.Go()
  go.env = { HOME: os.homedir(), TMPDIR: os.tmpdir() }
  WebAssembly.instantiate(fs.readFileSync(path.join(__dirname, 'backsight.wasm')), go.importObject)
    .then(({ instance }) => go.run(instance)).catch(reject)
})

parentPort.on('message', async ({ id, name, args }) => {
  try {
    parentPort.postMessage({ id, result: await (await api)[name](...args) })
  } catch (error) {
    parentPort.postMessage({ id, error: error.message })
  }
})
