package elf

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// imports tells which words of the image hold the address of a symbol once the
// dynamic linker is done: those that relocations name, and on MIPS the global
// part of the GOT, which needs none.
type imports struct {
	syms  symtab // .dynsym by DT_SYMTAB; relocations say how many entries it has
	whole slots  // of the GOT, and what stands for such a word
	plus  slots  // of data
	got   globalGOT
	// chosen are the words that get what a function of the image returns: the address of the best implementation of an indirect
	// function for the processor.
	chosen slots
	left   budget.Budget // of slots
}

// slots are words that the dynamic linker fills. They are put in order when one among them is first asked for: linkers order
// relocations by symbol, LibreOffice's libmergedlo.so has 45,000 in the tables of its classes, and code asks for none but those of the GOT.
type slots struct {
	list   []slot
	lo, hi uint64 // the first and the last address
	sorted sync.Once
}

// slot is a word, or, on MIPS, the stub that stands for one, with the number of the symbol whose address it gets, or the image address of
// the function that tells what it gets.
type slot struct{ addr, by uint64 }

// add adds a slot and tells whether there was room.
func (m *imports) add(to *slots, addr, by uint64) bool {
	if !m.left.Draw(1) {
		return false
	}
	if len(to.list) == 0 {
		to.lo, to.hi = addr, addr
	}
	to.lo, to.hi = min(to.lo, addr), max(to.hi, addr)
	to.list = append(to.list, slot{addr, by})
	return true
}

// at is what fills the word at addr; of several relocations of a word, the lowest.
func (s *slots) at(addr uint64) (by uint64, ok bool) {
	if len(s.list) == 0 || addr < s.lo || addr > s.hi {
		return 0, false
	}
	s.sorted.Do(func() {
		sort.Slice(s.list, func(i, j int) bool {
			a, b := &s.list[i], &s.list[j]
			return a.addr < b.addr || a.addr == b.addr && a.by < b.by
		})
		s.list = slices.Clip(s.list)
	})
	n, found := slices.BinarySearchFunc(s.list, addr, func(s slot, a uint64) int { return cmp.Compare(s.addr, a) })
	if !found {
		return 0, false
	}
	return s.list[n].by, true
}

// Import names what the dynamic linker stores at addr.
func (c *container) Import(addr uint64) (string, bool) {
	m := importsIn(c)
	s, ok := m.symbol(addr)
	if !ok {
		return "", false
	}
	name := m.syms.name(&s)
	return name, name != ""
}

// Defined implements what image.OwnImport asks: a symbol that relocations name, and the file has.
func (c *container) Defined(addr uint64) (own image.Symbol, imported, ok bool) {
	m := importsIn(c)
	s, ok := m.symbol(addr)
	if !ok || !m.syms.hasName(&s) {
		return own, false, false
	}
	if !m.syms.isDefined(&s) {
		return own, true, false
	}
	return m.syms.symbol(&s), true, true
}

// symbol is the symbol whose address the dynamic linker stores at addr.
func (m *imports) symbol(addr uint64) (sym, bool) {
	n, ok := m.got.symbol(addr)
	i := uint64(n)
	if !ok {
		i, ok = m.whole.at(addr)
	}
	if !ok {
		i, ok = m.plus.at(addr)
	}
	if !ok || i >= uint64(m.syms.len()) {
		return sym{}, false
	}
	return m.syms.at(int(i)), true
}

// importsIn are the imports of a container, found when first asked for.
func importsIn(c *container) *imports {
	c.importsOnce.Do(func() { c.imported.find(c) })
	return &c.imported
}

// How many words an image may import: browsers import some ten thousand, a file has room
// for many more, in tables that may all be the same bytes.
const slotsFloor, bytesPerSlot = 1 << 18, 64

// find reads the relocation tables that the dynamic section leads to. Imports for
// which there is no room are left out.
func (m *imports) find(c *container) {
	f := c.main
	d, ok := f.dynamic()
	if !ok {
		m.addResolved(f)
		m.got = staticGOT(f)
		return
	}
	syms, str := c.img.Segments.Bytes(d.symtab), c.img.Segments.Bytes(d.strtab)
	m.syms = symtab{img: c.img, f: f, syms: syms, str: str[:bin.Limit(d.strsz, len(str))]}
	m.got = newGlobalGOT(f, &d)
	m.left = budget.New("imported words", slotsFloor, uint64(len(f.data))/bytesPerSlot)
	m.relocated(c, d.rel, d.relsz, false, d.relatives)
	m.relocated(c, d.rela, d.relasz, true, d.relatives)
	m.relocated(c, d.jmprel, d.pltrelsz, d.pltrel == dtRela, 0)
	m.addStubs()
}

// relocated adds the words that the table of size bytes at addr fills with the
// address of a symbol, nothing added to it, or with what a resolver returns. The first entries, as many as relatives, have no
// symbol: DT_RELACOUNT and DT_RELCOUNT say so, which dynamic linkers rely on. Of libLLVM-14's 354,682
// relocations 335,619 are such.
func (m *imports) relocated(c *container, addr, size uint64, rela bool, relatives uint64) {
	if size == 0 {
		return
	}
	f := c.main
	entry := 2 * f.layout.addr
	if rela {
		entry += f.layout.addr
	}
	data := c.img.Segments.Bytes(addr)
	r := bin.New(data[:bin.Limit(size, len(data))], f.big)
	if relatives <= uint64(r.Len())/entry {
		r.Skip(relatives * entry)
	}
	for uint64(r.Len()) >= entry {
		offset := f.word(&r)
		sym, typ := f.relInfo(&r)
		addend := uint64(0)
		if rela {
			addend = f.word(&r)
		}
		how, resolves := f.relocation(typ), f.resolves(typ)
		if !rela && (how == plus || resolves) {
			addend, _ = c.img.Word(offset)
		}
		switch {
		case resolves && !m.add(&m.chosen, offset, addend):
			return
		case sym == 0 || how == other || how == plus && addend != 0:
		case !m.add(m.filled(how), offset, uint64(sym)):
			return
		}
	}
}

// filled are the slots that a relocation with an effect fills.
func (m *imports) filled(how effect) *slots {
	if how == plus {
		return &m.plus
	}
	return &m.whole
}

// relInfo reads r_info: the symbol in the high bits, the type in the low ones
// (gABI ch. 4, "Relocation"). 64-bit MIPS has a 32-bit symbol, then four bytes,
// the last of which is the first of up to three types (64-bit ELF Object File
// Specification for MIPS, §2.9.1); in big-endian files that is the same.
func (e *encoding) relInfo(r *bin.Reader) (sym, typ uint32) {
	switch {
	case !e.wide:
		v := r.U32()
		return v >> 8, v & 0xff
	case e.machine == emMIPS:
		sym = r.U32()
		r.Skip(3)
		return sym, uint32(r.U8())
	}
	v := r.U64()
	return uint32(v >> 32), uint32(v)
}

// effect is what a relocation makes of a word.
type effect uint8

const (
	other effect = iota // not the address of a symbol
	whole               // the symbol's address, whatever the word held
	plus                // the symbol's address plus an addend
)

// Types of relocations by processor supplement.
const (
	r386Abs32, r386GlobDat, r386JumpSlot             = 1, 6, 7
	rX8664Abs64, rX8664GlobDat, rX8664JumpSlot       = 1, 6, 7
	rARMAbs32, rARMGlobDat, rARMJumpSlot             = 2, 21, 22
	rAArch64Abs64, rAArch64GlobDat, rAArch64JumpSlot = 257, 1025, 1026
	rRISCVAbs32, rRISCVAbs64, rRISCVJumpSlot         = 1, 2, 5
	rMIPSRel32, rMIPSJumpSlot                        = 3, 127
)

// relocation is what a type of relocation does. R_386_GLOB_DAT and its like take
// no addend by their definition; the word holds what the linker left there.
// R_MIPS_REL32 is relative only where it has no symbol.
func (e *encoding) relocation(typ uint32) effect {
	switch e.machine {
	case em386:
		return choose(typ, r386Abs32, r386GlobDat, r386JumpSlot)
	case emX86_64:
		return choose(typ, rX8664Abs64, rX8664GlobDat, rX8664JumpSlot)
	case emARM:
		return choose(typ, rARMAbs32, rARMGlobDat, rARMJumpSlot)
	case emAArch64:
		return choose(typ, rAArch64Abs64, rAArch64GlobDat, rAArch64JumpSlot)
	case emRISCV:
		if e.wide {
			return choose(typ, rRISCVAbs64, rRISCVJumpSlot, rRISCVJumpSlot)
		}
		return choose(typ, rRISCVAbs32, rRISCVJumpSlot, rRISCVJumpSlot)
	case emMIPS:
		return choose(typ, rMIPSRel32, rMIPSJumpSlot, rMIPSJumpSlot)
	}
	return other
}

func choose(typ, abs, globDat, jumpSlot uint32) effect {
	switch typ {
	case abs:
		return plus
	case globDat, jumpSlot:
		return whole
	}
	return other
}

// addResolved adds what a linked object calls in other files (see Link): undefined symbols that have an address.
func (m *imports) addResolved(f *file) {
	for i := range f.sections.n {
		s := f.sections.at(i)
		if s.typ != shtSymtab || uint64(s.link) >= uint64(f.sections.n) {
			continue
		}
		m.syms = symtab{f: f, syms: f.sections.bytes(s), str: f.sections.bytes(f.sections.at(int(s.link)))}
		m.left = budget.New("imported words", slotsFloor, uint64(len(f.data))/bytesPerSlot)
		for k := range m.syms.len() {
			if s := m.syms.at(k); s.shndx == shnUndef && s.value != 0 && !m.add(&m.whole, s.value, uint64(k)) {
				break
			}
		}
		return
	}
}

// addStubs adds the lazy binding stubs of MIPS: an undefined function's value is
// the address of its stub, which the GOT holds until the first call (MIPS
// supplement ch. 5, "Calling Position-Independent Functions"). The stub itself
// only has the symbol's number for the resolver.
func (m *imports) addStubs() {
	for i := m.got.first; i-m.got.first < m.got.n && uint64(i) < uint64(m.syms.len()); i++ {
		if s := m.syms.at(int(i)); s.shndx == shnUndef && s.value != 0 && s.typ() == sttFunc {
			addr, _ := m.syms.code(&s)
			if !m.add(&m.whole, addr, uint64(i)) {
				return
			}
		}
	}
}
