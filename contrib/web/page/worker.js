'use strict'

// Files as package os of Go reads them: what the page was given, read by slices, and temporary files in memory.

const blockSize = 1 << 16
const mostBlocks = 128
const mostAhead = 32 // blocks of one slice

class Failure extends Error {
  constructor (code) { super(code); this.code = code }
}

/**
 * A file that the page was given. Its blocks that were read last are kept. A slice costs a browser some milliseconds, however small:
 * where blocks are read one after the other, as of a compressed capture, each slice has twice as many as the one before.
 */
class Given {
  constructor (blob) { this.blob = blob; this.size = blob.size; this.blocks = new Map(); this.next = -1; this.ahead = 1 }

  read (out, at) {
    if (out.length >= blockSize) {
      out.set(this.slice(at, at + out.length))
      return
    }
    for (let n = 0; n < out.length;) {
      const index = Math.floor((at + n) / blockSize)
      const part = this.block(index).subarray(at + n - index * blockSize).subarray(0, out.length - n)
      out.set(part, n)
      n += part.length
    }
  }

  block (index) {
    let block = this.blocks.get(index)
    if (block) this.blocks.delete(index)
    else block = this.fetch(index)
    this.keep(index, block)
    return block
  }

  fetch (index) {
    this.ahead = index === this.next ? Math.min(2 * this.ahead, mostAhead) : 1
    this.next = index + this.ahead
    const bytes = this.slice(index * blockSize, this.next * blockSize)
    for (let n = 1; n * blockSize < bytes.length; n++) this.keep(index + n, bytes.slice(n * blockSize, (n + 1) * blockSize))
    return bytes.slice(0, blockSize)
  }

  keep (index, block) {
    this.blocks.set(index, block)
    if (this.blocks.size > mostBlocks) this.blocks.delete(this.blocks.keys().next().value)
  }

  slice (from, to) {
    const bytes = new Uint8Array(new FileReaderSync().readAsArrayBuffer(this.blob.slice(from, to)))
    progress(bytes.length)
    return bytes
  }
}

/** A temporary file; what nobody wrote to takes no memory. */
class Temporary {
  constructor () { this.size = 0; this.blocks = new Map() }

  read (out, at) { this.each(out, at, (block, part) => { block ? part.set(block) : part.fill(0) }) }

  write (bytes, at) {
    this.each(bytes, at, (block, part, make) => (block ?? make()).set(part))
    this.size = Math.max(this.size, at + bytes.length)
  }

  each (bytes, at, visit) {
    for (let n = 0; n < bytes.length;) {
      const index = Math.floor((at + n) / blockSize)
      const from = at + n - index * blockSize
      const size = Math.min(blockSize - from, bytes.length - n)
      const make = () => {
        this.blocks.set(index, new Uint8Array(blockSize))
        return this.blocks.get(index).subarray(from, from + size)
      }
      visit(this.blocks.get(index)?.subarray(from, from + size), bytes.subarray(n, n + size), make)
      n += size
    }
  }

  truncate (size) { this.size = size }
}

const tree = new Map([['', new Map()], ['tmp', new Map()]]) // directories by path: names and what is there
const descriptors = new Map()
let lastDescriptor = 9
let bytesRead = 0
let told = 0

function progress (n) {
  bytesRead += n
  if (bytesRead - told >= 1 << 20) postMessage({ read: told = bytesRead })
}

function clean (path) {
  const parts = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}

function split (path) {
  const at = path.lastIndexOf('/')
  return [path.slice(0, Math.max(at, 0)), path.slice(at + 1)]
}

function put (path, file) {
  const [dir, name] = split(path)
  if (!tree.has(dir)) {
    tree.set(dir, new Map())
    put(dir, tree.get(dir))
  }
  tree.get(dir).set(name, file)
}

/** What is at a path: a file, or a directory's map. */
function find (path) {
  path = clean(path)
  const [dir, name] = split(path)
  const found = tree.get(path) ?? tree.get(dir)?.get(name)
  if (found === undefined) throw new Failure('ENOENT')
  return found
}

function stat (file) {
  const isDirectory = file instanceof Map
  const size = isDirectory ? 0 : file.size
  return {
    dev: 1, ino: 0, mode: isDirectory ? 0o40755 : 0o100755, nlink: 1, uid: 0, gid: 0, rdev: 0, size, blksize: 4096, blocks: Math.ceil(size / 512),
    atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => isDirectory
  }
}

function opened (fd) {
  const d = descriptors.get(fd)
  if (!d) throw new Failure('EBADF')
  return d
}

const constants = { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 }

const calls = {
  open (path, flags) {
    let file
    try {
      file = find(path)
      if (flags & constants.O_EXCL) throw new Failure('EEXIST')
      if (flags & 3 && !(file instanceof Temporary)) throw new Failure('EACCES')
    } catch (failure) {
      if (failure.code !== 'ENOENT' || !(flags & constants.O_CREAT)) throw failure
      put(clean(path), file = new Temporary())
    }
    descriptors.set(++lastDescriptor, { file, at: 0 })
    return lastDescriptor
  },
  close (fd) { opened(fd); descriptors.delete(fd) },
  stat: path => stat(find(path)),
  lstat: path => stat(find(path)),
  fstat: fd => stat(opened(fd).file),
  readdir (path) {
    const dir = find(path)
    if (!(dir instanceof Map)) throw new Failure('ENOTDIR')
    return [...dir.keys()]
  },
  readlink () { throw new Failure('EINVAL') },
  unlink (path) { find(path); const [dir, name] = split(clean(path)); tree.get(dir).delete(name) },
  ftruncate (fd, size) { opened(fd).file.truncate(size) },
  fsync () {},
  read (fd, buffer, offset, length, position) {
    const d = opened(fd)
    if (d.file instanceof Map) throw new Failure('EISDIR')
    const at = position ?? d.at
    const n = Math.max(0, Math.min(length, d.file.size - at))
    if (n > 0) d.file.read(buffer.subarray(offset, offset + n), at)
    if (position === null) d.at += n
    return n
  },
  write (fd, buffer, offset, length, position) {
    if (fd < 3) return calls.writeSync(fd, buffer.subarray(offset, offset + length))
    const d = opened(fd)
    const at = position ?? d.at
    d.file.write(buffer.subarray(offset, offset + length), at)
    if (position === null) d.at += length
    return length
  },
  writeSync (fd, buffer) { console.error(new TextDecoder().decode(buffer)); return buffer.length }
}

globalThis.fs = { constants, writeSync: calls.writeSync }
for (const name of ['open', 'close', 'stat', 'lstat', 'fstat', 'readdir', 'readlink', 'unlink', 'ftruncate', 'fsync', 'read', 'write', 'chmod', 'fchmod',
  'chown', 'fchown', 'lchown', 'link', 'symlink', 'mkdir', 'rename', 'rmdir', 'truncate', 'utimes']) {
  globalThis.fs[name] = (...args) => {
    const callback = args.pop()
    let result
    try {
      if (!calls[name]) throw new Failure('ENOSYS')
      result = calls[name](...args)
    } catch (failure) {
      failure.code ??= 'EIO'
      callback(failure)
      return
    }
    callback(null, result)
  }
}
globalThis.process = { getuid: () => -1, getgid: () => -1, geteuid: () => -1, getegid: () => -1, getgroups: () => [], pid: -1, ppid: -1, umask: () => 0, cwd: () => '/', chdir () {} }
globalThis.path = { resolve: (...parts) => '/' + clean(parts.join('/')) }

WASM_EXEC

globalThis.onmessage = async ({ data: { module, files, options, captures } }) => {
  for (const [path, blob] of files) put(clean(path), new Given(blob))
  const go = new globalThis.Go()
  const instance = await WebAssembly.instantiate(module, go.importObject)
  try {
    const backsight = await new Promise((resolve, reject) => {
      globalThis.backsight = resolve
      go.run(instance).then(() => reject(new Error('the program ended')), reject)
    })
    const session = await backsight.open(JSON.stringify(options))
    for (const capture of captures) {
      const { bytes, failure } = await backsight.report(session, 'html', ...(capture ? [capture] : []))
      postMessage({ capture, report: new TextDecoder().decode(bytes), failure })
    }
  } catch (error) {
    postMessage({ failure: error.message })
  }
  postMessage({ read: bytesRead })
  postMessage({ end: true, memory: instance.exports.mem.buffer.byteLength })
}
