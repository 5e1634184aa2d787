package elf

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// symbols are the symbols of an image, with two indexes. An index is made once some questions have been
// answered without it.
type symbols struct {
	of        *image.Image
	tables    func() []symtab // finds the tables once
	scans     atomic.Int64    // addresses that were looked up without the index
	recent    recent
	indexOnce sync.Once
	byAddr    symbolIndex
	named     atomic.Int64 // names, likewise
	namesOnce sync.Once
	byName    nameIndex
}

// index builds the symbol index once.
func (all *symbols) index() *symbolIndex {
	all.indexOnce.Do(func() { all.byAddr = newIndex(all.of, all.tables()) })
	return &all.byAddr
}

// findTables selects the tables worth reading. A full table, of the file or of
// its debug file, has everything that .dynsym has. Where there is none,
// .gnu_debugdata adds the local functions.
func (c *container) findTables() []symtab {
	tables := c.tablesOfFiles()
	for i := range tables {
		tables[i].img = c.img
	}
	return tables
}

func (c *container) tablesOfFiles() []symtab {
	if t := c.main.sectionTable(".symtab"); t.len() > 0 {
		return []symtab{t}
	}
	if d := c.debugFile(); d != nil {
		if t := d.sectionTable(".symtab"); t.len() > 0 {
			return []symtab{t}
		}
	}
	dynsym := *c.dynamicSymbols()
	m := c.miniDebugInfo()
	if m == nil {
		dynsym.exports = true
		return []symtab{dynsym}
	}
	return []symtab{dynsym, m.sectionTable(".symtab")}
}

// dynamicSymbols is .dynsym, which may be empty.
func (c *container) dynamicSymbols() *symtab { return c.dynsym.Get(c.readDynamicSymbols) }

func (c *container) readDynamicSymbols() *symtab {
	t := c.main.sectionTable(".dynsym")
	if t.len() == 0 {
		t = c.main.dynamicTable()
	}
	t.img, t.versions, t.hash = c.img, symbolVersions(c.main), c.main.gnuHash()
	return &t
}

// LoadedSymbol implements image.Symbols': .dynsym is asked first, by its hashes.
func (c *container) LoadedSymbol(name string) (image.Symbol, bool) {
	hash := c.main.gnuHash()
	if hash.known() && !hash.lacks(hashOf(name)) {
		if s, ok := bestNamed([]symtab{*c.dynamicSymbols()}, name); ok {
			return s, true
		}
	}
	if full, has := c.main.sections.find(".symtab"); hash.known() && !(has && full.size > 0) {
		return image.Symbol{}, false
	}
	return c.SymbolNamed(name)
}

// SymbolAt finds the function symbol that covers addr.
func (all *symbols) SymbolAt(addr uint64) (image.Symbol, bool) {
	t, s, ok := all.covering(addr)
	if !ok {
		return image.Symbol{}, false
	}
	return t.symbol(&s), true
}

// FunctionAt bounds the function of addr by its symbol, where that has a size.
func (all *symbols) FunctionAt(addr uint64) (lo, hi uint64, mode cpu.Mode, ok bool) {
	t, s, ok := all.covering(addr)
	if !ok {
		return 0, 0, 0, false
	}
	lo, mode = t.code(&s)
	return lo, s.endFrom(lo), mode, addr-lo < s.size
}

// covering finds the function symbol that covers addr: without the index at first. Who asks for all functions of an image
// does so on all cores, which would wait for each other to count.
func (all *symbols) covering(addr uint64) (*symtab, sym, bool) {
	if all.scans.Load() > maxScans {
		return all.index().find(addr)
	}
	x := symbolIndex{img: all.of, tables: all.tables()}
	if ref, ok := all.recent.find(addr); ok {
		return x.symbol(ref)
	}
	if all.scans.Add(1) > maxScans {
		return all.index().find(addr)
	}
	a := x.scan(addr)
	all.recent.keep(a, addr)
	return x.symbol(a.ref)
}

// symbol makes the public form, the only place where names become strings.
func (t *symtab) symbol(s *sym) image.Symbol {
	out := image.Symbol{Name: t.name(s), Addr: s.value, Size: s.size, Exported: t.exports && s.size == 0, Resolver: s.typ() == sttIFunc}
	if t.isFunction(s) {
		out.Addr, out.Mode = t.code(s)
	}
	return out
}

// Functions yields the symbols where functions begin.
func (all *symbols) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	tables := all.tables()
	for n := range tables {
		t := &tables[n]
		for i := range t.len() {
			s := t.at(i)
			if !t.isFunction(&s) || !t.modeKnown(&s) || all.isInner(t, &s) {
				continue
			}
			addr, mode := t.code(&s)
			if !yield(addr, mode, s.size) {
				return
			}
		}
	}
}

// isInner tells whether a local symbol without a size is a place within a
// function rather than its entry. Untyped ones are, in assembly: targets of
// branches as often as entries. Typed ones are when another symbol covers them:
// gcc -mips16 marks the end of each jump table with a local STT_FUNC
// (__jend_swt_140 at swt+0x50 in the recorded truth's mips16 programs).
func (all *symbols) isInner(t *symtab, s *sym) bool {
	if s.size != 0 || s.bind() != stbLocal {
		return false
	}
	if s.typ() == sttNotype {
		return true
	}
	addr, _ := t.code(s)
	u, cover, ok := all.covering(addr)
	if !ok {
		return false
	}
	begin, _ := u.code(&cover)
	return begin != addr
}

// SymbolNamed looks through the tables for the best symbol of a name: global
// before weak before local.
func (all *symbols) SymbolNamed(name string) (image.Symbol, bool) {
	if name == "" {
		return image.Symbol{}, false
	}
	tables := all.tables()
	if !slices.ContainsFunc(tables, func(t symtab) bool { return t.mayHave(name) }) {
		return image.Symbol{}, false
	}
	if !slices.ContainsFunc(tables, func(t symtab) bool { return !t.hash.known() }) || all.named.Add(1) <= maxNamed {
		return bestNamed(tables, name)
	}
	all.namesOnce.Do(func() { all.byName = newNames(tables) })
	ref := all.byName.refs[all.byName.slot([]byte(name))]
	if ref == noRef {
		return image.Symbol{}, false
	}
	t, s := all.byName.at(ref)
	return t.symbol(&s), true
}

// bestNamed is SymbolNamed without an index.
func bestNamed(tables []symtab, name string) (image.Symbol, bool) {
	var b best
	for n := range tables {
		t := &tables[n]
		if t.hash.known() {
			for _, i := range t.hash.with(name) {
				b.take(t, uint64(i), name)
			}
			continue
		}
		for i := range t.len() {
			b.take(t, uint64(i), name)
		}
	}
	if b.table == nil {
		return image.Symbol{}, false
	}
	return b.table.symbol(&b.sym), true
}

// best is the best symbol of a name so far.
type best struct {
	table *symtab // nil: none was found
	sym   sym
	rank  uint8
}

// take looks at the entry i of a table, which may have no such entry.
func (b *best) take(t *symtab, i uint64, name string) {
	if i >= uint64(t.len()) {
		return
	}
	s := t.at(int(i))
	if !t.named(&s, name) || !t.isDefined(&s) {
		return
	}
	if rank := t.symbolRank(int(i), &s); b.table == nil || rank > b.rank {
		*b = best{t, s, rank}
	}
}

// isDefined tells whether the value is the address of code or data.
func (t *symtab) isDefined(s *sym) bool {
	if s.shndx == shnUndef {
		return false
	}
	switch s.typ() {
	case sttNotype, sttObject, sttFunc, sttCommon, sttIFunc:
		return true
	case sttARMFunc:
		return t.f.machine == emARM
	}
	return false
}
