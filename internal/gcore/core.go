//go:build linux

package gcore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/procfs"
)

// Of makes a core of a process. The process goes on as soon as its stacks are copied, or with Options.Freeze when the core is released.
func Of(pid int, opt Options) (*Core, error) {
	type made struct {
		core *Core
		err  error
	}
	done, end, gone := make(chan made), make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the thread that traces; its end lets go what it still traces
		core, s, err := of(pid, opt)
		done <- made{core, err}
		<-end
		s.letGo()
		close(gone)
	}()
	m := <-done
	release := sync.OnceFunc(func() {
		close(end)
		<-gone
	})
	if m.err != nil || !opt.Freeze {
		release()
		return m.core, m.err
	}
	m.core.release = release
	return m.core, nil
}

// of makes a core, and returns the threads that still stand.
func of(pid int, opt Options) (*Core, *stopped, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	b, err := builderOf(dir, opt.Archs)
	if err != nil {
		return nil, &stopped{}, err
	}
	mem, err := os.Open(dir + "/mem")
	if err != nil {
		return nil, &stopped{}, fmt.Errorf("process %d: not allowed; be its owner or root", pid)
	}
	defer mem.Close()
	read := &memory{ReaderAt: mem}
	words := b.words(read)
	var runtimes []uint64
	if maps, err := procfs.Maps(dir); err == nil { // which takes no time of the process
		runtimes = b.golang(words, maps, opt.total())
	}
	waits := procfs.Waits(dir) // stopped, all wait for us
	start := time.Now()
	s, err := stop(pid)
	if err == nil {
		err = s.registers()
	}
	if err != nil {
		return nil, s, err
	}
	if b.maps, err = procfs.Maps(dir); err != nil {
		return nil, s, fmt.Errorf("process %d: its mappings cannot be read", pid)
	}
	b.threads = s.threads
	b.pieces = stacks(b.maps, b.sps(), &opt, opt.total())
	fill(pid, mem, b.pieces, nil)
	read.forget()
	more := b.goroutines(words, runtimes, opt.total())
	fill(pid, mem, more, b.room)
	if !opt.Freeze {
		s.release()
	}
	core := &Core{Stopped: time.Since(start), Missed: len(s.late), Threads: procfs.ThreadNames(dir), Waits: waits}
	last := rest(b.maps, b.sps(), opt.total())
	fill(0, mem, last, nil) // of a process that has gone on, and may be another by now
	b.pieces = apart(slices.Concat(b.pieces, more, last))
	b.auxv, _ = os.ReadFile(dir + "/auxv")
	core.parts = b.core(b.notes())
	return core, s, nil
}

// builder builds an ELF core.
type builder struct {
	ident   []byte // the head of the program's file
	order   order
	wide    bool // of 64 bits
	arch    *cpu.Arch
	maps    []procfs.Mapping
	threads []thread
	pieces  []piece
	auxv    []byte
	room    []byte // for goroutines
}

// order is the byte order of the process.
type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// Offsets in an ELF header.
const identSize, machineAt = 64, 18

// flagsAt is where an ELF header has the processor's flags.
func (b *builder) flagsAt() int {
	if b.wide {
		return 48
	}
	return 36
}

// width is how many bytes an address has in the file.
func (b *builder) width() int {
	if b.wide {
		return 8
	}
	return 4
}

// headers are how many bytes the ELF header and a program header have.
func (b *builder) headers() (file, segment int) {
	if b.wide {
		return 64, 56
	}
	return 52, 32
}

// builderOf begins a core of a process, whose program tells class, byte order and processor.
func builderOf(dir string, archs cpu.Set) (*builder, error) {
	f, err := os.Open(dir + "/exe")
	pid := filepath.Base(dir)
	switch {
	case err == nil:
		defer f.Close()
	case os.IsPermission(err):
		return nil, fmt.Errorf("process %s: not allowed; be its owner or root", pid)
	default:
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("process %s: not found", pid)
		}
		return nil, fmt.Errorf("process %s has no program: a thread of the kernel, or a zombie", pid)
	}
	ident := make([]byte, identSize)
	n, _ := f.ReadAt(ident, 0)
	b, err := identified(ident[:n], archs)
	if err != nil {
		return nil, fmt.Errorf("process %s: its program is %w", pid, err)
	}
	return b, nil
}

// identified begins a core by the head of an ELF file, which tells class, byte order and processor.
func identified(ident []byte, archs cpu.Set) (*builder, error) {
	if len(ident) < identSize || string(ident[:4]) != "\x7fELF" {
		return nil, errors.New("no ELF file")
	}
	b := &builder{ident: ident, order: binary.LittleEndian, wide: ident[4] == 2}
	if ident[5] == 2 {
		b.order = binary.BigEndian
	}
	arch, ok := archs.ByELF(b.order.Uint16(ident[machineAt:]), ident[4], ident[5] == 2, b.order.Uint32(ident[b.flagsAt():]), 0)
	if !ok {
		return nil, errors.New("of a processor that is not supported")
	}
	b.arch = arch
	return b, nil
}

// registers are those of a thread.
func (b *builder) registers(i int) cpu.Registers {
	return b.arch.Read(b.arch.Layouts[cpu.LinuxPrstatus], b.threads[i].regs)
}

// sps are the stack pointers.
func (b *builder) sps() (list []uint64) {
	for i := range b.threads {
		regs := b.registers(i)
		if sp, ok := regs.Lookup(b.arch.SP); ok {
			list = append(list, sp)
		}
	}
	return list
}

// word appends an integer of the class's width.
func (b *builder) word(dst []byte, v uint64) []byte {
	if b.wide {
		return b.order.AppendUint64(dst, v)
	}
	return b.order.AppendUint32(dst, uint32(v))
}

// Kinds of notes and segments.
const (
	ntAuxv, ntFile      = 6, 0x46494c45
	ptLoad, ptNote      = 1, 4
	coreType, idVersion = 4, 1
)

// note appends a note of CORE.
func (b *builder) note(dst []byte, kind uint32, desc []byte) []byte {
	for _, v := range [...]uint32{5, uint32(len(desc)), kind} {
		dst = b.order.AppendUint32(dst, v)
	}
	dst = append(append(dst, "CORE\x00\x00\x00\x00"...), desc...)
	return append(dst, make([]byte, -len(desc)&3)...)
}

// prstatus is where pr_reg and pr_pid are in struct elf_prstatus.
func (b *builder) prstatus() (regs, pid int) {
	if b.wide {
		return 112, 32
	}
	return 72, 24
}

// notes are those of the threads, of the auxiliary vector and of the files that are mapped.
func (b *builder) notes() (out []byte) {
	for i := range b.threads {
		t := &b.threads[i]
		head, pid := b.prstatus()
		desc := append(make([]byte, head), t.regs...)
		b.order.PutUint32(desc[pid:], uint32(t.id))
		out = b.note(out, prstatus, append(desc, make([]byte, 8)...))
	}
	out = b.note(out, ntAuxv, b.auxv)
	var files []*procfs.Mapping
	for i := range b.maps {
		if m := &b.maps[i]; m.Inode != 0 && strings.HasPrefix(m.Name, "/") {
			files = append(files, m)
		}
	}
	desc := b.word(b.word(nil, uint64(len(files))), page)
	for _, m := range files {
		desc = b.word(b.word(b.word(desc, m.Lo), m.Hi), m.Off/page)
	}
	for _, m := range files {
		desc = append(desc, strings.TrimSuffix(m.Name, " (deleted)")+"\x00"...)
	}
	return b.note(out, ntFile, desc)
}

// core are the parts of the core, with these notes.
func (b *builder) core(notes []byte) (parts [][]byte) {
	header, entry := b.headers()
	count := 1 + len(b.pieces)
	at := uint64(header + entry*count)
	end := at + uint64(len(notes))
	for i := range b.pieces {
		end += uint64(len(b.pieces[i].data))
	}
	out := b.header(make([]byte, 0, at), count, end)
	out = b.segment(out, ptNote, 0, at, 0, uint64(len(notes)), 0)
	at += uint64(len(notes))
	for i := range b.pieces {
		p := &b.pieces[i]
		out = b.segment(out, ptLoad, flagsOf(p.mode), at, p.lo, uint64(len(p.data)), uint64(len(p.data)))
		at += uint64(len(p.data))
	}
	parts = append(parts, out, notes)
	for i := range b.pieces {
		parts = append(parts, b.pieces[i].data)
	}
	if count >= manyEntries {
		parts = append(parts, b.section(count))
	}
	return parts
}

// manyEntries in an ELF header (PN_XNUM) says that a section header has the number of program headers (elf(5), e_phnum).
const manyEntries = 0xffff

// section is a section header with a number of program headers, as the kernel writes it at the end of a core.
func (b *builder) section(entries int) []byte {
	out := make([]byte, 64)
	info := 44
	if !b.wide {
		out, info = out[:40], 28
	}
	b.order.PutUint32(out[info:], uint32(entries))
	return out
}

// apart are the pieces in the order of their addresses, without those that others hold: threads may run on one stack.
func apart(pieces []piece) (list []piece) {
	slices.SortFunc(pieces, func(x, y piece) int { return cmp.Compare(x.lo, y.lo) })
	var end uint64
	for _, p := range pieces {
		if over := end - min(end, p.lo); over < p.size {
			p.lo, p.size, p.data = p.lo+over, p.size-over, p.data[min(over, uint64(len(p.data))):]
			list, end = append(list, p), p.lo+p.size
		}
	}
	return list
}

// header appends the ELF header, with the processor's fields of the program's. end is where the core's memory ends.
func (b *builder) header(out []byte, entries int, end uint64) []byte {
	size, entry := b.headers()
	section, sections := 0, 0
	if entries >= manyEntries {
		entries, section, sections = manyEntries, len(b.section(0)), 1
	} else {
		end = 0
	}
	out = append(out, b.ident[:16]...)
	out = b.order.AppendUint16(out, coreType)
	out = append(out, b.ident[machineAt:machineAt+2]...)
	out = b.order.AppendUint32(out, idVersion)
	out = b.word(b.word(b.word(out, 0), uint64(size)), end)
	flags := b.flagsAt()
	out = append(out, b.ident[flags:flags+4]...)
	for _, v := range [...]int{size, entry, entries, section, sections, 0} {
		out = b.order.AppendUint16(out, uint16(v))
	}
	return out
}

// segment appends a program header; its order differs between the classes.
func (b *builder) segment(dst []byte, kind, flags uint32, off, addr, filled, size uint64) []byte {
	dst = b.order.AppendUint32(dst, kind)
	if b.wide {
		dst = b.order.AppendUint32(dst, flags)
	}
	for _, v := range [...]uint64{off, addr, 0, filled, size} {
		dst = b.word(dst, v)
	}
	if !b.wide {
		dst = b.order.AppendUint32(dst, flags)
	}
	return b.word(dst, 1)
}

// flagsOf are the permissions of a segment: PF_X, PF_W, PF_R.
func flagsOf(mode string) (f uint32) {
	for i, bit := range [...]uint32{4, 2, 1} {
		if i < len(mode) && mode[i] != '-' {
			f |= bit
		}
	}
	return f
}
