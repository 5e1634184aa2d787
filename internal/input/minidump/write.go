package minidump

import (
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf16"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// WriteOptions say what Write keeps of a program.
type WriteOptions struct {
	// MaxStack bounds the bytes of each thread's stack, from SP up; 0: 1 MB.
	MaxStack uint64
	// Sanitize replaces what may be data of the user's: words of stacks that are no small number, no address of the
	// stack and no address in a module become 0x0defaced, and what lies below SP zero, as Breakpad does
	// (SanitizeStackCopy).
	Sanitize bool
}

// Sizes of what is kept: of a stack where nobody says, of code around a PC, of what lies below SP (the red zone of
// x86-64's psABI, 3.2.2).
const defaultStack, codeAround, belowSP = 1 << 20, 256, 128

// Write writes a minidump of a program as Breakpad's writer for Linux lays one out: threads with their stacks, modules with
// their build IDs, some code around each PC. The error tells which processor has no CONTEXT, or is of out.
func Write(out io.Writer, snap *target.Snapshot, opt WriteOptions) error {
	number, ok := processorOf(snap.Arch)
	if !ok {
		return fmt.Errorf("minidumps know no processor %s", snap.Arch)
	}
	w := writer{snap: snap, opt: opt, order: binary.LittleEndian}
	if snap.Arch.BigEndian {
		w.order = binary.BigEndian
	}
	if w.opt.MaxStack == 0 {
		w.opt.MaxStack = defaultStack
	}
	w.header()
	w.system(number)
	w.threads()
	w.modules()
	w.kernels()
	w.memoryList()
	w.exception()
	w.misc()
	w.names()
	_, err := out.Write(w.b)
	return err
}

// processorOf is the number of a processor in SystemInfo.
func processorOf(a *cpu.Arch) (number uint16, ok bool) {
	for n, p := range processors() {
		if p.name == a.Name && (!ok || n < number) { // arm64 as 12
			number, ok = n, true
		}
	}
	_, has := a.Layouts[cpu.MinidumpContext]
	return number, ok && has
}

// streamCount is how many streams Write writes.
const streamCount = 8

// kept is memory of the program, and where the dump has that.
type kept struct {
	at uint64
	location
}

// writer assembles a minidump.
type writer struct {
	snap     *target.Snapshot
	opt      WriteOptions
	order    binary.AppendByteOrder
	b        []byte
	n        int              // streams so far
	memory   []kept           // what the list of memory has
	contexts map[int]location // by thread ID
}

func (w *writer) u16(list ...uint16) {
	for _, v := range list {
		w.b = w.order.AppendUint16(w.b, v)
	}
}

func (w *writer) u32(list ...uint32) {
	for _, v := range list {
		w.b = w.order.AppendUint32(w.b, v)
	}
}

func (w *writer) u64(list ...uint64) {
	for _, v := range list {
		w.b = w.order.AppendUint64(w.b, v)
	}
}

func (w *writer) zero(n int) { w.b = append(w.b, make([]byte, n)...) }

// put overwrites a number of 32 bits.
func (w *writer) put(at int, v uint32) { w.order.AppendUint32(w.b[at:at], v) }

func (w *writer) header() {
	const signature, version = 0x504d_444d, 0xa793
	w.u32(signature, version, streamCount, headerSize, 0, 0)
	w.u64(0)
	w.zero(streamCount * directoryEntry)
}

// begin begins a stream of the directory, of so many bytes; what it refers to is appended behind.
func (w *writer) begin(typ uint32, size int) (from int) {
	w.zero(-len(w.b) & 7)
	from = len(w.b)
	at := headerSize + w.n*directoryEntry
	w.put(at, typ)
	w.put(at+4, uint32(size))
	w.put(at+8, uint32(from))
	w.n++
	return from
}

// list begins a list stream, and is where the first entry lies.
func (w *writer) list(typ uint32, n, size int) (entry int) {
	entry = w.begin(typ, 4+n*size) + 4
	w.u32(uint32(n))
	w.zero(n * size)
	return entry
}

func (w *writer) system(number uint16) {
	platform := uint32(linux)
	if w.snap.OS == "Android" {
		platform = android
	}
	w.begin(systemInfo, 56)
	w.u16(number, 0, 0)
	w.b = append(w.b, 1, 0)
	w.u32(0, 0, 0, platform, 0)
	w.zero(28)
}

// misc writes the process and its command line.
func (w *writer) misc() {
	const size, hasProcessID = 24, 1
	w.begin(miscInfo, size)
	w.u32(size, hasProcessID, uint32(w.snap.PID), 0, 0, 0)
	w.begin(linuxCmdLine, len(w.snap.Command))
	w.b = append(w.b, w.snap.Command...)
}

// threads writes the list of threads, and behind that their stacks and registers.
func (w *writer) threads() {
	list := w.snap.Threads
	entry := w.list(threadList, len(list), threadSize)
	w.contexts = make(map[int]location, len(list))
	for i := range list {
		t := &list[i]
		at, stack := w.stack(t)
		context := w.block(w.context(&t.Regs))
		w.contexts[t.ID] = context
		w.put(entry, uint32(t.ID))
		w.order.AppendUint64(w.b[entry+24:entry+24], at)
		for k, v := range []uint32{stack.size, stack.rva, context.size, context.rva} {
			w.put(entry+32+4*k, v)
		}
		if pc, _, ok := w.snap.Arch.PCOf(&t.Regs); ok {
			w.code(pc)
		}
		entry += threadSize
	}
}

// block appends bytes, and is where they lie.
func (w *writer) block(b []byte) location {
	l := location{uint32(len(b)), uint32(len(w.b))}
	w.b = append(w.b, b...)
	return l
}

// keep notes memory for the list.
func (w *writer) keep(at uint64, b []byte) location {
	l := w.block(b)
	if len(b) > 0 {
		w.memory = append(w.memory, kept{at, l})
	}
	return l
}

// stack writes a thread's stack, from below SP to where the captured memory ends.
func (w *writer) stack(t *target.Thread) (at uint64, l location) {
	sp, ok := t.Regs.Lookup(w.snap.Arch.SP)
	if !ok {
		return 0, l
	}
	sp &= w.snap.Arch.AddrMask() &^ 15
	at = sp - min(sp, belowSP)
	memory := w.snap.Of(t).Memory
	b := memory.Bytes(at)
	if len(b) == 0 {
		at = sp
		b = memory.Bytes(at)
	}
	b = b[:min(uint64(len(b)), w.opt.MaxStack)]
	if w.opt.Sanitize {
		b = w.sanitized(at, sp, b)
	}
	return at, w.keep(at, b)
}

// sanitized is a copy of a stack without what may be data of the user's.
func (w *writer) sanitized(at, sp uint64, stack []byte) []byte {
	const small, defaced = 4096, 0x0def_aced_0def_aced
	size := w.snap.Arch.RegSize
	own := target.Range{Lo: at, Hi: at + uint64(len(stack))}
	out := make([]byte, 0, len(stack))
	for i := 0; i+size <= len(stack); i += size {
		v := bin.Uint(stack[i:i+size], w.snap.Arch.BigEndian)
		_, code := w.snap.ModuleAt(v)
		switch {
		case at+uint64(i) < sp:
			v = 0
		case v > small && -v&w.snap.Arch.AddrMask() > small && !own.Contains(v) && !code:
			v = defaced
		}
		if size == 8 {
			out = w.order.AppendUint64(out, v)
		} else {
			out = w.order.AppendUint32(out, uint32(v))
		}
	}
	return out
}

// code writes some bytes around a PC.
func (w *writer) code(pc uint64) {
	from := pc - min(pc, codeAround/2)
	b := w.snap.Memory.Bytes(from)
	w.keep(from, b[:min(len(b), codeAround)])
}

// contextForm is the size of a CONTEXT, where its flags lie, and the flags that say that the general registers are there.
type contextForm struct {
	size, at int
	flags    uint32
}

// contexts has the form of each processor's CONTEXT.
func contexts() map[string]contextForm {
	return map[string]contextForm{
		"i386":    {716, 0, 0x1_0007},
		"x86_64":  {1232, 48, 0x10_0003},
		"arm":     {368, 0, 0x4000_0002},
		"aarch64": {912, 0, 0x40_0003},
		"mips":    {600, 0, 0x4_0002},
		"mips64":  {600, 0, 0x8_0002},
		"riscv32": {396, 0, 0x80_0002},
		"riscv64": {528, 0, 0x800_0002},
	}
}

// context is the CONTEXT of registers.
func (w *writer) context(regs *cpu.Registers) []byte {
	c := contexts()[w.snap.Arch.Name]
	b := make([]byte, c.size)
	w.order.AppendUint32(b[c.at:c.at], c.flags)
	for _, s := range w.snap.Arch.Layouts[cpu.MinidumpContext].Slots {
		v, _ := regs.Lookup(s.Reg)
		if s.Size == 8 {
			w.order.AppendUint64(b[s.Offset:s.Offset], v)
		} else {
			w.order.AppendUint32(b[s.Offset:s.Offset], uint32(v))
		}
	}
	return b
}

// modules writes the list of modules, and behind that their names and identities.
func (w *writer) modules() {
	entry := w.list(moduleList, len(w.snap.Modules), moduleSize)
	for _, m := range w.snap.Modules {
		name := w.text(m.Name)
		w.order.AppendUint64(w.b[entry:entry], m.Lo)
		w.put(entry+8, uint32(min(m.Hi-m.Lo, 1<<32-1)))
		w.put(entry+20, name)
		if m.BuildID != nil {
			id := w.block(append(w.order.AppendUint32(nil, bpEL), m.BuildID...))
			w.put(entry+76, id.size)
			w.put(entry+80, id.rva)
		}
		entry += moduleSize
	}
}

// text appends a MINIDUMP_STRING, and is where it lies.
func (w *writer) text(s string) uint32 {
	w.zero(-len(w.b) & 3)
	at := len(w.b)
	units := utf16.Encode([]rune(s))
	w.u32(uint32(2 * len(units)))
	w.u16(units...)
	w.u16(0)
	return uint32(at)
}

// maxOwnCode bounds code that is in no file.
const maxOwnCode = 64 << 10

// kernels keeps code that is in no file, but which chains lead through: the kernel's shared object, the page of a signal's
// trampoline.
func (w *writer) kernels() {
	for _, s := range w.snap.Memory.Segments() {
		m, inModule := w.snap.ModuleAt(s.Addr)
		if s.Perm&target.PermExec != 0 && len(s.Data) <= maxOwnCode && (!inModule || isKernels(m.Name)) {
			w.keep(s.Addr, s.Data)
		}
	}
}

// memoryList writes the list of what was kept.
func (w *writer) memoryList() {
	entry := w.list(memoryList, len(w.memory), memorySize)
	for _, m := range w.memory {
		w.order.AppendUint64(w.b[entry:entry], m.at)
		w.put(entry+8, m.size)
		w.put(entry+12, m.rva)
		entry += memorySize
	}
}

// exception writes why the program stopped, and in which thread.
func (w *writer) exception() {
	f, code := w.snap.Fault, uint32(requested)
	var flags uint32
	var address uint64
	thread := w.snap.Threads[0].ID
	if f != nil {
		thread, code, flags, address = f.Thread, uint32(f.Signal), uint32(int32(f.Code)), f.Address
	}
	w.begin(exception, 168)
	w.u32(uint32(thread), 0, code, flags)
	w.u64(0, address)
	w.zero(8 + 15*8)
	w.u32(w.contexts[thread].size, w.contexts[thread].rva)
}

func (w *writer) names() {
	n := 0
	for i := range w.snap.Threads {
		if w.snap.Threads[i].Name != "" {
			n++
		}
	}
	entry := w.list(threadNames, n, threadNameSize)
	for i := range w.snap.Threads {
		t := &w.snap.Threads[i]
		if t.Name == "" {
			continue
		}
		at := w.text(t.Name)
		w.put(entry, uint32(t.ID))
		w.order.AppendUint64(w.b[entry+4:entry+4], uint64(at))
		entry += threadNameSize
	}
}
