'use strict'

// Counts the slices that page/worker.js reads of a file of 170 MB, which is what a browser takes its time for: of one that is read from
// front to back, and of one whose places are asked at random.

const fs = require('fs')
const path = require('path')
const vm = require('vm')

const size = 170 << 20
let slices = 0
let bytes = 0
const blob = { size, slice: (from, to) => ({ from, to: Math.min(to, size) }) }

class FileReaderSync {
  readAsArrayBuffer (part) {
    slices++
    bytes += part.to - part.from
    const out = new Uint8Array(part.to - part.from)
    for (let i = 0; i < out.length; i += 4096) out[i] = (part.from + i) >> 12
    return out.buffer
  }
}

const context = vm.createContext({ FileReaderSync, Uint8Array, Map, Error, Math, postMessage () {}, self: {}, globalThis: {} })
const source = fs.readFileSync(path.join(__dirname, '../page/worker.js'), 'utf8').split('const tree =')[0]
const Given = vm.runInContext(source + '\nfunction progress () {}\nGiven', context)

function read (file, at, length) {
  const out = new Uint8Array(length)
  file.read(out, at)
  if (out[0] !== ((at >> 12) & 255)) throw new Error('wrong bytes at ' + at)
}

const forward = new Given(blob)
for (let at = 0; at < size; at += 4096) read(forward, at, 4096)
const front = { slices, bytes }
slices = bytes = 0
const random = new Given(blob)
for (let n = 0, at = 1; n < 1000; n++) {
  at = (at * 48271) % 2147483647
  read(random, Math.floor(at % (size - 4096) / 4096) * 4096, 4096)
}
console.log(JSON.stringify({ front, random: { slices, bytes }, held: random.blocks.size + forward.blocks.size }))
