//go:build linux

package gcore

import (
	"io"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/goroutines"
	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/target"
)

// memory is a process's memory for package goroutines. What is read stays for a while, a block at a time, for structures of the runtime
// lie side by side, and each system call takes longer than to copy a block.
type memory struct {
	io.ReaderAt
	slots [64]slot // by the block's number
}

// slot has a block, as much of it as there is. Its room is used again, for new pages take as long as to fill them.
type slot struct {
	room, data []byte
	number     uint64
}

// block is as large as the runtime's spans of small objects.
const block = 16 << 10

// Read implements goroutines.Memory.
func (m *memory) Read(addr uint64, dst []byte) (n int) {
	for n < len(dst) {
		at := addr + uint64(n)
		s := &m.slots[at/block%uint64(len(m.slots))]
		if s.number != at/block || s.data == nil {
			if s.room == nil {
				s.room = make([]byte, block)
			}
			got, _ := m.ReadAt(s.room, int64(at/block*block))
			s.data, s.number = s.room[:got], at/block
		}
		if at%block >= uint64(len(s.data)) {
			break
		}
		n += copy(dst[n:], s.data[at%block:])
	}
	return n
}

// forget makes memory be read again.
func (m *memory) forget() {
	for i := range m.slots {
		m.slots[i].data = nil
	}
}

// maxGlobals bounds what is searched of one mapping for the runtime's variables, and of all.
const maxGlobals, maxAllGlobals = 16 << 20, 64 << 20

// globals are where variables of binaries are: what is written of files, and what lies right behind (.bss).
func globals(maps []procfs.Mapping) (list []target.Range) {
	left, end := uint64(maxAllGlobals), uint64(0)
	for i := range maps {
		m := &maps[i]
		if !strings.HasPrefix(m.Perms, "rw") || m.Inode == 0 && (m.Lo != end || m.Name != "" && m.Name != "[heap]") {
			continue
		}
		size := min(m.Hi-m.Lo, maxGlobals, left)
		list, end, left = append(list, target.Range{Lo: m.Lo, Hi: m.Lo + size}), m.Hi, left-size
	}
	return list
}

// golang finds the runtimes of Go in a process, their lists of goroutines, and sets room aside, so many bytes at most.
func (b *builder) golang(r goroutines.Reader, maps []procfs.Mapping, most uint64) (variables []uint64) {
	for _, data := range globals(maps) {
		if l, ok := r.Find([]target.Range{data}, func(goroutines.List) bool { return true }); ok {
			variables = append(variables, l.Variable)
			b.room = newRoom(min(uint64(l.Count)*commonStack, most))
		}
	}
	return variables
}

// commonStack is about what a goroutine takes: its g, and a few calls.
const commonStack = 1 << 10

// newRoom is room whose pages are there.
func newRoom(size uint64) []byte {
	room := make([]byte, size)
	for i := 0; i < len(room); i += page {
		room[i] = 0
	}
	return room
}

// words reads words of a process.
func (b *builder) words(mem *memory) goroutines.Reader {
	return goroutines.Reader{Memory: mem, Word: b.width(), Big: b.arch.BigEndian}
}

// goroutines are what the lists lead to: each goroutine's stack, its g and what the runtime keeps of threads, which are pages as a dump of
// the kernel has them. So many bytes of these at most.
func (b *builder) goroutines(r goroutines.Reader, variables []uint64, left uint64) []piece {
	var list, stacks []piece // each nearly in the order of addresses
	add := func(list *[]piece, lo, hi, unit uint64) bool {
		size := hi - lo
		if lo == 0 || size > left || hi > ^uint64(0)-page {
			return lo == 0
		}
		left -= size
		lo &^= unit - 1
		*list = joinedTo(*list, piece{lo: lo, size: (hi+unit-1)&^(unit-1) - lo, mode: "rw-p"}, aside)
		return true
	}
	g := make([]byte, r.SizeG())
	worker := func(addr uint64) { // the g0 of a thread's m, or a goroutine
		if addr != 0 && r.Read(addr, g) == len(g) {
			add(&list, addr, addr+uint64(len(g)), page)
			if m := r.M(g); m != 0 {
				add(&list, m, m+uint64(len(g)), page)
			}
		}
	}
	for _, at := range variables {
		l := r.List(at)
		add(&list, at, at+3*uint64(r.Word), page)
		add(&list, l.Array, l.Array+uint64(l.Count*r.Word), page)
		r.Each(l, func(addr uint64, g []byte) bool {
			used, _ := r.Stack(g)
			used.Hi = min(used.Hi, used.Lo+maxData)
			if m := r.M(g); m != 0 {
				add(&list, m, m+uint64(len(g)), page)
			}
			return add(&list, addr, addr+uint64(len(g)), page) && add(&stacks, used.Lo, used.Hi, 1)
		})
	}
	if register := goroutines.Register(b.arch); len(variables) > 0 {
		for i := range b.threads {
			regs := b.registers(i)
			if v, ok := regs.Lookup(register); ok {
				worker(v)
			}
		}
	}
	return slices.Concat(joined(list), joined(stacks))
}

// joined makes one piece of those that lie side by side; where that leaves too many, of those on one page.
func joined(list []piece) []piece {
	list = apart(list)
	for _, gap := range [...]uint64{aside, page} {
		out := list[:0]
		for _, p := range list {
			out = joinedTo(out, p, gap)
		}
		if list = out; len(list) <= maxPieces {
			break
		}
	}
	return list[:min(len(list), maxPieces)]
}

// aside is how much may lie between two pieces that are copied as one: what a program header takes.
const aside = 64

// joinedTo appends a piece to a list, or to the last piece if that begins before and less than gap bytes are between them.
func joinedTo(list []piece, p piece, gap uint64) []piece {
	if n := len(list); n > 0 {
		if last := &list[n-1]; last.lo <= p.lo && p.lo-last.lo <= last.size+gap {
			last.size = max(last.size, p.lo+p.size-last.lo)
			return list
		}
	}
	return append(list, p)
}

// maxPieces leaves room for other pieces in what readers of cores take (internal/input/elfcore: 262,144 program headers of a small core).
const maxPieces = 200_000
