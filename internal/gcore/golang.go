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

// memory is a process's memory for package goroutines. What is read stays, a block at a time, for structures of the runtime lie side
// by side, and each system call takes longer than to copy a block.
type memory struct {
	io.ReaderAt
	blocks map[uint64][]byte
}

// block is as large as the runtime's spans of small objects; maxBlocks bounds what stays.
const block, maxBlocks = 16 << 10, 1 << 9

// Read implements goroutines.Memory.
func (m *memory) Read(addr uint64, dst []byte) (n int) {
	for n < len(dst) {
		at := addr + uint64(n)
		b, known := m.blocks[at/block]
		if !known {
			b = make([]byte, block)
			got, _ := m.ReadAt(b, int64(at/block*block))
			b = b[:got]
			if len(m.blocks) >= maxBlocks {
				clear(m.blocks)
			}
			m.blocks[at/block] = b
		}
		if at%block >= uint64(len(b)) {
			break
		}
		n += copy(dst[n:], b[at%block:])
	}
	return n
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

// golang finds the runtimes of Go in a process: their lists of goroutines.
func (b *builder) golang(mem io.ReaderAt, maps []procfs.Mapping) (variables []uint64) {
	r := b.words(mem)
	for _, data := range globals(maps) {
		if l, ok := r.Find([]target.Range{data}, func(goroutines.List) bool { return true }); ok {
			variables = append(variables, l.Variable)
		}
	}
	return variables
}

// words reads words of a process.
func (b *builder) words(mem io.ReaderAt) goroutines.Reader {
	return goroutines.Reader{Memory: &memory{mem, map[uint64][]byte{}}, Word: b.width(), Big: b.arch.BigEndian}
}

// goroutines are what the lists lead to: each goroutine's g and stack, and what the runtime keeps of threads. So many bytes at most.
func (b *builder) goroutines(mem io.ReaderAt, variables []uint64, left uint64) (list []piece) {
	r := b.words(mem)
	add := func(lo, hi uint64) bool {
		if size := hi - lo; lo == 0 || size > left {
			return lo == 0
		}
		left -= hi - lo
		list = append(list, piece{lo: lo, size: hi - lo, mode: "rw-p"})
		return true
	}
	g := make([]byte, r.SizeG())
	worker := func(addr uint64) { // the g0 of a thread's m, or a goroutine
		if addr != 0 && r.Read(addr, g) == len(g) {
			add(addr, addr+uint64(len(g)))
			if m := r.M(g); m != 0 {
				add(m, m+uint64(len(g)))
			}
		}
	}
	for _, at := range variables {
		l := r.List(at)
		add(at, at+3*uint64(r.Word))
		add(l.Array, l.Array+uint64(l.Count*r.Word))
		r.Each(l, func(addr uint64, g []byte) bool {
			used, _ := r.Stack(g)
			used.Hi = min(used.Hi, used.Lo+maxData)
			if m := r.M(g); m != 0 {
				add(m, m+uint64(len(g)))
			}
			return add(addr, addr+uint64(len(g))) && add(used.Lo, used.Hi)
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
	return whole(list)
}

// whole makes pages of pieces, and one piece of those that touch: a core has room for 65,535.
func whole(list []piece) (out []piece) {
	for i := range list {
		end := (list[i].lo + list[i].size + page - 1) &^ (page - 1)
		list[i].lo &^= page - 1
		list[i].size = end - list[i].lo
	}
	list = apart(list)
	for _, p := range list {
		if last := len(out) - 1; last >= 0 && out[last].lo+out[last].size == p.lo {
			out[last].size += p.size
		} else {
			out = append(out, p)
		}
	}
	return slices.Clip(out[:min(len(out), maxPieces)])
}

// maxPieces leaves room for mappings.
const maxPieces = 50_000
