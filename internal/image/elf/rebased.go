package elf

import (
	"sort"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// Relocations that make a word the image's base plus a value, or what an indirect
// function's resolver at that value returns, by processor supplement. On MIPS that is
// R_MIPS_REL32 without a symbol.
const (
	r386Relative, r386Irelative         = 8, 42
	rX8664Relative, rX8664Irelative     = 8, 37
	rARMRelative, rARMIrelative         = 23, 160
	rAArch64Relative, rAArch64Irelative = 1027, 1032
	rRISCVRelative, rRISCVIrelative     = 3, 58
)

// Rebased calls yield for the value, an image address, of every word that the
// dynamic linker moves together with the image, for DT_INIT and DT_FINI and for the
// functions of .dynsym, until it returns false. It tells
// whether these are all that hold addresses of the image: not in programs that are
// loaded where they were linked. On MIPS the local part of the GOT is among the words,
// which the linker moves without relocations.
func (c *container) Rebased(yield func(value uint64) bool) bool {
	f := c.main
	d, ok := f.dynamic()
	if !ok || !c.img.Relocatable {
		return false
	}
	w := rebased{c: c, yield: yield, words: budget.New("relocated words", 0, c.img.Segments.LoadedBytes()/f.layout.addr)}
	w.table(d.rel, d.relsz, false)
	w.table(d.rela, d.relasz, true)
	w.table(d.jmprel, d.pltrelsz, d.pltrel == dtRela)
	w.packed(d.relr, d.relrsz)
	w.localGOT(&d)
	if !w.some || w.words.Err() != nil {
		return false // relocated in a way of its own, not at all, or more than there is
	}
	w.symbols()
	for _, v := range [...]uint64{d.init, d.fini} {
		if v != 0 && !w.done {
			w.value(v)
		}
	}
	return w.words.Err() == nil
}

type rebased struct {
	c     *container
	yield func(uint64) bool
	words budget.Budget // each word moves once; a bit of DT_RELR stands for one
	some  bool
	done  bool
}

func (w *rebased) value(v uint64) {
	w.some = true
	w.done = w.done || !w.words.Draw(1) || !w.yield(v)
}

// reader is the table of size bytes at addr.
func (w *rebased) reader(addr, size uint64) bin.Reader {
	if size == 0 {
		return bin.New(nil, w.c.main.big)
	}
	data := w.c.img.Segments.Bytes(addr)
	return bin.New(data[:bin.Limit(size, len(data))], w.c.main.big)
}

// table reads ordinary relocations.
func (w *rebased) table(addr, size uint64, rela bool) {
	f := w.c.main
	entry := 2 * f.layout.addr
	if rela {
		entry += f.layout.addr
	}
	for r := w.reader(addr, size); uint64(r.Len()) >= entry && !w.done; {
		offset := f.word(&r)
		sym, typ := f.relInfo(&r)
		addend := uint64(0)
		if rela {
			addend = f.word(&r)
		}
		if !f.relative(typ) || f.machine == emMIPS && sym != 0 {
			continue
		}
		if !rela {
			addend, _ = w.c.img.Word(offset)
		}
		w.value(addend)
	}
}

// localGOT reports the words of the local part of the MIPS GOT that may be code pointers
// (MIPS supplement ch. 5, "Global Offset Table": DT_MIPS_LOCAL_GOTNO words from DT_PLTGOT
// on). The first is the resolver's, the second GNU's, whose top bit is set. A word that
// ends in sixteen zero bits is the page to which code adds the low half of an address
// (R_MIPS_GOT16 of a local symbol): no function begins there for all that the word says.
func (w *rebased) localGOT(d *dynamic) {
	f := w.c.main
	if f.machine != emMIPS || d.pltgot == 0 {
		return
	}
	w.some = true
	r := w.reader(d.pltgot, min(d.mipsLocalGotno, w.c.img.Segments.LoadedBytes())*f.layout.addr)
	for range 2 {
		f.word(&r)
	}
	for uint64(r.Len()) >= f.layout.addr && !w.done {
		if v := f.word(&r); v&0xffff != 0 {
			w.value(v)
		}
	}
}

// symbols reports the functions that .dynsym defines, whose addresses relocations
// with a symbol and other images take.
func (w *rebased) symbols() {
	t := w.c.main.dynamicTable()
	for i := 0; i < t.len() && !w.done; i++ {
		s := t.at(i)
		if s.shndx != shnUndef && (s.typ() == sttFunc || s.typ() == sttIFunc) {
			w.value(s.value)
		}
	}
}

// packed reads DT_RELR (gABI, "Relative Relocation Table"): an even word is the
// address of a word to move, an odd one has a bit for each of the words behind.
// The values stand in place.
func (w *rebased) packed(addr, size uint64) {
	f := w.c.main
	word, at := f.layout.addr, uint64(0)
	for r := w.reader(addr, size); uint64(r.Len()) >= word && !w.done; {
		v := f.word(&r)
		if v&1 == 0 {
			w.inPlace(v)
			at = v + word
			continue
		}
		for i := uint64(0); v>>(i+1) != 0 && !w.done; i++ {
			if v>>(i+1)&1 != 0 {
				w.inPlace(at + i*word)
			}
		}
		at += (8*word - 1) * word
	}
}

func (w *rebased) inPlace(addr uint64) {
	if v, ok := w.c.img.Word(addr); ok {
		w.value(v)
	}
}

// relative tells whether a type of relocation adds the image's base.
func (e *encoding) relative(typ uint32) bool {
	is := func(a, b uint32) bool { return typ == a || typ == b }
	switch e.machine {
	case em386:
		return is(r386Relative, r386Irelative)
	case emX86_64:
		return is(rX8664Relative, rX8664Irelative)
	case emARM:
		return is(rARMRelative, rARMIrelative)
	case emAArch64:
		return is(rAArch64Relative, rAArch64Irelative)
	case emRISCV:
		return is(rRISCVRelative, rRISCVIrelative)
	case emMIPS:
		return typ == rMIPSRel32
	}
	return false
}

// Moved is what the dynamic linker adds the image's base to for the word at addr, where the entry of a relocation
// has that instead of the word. Linkers put such entries first, by address (ld -z combreloc).
func (c *container) Moved(addr uint64) (value uint64, ok bool) {
	f := c.main
	d, ok := f.dynamic()
	if !ok || f.machine == emMIPS {
		return 0, false
	}
	size := 3 * int(f.layout.addr)
	data := c.img.Segments.Bytes(d.rela)
	data = data[:bin.Limit(d.relasz, len(data))]
	relocation := func(i int) (offset, addend uint64, relative bool) {
		r := bin.New(data[i*size:(i+1)*size], f.big)
		offset = f.word(&r)
		_, typ := f.relInfo(&r)
		return offset, f.word(&r), f.relative(typ)
	}
	n := len(data) / size
	i := sort.Search(n, func(i int) bool {
		offset, _, relative := relocation(i)
		return !relative || offset >= addr
	})
	if i == n {
		return 0, false
	}
	offset, value, relative := relocation(i)
	return value, relative && offset == addr
}
