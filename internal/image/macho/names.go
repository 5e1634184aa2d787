package macho

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// names finds the symbol of an address. The first addresses are looked up by going through the
// tables: sorting them takes as long as some ten passes, and most runs ask for a few addresses.
type names struct {
	scans atomic.Int64

	once  sync.Once
	index []entry // sorted by address, the best one of each
}

// maxScans is how many addresses are looked up without the index.
const maxScans = 8

// entry is a symbol by where it begins: of table number table, the i-th.
type entry struct {
	addr  uint64
	i     uint32
	table uint8 // exportsTable: the exports trie
	rank  uint8 // among those of an address
}

const (
	exportsTable = 255
	exportsRank  = 3 // what the trie has is what other files see
)

// better orders entries by address, those of one address by how well they name it, the first of
// equals last.
func (e *entry) better(than *entry) int {
	return cmp.Or(cmp.Compare(e.addr, than.addr), cmp.Compare(e.rank, than.rank), cmp.Compare(than.table, e.table), cmp.Compare(than.i, e.i))
}

// tables are the symbols of an image: its tables, the file's own first, and what its exports trie
// has.
type tables struct {
	img     *image.Image
	nlist   []symbols
	exports []export
}

// code splits a symbol's value into address and ISA mode, which ARM files keep in n_desc.
func (t *tables) code(s *nlist) (addr uint64, mode cpu.Mode) {
	addr, mode = t.img.Arch.SplitCode(s.value)
	if t.img.Arch.ISABit && s.desc&nARMThumbDef != 0 {
		mode = 1
	}
	return addr, mode
}

// functions calls yield for every symbol that names code, until it returns false.
func (t *tables) functions(yield func(e entry, mode cpu.Mode) bool) {
	for n := range t.nlist {
		syms := &t.nlist[n]
		for i := range syms.len() {
			s := syms.at(i)
			if !syms.function(&s) {
				continue
			}
			if addr, mode := t.code(&s); !yield(entry{addr, uint32(i), uint8(n), s.rank()}, mode) {
				return
			}
		}
	}
	for i := range t.exports {
		addr, mode := t.img.Arch.SplitCode(t.exports[i].addr)
		if t.img.Segments.Executable(addr) && !yield(entry{addr, uint32(i), exportsTable, exportsRank}, mode) {
			return
		}
	}
}

// nearest is the symbol that begins last at or below an address, by one pass over the tables.
func (t *tables) nearest(addr uint64) (best entry, ok bool) {
	take := func(e entry) {
		if e.addr <= addr && (!ok || e.better(&best) >= 0) {
			best, ok = e, true
		}
	}
	for n := range t.nlist {
		syms := &t.nlist[n]
		for i := syms.before(syms.len(), best.addr, addr); i >= 0; i = syms.before(i, best.addr, addr) {
			if s := syms.at(i); syms.function(&s) {
				at, _ := t.code(&s)
				take(entry{at, uint32(i), uint8(n), s.rank()})
			}
		}
	}
	for i := range t.exports {
		if at, _ := t.img.Arch.SplitCode(t.exports[i].addr); at <= addr && at >= best.addr && t.img.Segments.Executable(at) {
			take(entry{at, uint32(i), exportsTable, exportsRank})
		}
	}
	return best, ok
}

// symbol makes the symbol of an entry.
func (t *tables) symbol(e *entry) image.Symbol {
	if e.table == exportsTable {
		x := &t.exports[e.i]
		_, mode := t.img.Arch.SplitCode(x.addr)
		return image.Symbol{Name: plainName(x.name), Addr: e.addr, Mode: mode}
	}
	s := t.nlist[e.table].at(int(e.i))
	_, mode := t.code(&s)
	return image.Symbol{Name: t.nlist[e.table].name(&s), Addr: e.addr, Mode: mode}
}

// at finds the symbol that begins last at or below an address.
func (n *names) at(t *tables, addr uint64) (entry, bool) {
	if n.scans.Add(1) <= maxScans {
		return t.nearest(addr)
	}
	n.once.Do(func() { n.build(t) })
	i, found := slices.BinarySearchFunc(n.index, addr, func(e entry, a uint64) int { return cmp.Compare(e.addr, a) })
	if !found {
		i--
	}
	if i < 0 {
		return entry{}, false
	}
	return n.index[i], true
}

func (n *names) build(t *tables) {
	t.functions(func(e entry, _ cpu.Mode) bool {
		n.index = append(n.index, e)
		return true
	})
	x := n.index
	slices.SortFunc(x, func(a, b entry) int { return a.better(&b) })
	last := 0
	for i := range x { // of each address the last
		if i+1 == len(x) || x[i+1].addr != x[i].addr {
			x[last] = x[i]
			last++
		}
	}
	n.index = slices.Clip(x[:last])
}
