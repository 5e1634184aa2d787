package macho

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// built is a Mach-O file for x86-64 under construction: one __TEXT segment at textBase with the
// sections that a test gives it, one __DATA segment, and __LINKEDIT.
type built struct {
	cpu      uint32 // 0: x86-64
	typ      uint32 // 0: MH_EXECUTE
	flags    uint32
	text     []sec
	data     []sec
	symbols  []sym
	extra    []byte   // further load commands
	ncmds    uint32   // how many these are
	linkedit []linked // what extra load commands refer to
}

type sec struct {
	name         string
	data         []byte
	flags, index uint32
}

type sym struct {
	name  string
	typ   uint8
	sect  uint8
	desc  uint16
	value uint64
}

// linked is a load command with the offset and the size of its data in __LINKEDIT.
type linked struct {
	cmd  uint32
	data []byte
}

const (
	textBase = 0x1_0000_0000
	page     = 0x1000
)

var le = binary.LittleEndian

func u32s(vs ...uint32) (b []byte) {
	for _, v := range vs {
		b = le.AppendUint32(b, v)
	}
	return b
}

func u64s(vs ...uint64) (b []byte) {
	for _, v := range vs {
		b = le.AppendUint64(b, v)
	}
	return b
}

func pad(s string, n int) []byte { return append([]byte(s), make([]byte, n-len(s))...) }

func command(id uint32, body []byte) []byte {
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	return append(u32s(id, uint32(8+len(body))), body...)
}

// segment makes LC_SEGMENT_64 with sections one after the other from firstAt on, in a file where
// offsets are addresses without textBase.
func segmentCommand(name string, addr, size, prot uint64, firstAt uint64, secs []sec) []byte {
	b := append(pad(name, 16), u64s(addr, size, addr-textBase, size)...)
	b = append(b, u32s(uint32(prot), uint32(prot), uint32(len(secs)), 0)...)
	for _, s := range secs {
		b = append(append(b, pad(s.name, 16)...), pad(name, 16)...)
		b = append(b, u64s(firstAt, uint64(len(s.data)))...)
		b = append(b, u32s(uint32(firstAt-textBase), 0, 0, 0, s.flags, s.index, 0, 0)...)
		firstAt += uint64(len(s.data))
	}
	return command(lcSegment64, b)
}

// textAt and dataAt are where the first sections lie.
const textAt, dataAt, linkeditAt = textBase + page, textBase + 2*page, textBase + 3*page

// bytes lays the file out: a page of headers, one of text, one of data, then __LINKEDIT.
func (b *built) bytes() []byte {
	cmds := segmentCommand("__PAGEZERO", 0, textBase, 0, 0, nil)
	le.PutUint64(cmds[8+16+16:], 0)
	le.PutUint64(cmds[8+16+24:], 0)
	cmds = append(cmds, segmentCommand("__TEXT", textBase, 2*page, protRead|protExec, textAt, b.text)...)
	cmds = append(cmds, segmentCommand("__DATA", dataAt, page, protRead|protWrite, dataAt, b.data)...)
	var edit []byte
	put := func(data []byte) uint32 {
		edit = append(edit, data...)
		return uint32(linkeditAt - textBase + len(edit) - len(data))
	}
	n := 4 + b.ncmds
	syms, strs := b.nlists()
	if len(b.symbols) > 0 {
		cmds = append(cmds, command(lcSymtab, u32s(put(syms), uint32(len(b.symbols)), put(strs), uint32(len(strs))))...)
		n++
	}
	for _, l := range b.linkedit {
		n++
		at := put(l.data)
		switch l.cmd {
		case lcDysymtab: // the indirect symbol table
			cmds = append(cmds, command(l.cmd, append(u32s(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0), u32s(at, uint32(len(l.data)/4), 0, 0, 0, 0)...))...)
		case lcDyldInfo: // the rebase program; the rest comes by fields
			cmds = append(cmds, command(l.cmd, append(u32s(at, uint32(len(l.data))), make([]byte, 32)...))...)
		case lcDyldInfo | lcReqDyld: // the bind program
			cmds = append(cmds, command(l.cmd, append(u32s(0, 0, at, uint32(len(l.data))), make([]byte, 24)...))...)
		default:
			cmds = append(cmds, command(l.cmd, u32s(at, uint32(len(l.data))))...)
		}
	}
	cmds = append(cmds, segmentCommand("__LINKEDIT", linkeditAt, uint64(len(edit)), protRead, 0, nil)...)
	cmds = append(cmds, b.extra...)
	return b.join(cmds, n, edit)
}

func (b *built) join(cmds []byte, n uint32, edit []byte) []byte {
	processor, typ := b.cpu, b.typ
	if processor == 0 {
		processor = 0x0100_0007
	}
	if typ == 0 {
		typ = mhExecute
	}
	out := u32s(magic64, processor, 3, typ, n, uint32(len(cmds)), b.flags, 0)
	out = append(out, cmds...)
	out = append(out, make([]byte, page-len(out))...)
	for _, secs := range [][]sec{b.text, b.data} {
		start := len(out)
		for _, s := range secs {
			out = append(out, s.data...)
		}
		out = append(out, make([]byte, start+page-len(out))...)
	}
	return append(out, edit...)
}

func (b *built) nlists() (syms, strs []byte) {
	strs = []byte{0}
	for _, s := range b.symbols {
		syms = append(syms, u32s(uint32(len(strs)))...)
		syms = append(syms, s.typ, s.sect)
		syms = append(le.AppendUint16(syms, s.desc), u64s(s.value)...)
		strs = append(append(strs, s.name...), 0)
	}
	return syms, strs
}

// testArchs describe what choosing a processor needs, so that these tests depend on no decoder.
func testArchs() cpu.Set {
	return cpu.Set{
		{Name: "x86_64", AddrSize: 8, RegSize: 8, MachO: 0x0100_0007, InsnAlign: 1},
		{Name: "aarch64", AddrSize: 8, RegSize: 8, MachO: 0x0100_000c, InsnAlign: 4},
		{Name: "i386", AddrSize: 4, RegSize: 4, MachO: 7, InsnAlign: 1},
	}
}

func options() image.Options { return image.Options{Archs: testArchs()} }

func parse(t testing.TB, data []byte) *image.Image {
	t.Helper()
	img, err := image.Parse("test", data, []image.Format{Format()}, options())
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func code(name string, n int) sec {
	return sec{name: name, data: make([]byte, n), flags: attrPureInstruction}
}
