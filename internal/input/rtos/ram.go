package rtos

import (
	"context"
	"iter"
	"sort"

	"github.com/backsight/backsight/target"
)

// ram is a program's memory as words of its processor, and as control blocks: a block is known
// by the address of the word that has the saved SP.
type ram struct {
	ctx  context.Context // ends searches, which then have found nothing more
	mem  *target.Memory
	word uint64 // the size of one
	// big: the processor is big-endian.
	big  bool
	runs []target.Range // of memory without a gap
	// owners are the control blocks that are known by their owners, with their shapes.
	owners map[uint64][]shape
}

func newRAM(ctx context.Context, snap *target.Snapshot) *ram {
	m := &ram{ctx: ctx, mem: snap.Memory, word: uint64(snap.Arch.RegSize), big: snap.Arch.BigEndian}
	for _, seg := range snap.Memory.Segments() {
		r := target.Range{Lo: seg.Addr, Hi: seg.Addr + seg.Size()}
		if n := len(m.runs); n > 0 && m.runs[n-1].Hi == r.Lo {
			m.runs[n-1].Hi = r.Hi
			continue
		}
		m.runs = append(m.runs, r)
	}
	m.owners = m.owned()
	return m
}

// run is the run of memory that holds an address.
func (m *ram) run(addr uint64) (target.Range, bool) {
	i := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].Lo > addr }) - 1
	if i < 0 || !m.runs[i].Contains(addr) {
		return target.Range{}, false
	}
	return m.runs[i], true
}

// maxPointers bounds the words that are tried.
const maxPointers = 1 << 20

// pointers are the addresses of the words of memory that point to memory: one of them is the
// saved SP of each task.
func (m *ram) pointers() (out []uint64) {
	for at := range m.words() {
		sp, ok := m.mem.Uint(at, int(m.word))
		if !ok || sp%m.word != 0 || sp == 0 {
			continue
		}
		if _, ok := m.run(sp); ok {
			if out = append(out, at); len(out) == maxPointers {
				break
			}
		}
	}
	return out
}

// words are the addresses of the aligned words that were captured.
func (m *ram) words() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, seg := range m.mem.Segments() {
			skip := min(-seg.Addr&(m.word-1), uint64(len(seg.Data)))
			for at := range (target.Range{Lo: seg.Addr + skip, Hi: seg.Addr + uint64(len(seg.Data))}).Words(m.word) {
				if m.ctx.Err() != nil || !yield(at) {
					return
				}
			}
		}
	}
}

// lookup is a word of a control block, counted in words from the saved SP.
func (m *ram) lookup(block uint64, words int) (uint64, bool) {
	return m.mem.Uint(m.wordAt(block, words), int(m.word))
}

// wordAt is the address of that word.
func (m *ram) wordAt(block uint64, words int) uint64 { return block + m.word*uint64(int64(words)) }

// at is lookup, 0 where memory ends.
func (m *ram) at(block uint64, words int) uint64 {
	v, _ := m.lookup(block, words)
	return v
}

// byteAt is a byte of a control block, counted in bytes from the saved SP.
func (m *ram) byteAt(block uint64, off int) uint64 {
	v, _ := m.mem.Uint(block+uint64(int64(off)), 1)
	return v
}

// size is a word of a control block as a size. Sizes have 32 bits on 64-bit processors too.
func (m *ram) size(block uint64, words int) uint64 {
	if m.big && m.word == 8 {
		return m.at(block, words)
	}
	v, _ := m.mem.Uint(block+m.word*uint64(int64(words)), 4)
	return v
}

// halves is the lower half of a word of a control block as a size in words.
func (m *ram) halves(block uint64, words int) uint64 { return m.word * (m.at(block, words) & 0xffff) }
