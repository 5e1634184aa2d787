package elf

// globalGOT is the part of the MIPS GOT that has one word for each symbol from
// first to the end of .dynsym, in their order (MIPS supplement ch. 5, "Global
// Offset Table": DT_PLTGOT, DT_MIPS_LOCAL_GOTNO, DT_MIPS_GOTSYM, DT_MIPS_SYMTABNO).
type globalGOT struct {
	addr, mask uint64
	locals     uint64 // how many words lie in front
	first, n   uint32
	word       uint64
}

func newGlobalGOT(f *file, d *dynamic) (g globalGOT) {
	if f.machine != emMIPS || d.pltgot == 0 || d.mipsGotsym >= d.mipsSymtabno || d.mipsSymtabno > 1<<31 {
		return g
	}
	g.locate(f, d.pltgot, d.mipsLocalGotno)
	g.first, g.n = uint32(d.mipsGotsym), uint32(d.mipsSymtabno-d.mipsGotsym)
	return g
}

// staticGOT is the GOT of a program that is linked statically: all words stand in front, for the linker has filled in each of them.
// Nothing but the section tells where the GOT lies.
func staticGOT(f *file) (g globalGOT) {
	if s, ok := f.sections.find(".got"); ok && f.machine == emMIPS && f.typ == etExec {
		g.locate(f, s.addr, s.size/f.layout.addr)
	}
	return g
}

// locate says where the GOT begins, and how many words stand in front.
func (g *globalGOT) locate(f *file, at, locals uint64) {
	g.word, g.mask, g.locals = f.layout.addr, ^uint64(0), locals
	if !f.wide {
		g.mask = 0xffff_ffff
	}
	g.addr = (at + locals*g.word) & g.mask
}

// symbol is the number of the symbol whose word lies at addr.
func (g *globalGOT) symbol(addr uint64) (uint32, bool) {
	if g.n == 0 {
		return 0, false
	}
	off := (addr - g.addr) & g.mask
	if off%g.word != 0 || off/g.word >= uint64(g.n) {
		return 0, false
	}
	return g.first + uint32(off/g.word), true
}

// reservedGOT is how many words the local part begins with that hold no addresses of the image: the
// resolver's, and GNU's.
const reservedGOT = 2

// local tells whether addr is in the part in front, whose words only move with the image.
func (g *globalGOT) local(addr uint64) bool {
	off := (g.addr - addr) & g.mask
	return g.word != 0 && off != 0 && off%g.word == 0 && off/g.word+reservedGOT <= g.locals
}

// Linked tells whether the word at addr holds what the linker stored there, moved with the image: in the
// GOT, that of a page or of a static function, or of a function that the program itself defines. No other
// file's definition comes before the program's (gABI ch. 5, "Shared Object Dependencies").
func (c *container) Linked(addr uint64) bool {
	m := importsIn(c)
	if m.got.local(addr) {
		return true
	}
	i, ok := m.got.symbol(addr)
	if !ok || c.main.typ != etExec && c.link.Interp == "" || uint64(i) >= uint64(m.syms.len()) {
		return false
	}
	s := m.syms.at(int(i))
	return s.shndx != shnUndef && s.typ() == sttFunc
}

// Sealed tells whether the dynamic linker makes a place read-only once it has relocated the file (PT_GNU_RELRO, LSB Core).
func (c *container) Sealed(addr uint64) bool { return addr-c.link.relro.Addr < c.link.relro.Size }
