'use strict'

const path = require('node:path')
const { Worker } = require('node:worker_threads')

/** Opens a session: see index.d.ts. */
async function open (options = {}) {
  const worker = new Worker(path.join(__dirname, 'worker.js'))
  const waiting = new Map()
  let last = 0
  let dead
  const fail = error => {
    dead ??= error
    for (const { reject } of waiting.values()) reject(dead)
    waiting.clear()
  }
  worker.on('message', ({ id, result, error }) => {
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    error === undefined ? resolve(result) : reject(new Error(error))
  })
  worker.on('error', fail)
  worker.on('exit', () => fail(new Error('the session is closed')))
  const call = (name, ...args) => new Promise((resolve, reject) => {
    if (dead) return reject(dead)
    waiting.set(++last, { resolve, reject })
    worker.postMessage({ id: last, name, args })
  })
  let session
  try {
    session = await call('open', JSON.stringify(options))
  } catch (error) {
    await worker.terminate()
    throw error
  }
  return {
    async report (captures, format = 'json') {
      const { bytes, failure } = await call('report', session, format, ...[captures].flat())
      const report = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
      if (failure) throw Object.assign(new Error(failure), { report })
      return report
    },
    async close () {
      await worker.terminate()
    }
  }
}

module.exports = { open }
