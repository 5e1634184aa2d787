package gcore

import (
	"encoding/binary"
	"sort"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/procfs"
)

const page = 4096

// piece is memory from lo on: size bytes that are wanted, data that were there; nil where only its place is known.
type piece struct {
	lo, size uint64
	data     []byte
	mode     string
}

// thread is one that stands still.
type thread struct {
	id     int
	signal int // that was about to be delivered
	regs   []byte
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

// word appends an integer of the class's width.
func (b *builder) word(dst []byte, v uint64) []byte {
	if b.wide {
		return b.order.AppendUint64(dst, v)
	}
	return b.order.AppendUint32(dst, uint32(v))
}

// Kinds of notes and segments.
const (
	prstatus            = 1 // NT_PRSTATUS
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
		out = b.note(out, prstatus, append(desc, make([]byte, b.width())...)) // pr_fpvalid
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
		size := uint64(len(p.data))
		if p.data == nil {
			size = p.size
		}
		out = b.segment(out, ptLoad, flagsOf(p.mode), at, p.lo, uint64(len(p.data)), size)
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
	sort.Slice(pieces, func(x, y int) bool { return pieces[x].lo < pieces[y].lo })
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
