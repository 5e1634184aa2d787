package macho

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/image"
)

// index answers which symbol begins last at or below an address: entries sorted by address, of
// each address the best one.
type index []entry

// entry is where a symbol begins: of table number table, the i-th.
type entry struct {
	addr  uint64
	table uint32 // exportsTable: an entry of the exports trie
	i     uint32
}

// exportsTable is the table number of what the exports trie has.
const exportsTable = ^uint32(0)

// maxScans is how many addresses are looked up by going through the tables before the index is
// built: sorting 500,000 symbols takes as long as some ten passes.
const maxScans = 8

// SymbolAt implements image.Container. Symbols have no sizes: one reaches to the next, to where
// the linker says that another function starts, and to the end of its section.
func (c *container) SymbolAt(addr uint64) (image.Symbol, bool) {
	if !c.img.Executable(addr) {
		return image.Symbol{}, false
	}
	e, ok := c.nearest(addr)
	if start, _, _ := c.FunctionAt(addr); !ok || start > e.addr {
		return image.Symbol{}, false
	}
	if s, ok := c.main.sectionAt(addr); ok && e.addr < s.addr {
		return image.Symbol{}, false
	}
	return c.symbol(&e, addr)
}

// nearest is the symbol that begins last at or below an address.
func (c *container) nearest(addr uint64) (entry, bool) {
	if c.scans.Add(1) <= maxScans {
		return c.scan(addr)
	}
	c.indexOnce.Do(func() { c.byAddr = c.newIndex() })
	i, found := slices.BinarySearchFunc(c.byAddr, addr, func(e entry, a uint64) int { return cmp.Compare(e.addr, a) })
	if !found {
		i--
	}
	if i < 0 {
		return entry{}, false
	}
	return c.byAddr[i], true
}

// scan finds what the index finds, by one pass over the tables.
func (c *container) scan(addr uint64) (best entry, ok bool) {
	take := func(e entry) {
		if e.addr <= addr && (!ok || c.better(&e, &best) >= 0) {
			best, ok = e, true
		}
	}
	for n, t := range c.tables() {
		for i := t.next(0, best.addr, addr); i < t.len(); i = t.next(i+1, best.addr, addr) {
			if s := t.at(i); t.function(&s) {
				at, _ := c.code(&s)
				take(entry{at, uint32(n), uint32(i)})
			}
		}
	}
	c.eachExport(take)
	return best, ok
}

func (c *container) newIndex() index {
	var x index
	c.each(func(e entry) { x = append(x, e) })
	slices.SortStableFunc(x, func(a, b entry) int { return -c.better(&b, &a) })
	last := 0
	for i := range x { // of each address the last
		if i+1 == len(x) || x[i+1].addr != x[i].addr {
			x[last] = x[i]
			last++
		}
	}
	return slices.Clip(x[:last])
}

// better orders entries by address, those of one address by how well they name it, the first of
// equals last.
func (c *container) better(a, b *entry) int {
	if d := cmp.Compare(a.addr, b.addr); d != 0 {
		return d
	}
	if d := cmp.Compare(c.rank(a), c.rank(b)); d != 0 {
		return d
	}
	if d := cmp.Compare(b.table, a.table); d != 0 {
		return d
	}
	return cmp.Compare(b.i, a.i)
}

func (c *container) rank(e *entry) int {
	if e.table == exportsTable {
		return 3
	}
	s := c.tables()[e.table].at(int(e.i))
	return s.rank()
}

// each calls yield for every symbol that names code.
func (c *container) each(yield func(entry)) {
	for n, t := range c.tables() {
		for i := range t.len() {
			if s := t.at(i); t.function(&s) {
				addr, _ := c.code(&s)
				yield(entry{addr, uint32(n), uint32(i)})
			}
		}
	}
	c.eachExport(yield)
}

func (c *container) eachExport(yield func(entry)) {
	for i, e := range c.exported() {
		if addr, _ := c.img.Arch.SplitCode(e.addr); c.img.Executable(addr) {
			yield(entry{addr, exportsTable, uint32(i)})
		}
	}
}

// symbol makes the symbol of an entry that covers addr.
func (c *container) symbol(e *entry, addr uint64) (image.Symbol, bool) {
	s := image.Symbol{Addr: e.addr}
	if e.table == exportsTable {
		x := c.exported()[e.i]
		s.Name = x.name
		_, s.Mode = c.img.Arch.SplitCode(x.addr)
	} else {
		t := c.tables()[e.table]
		n := t.at(int(e.i))
		s.Name = t.name(&n)
		_, s.Mode = c.code(&n)
	}
	return s, s.Name != ""
}

// sectionAt is the section that holds an address.
func (f *file) sectionAt(addr uint64) (*section, bool) {
	for i := range f.sections {
		if s := &f.sections[i]; addr-s.addr < s.size {
			return s, true
		}
	}
	return nil, false
}
