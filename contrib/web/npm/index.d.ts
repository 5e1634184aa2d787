/** What captures share: where binaries are, called as the command's flags are. Paths are of this machine. */
export interface Options {
  /** The program's executable, where the capture does not name it or it lives elsewhere. */
  exe?: string
  /** Binaries of the captured program, FILE[@ADDR]. */
  image?: string[]
  /** Directories with the files that the capture names, and their debug files. */
  sysroot?: string[]
  /** Directories with separate debug files. */
  'debug-dir'?: string[]
  /** Lists of symbols, Breakpad's symbol files, program databases, or directories of them. */
  symbols?: string[]
  /** Memory as the processor sees it untranslated, FILE[@ADDR]. */
  ram?: string[]
  /** A file of registers as a debugger or a probe prints them. */
  regs?: string
  /** At most so many frames of a backtrace. */
  'max-frames'?: number
  /** Look only where paths and build IDs lead. */
  'no-index'?: boolean
  /** Modules and offsets only. */
  'no-symbols'?: boolean
  /** Keep nothing of searches in the user's cache. */
  'no-cache'?: boolean
  /** The arguments and local variables of every frame. */
  locals?: boolean
}

export type Format = 'json' | 'jsonl' | 'text' | 'html'

export interface Session {
  /**
   * The reports of a capture, byte for byte what `backsight bt -f FORMAT CAPTURE` writes; of JSON, `backsight schema` prints
   * the schema. Several paths are a dump of several files, none is the memory of `ram`. Rejects where the capture gives no
   * backtraces: the error's `report` is what the command writes then.
   */
  report(captures: string | string[], format?: Format): Promise<string>
  /** Ends the session's thread. */
  close(): Promise<void>
}

/** Opens a session in a thread of its own. Rejects where a file that options name cannot be read. */
export function open(options?: Options): Promise<Session>
