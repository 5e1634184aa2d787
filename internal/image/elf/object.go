package elf

import (
	"bytes"
	"encoding/binary"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// Placement says where the sections of a relocatable object lie.
type Placement struct {
	// Base is where the first section of code lies. The others follow as Linux lays out
	// modules (kernel/module/main.c, layout_sections): code, read-only data, data; sections
	// for the start of the module (.init…) behind all of these.
	Base uint64
	// Sections are the sections' addresses where they are known, as from
	// /sys/module/NAME/sections.
	Sections map[string]uint64
	// Resolve finds symbols that the object does not define, nil for none.
	Resolve func(name string) (addr uint64, ok bool)
}

// Link links a relocatable object, such as a Linux module, to run at a place. The result is
// a copy with addresses in the section headers and symbols, and with relocations applied,
// to code and to debug information; the formats of this package open it like an executable.
// Symbols that nothing resolves lie behind the object, where there is no code; others are still undefined, and have
// their addresses.
func Link(path string, object []byte, at Placement) ([]byte, error) {
	f, err := newFile(&image.File{Name: path, Data: bytes.Clone(object)})
	if err != nil {
		return nil, err
	}
	if f.typ != etRel {
		return nil, f.errorf(16, "not a relocatable object")
	}
	l := linker{file: f, at: at, addr: make([]uint64, f.sections.n)}
	l.order().PutUint16(f.data[16:], etExec)
	l.layOut()
	l.placeSymbols()
	// Sections that show the same relocations again and again are not followed.
	bytesLeft := budget.New("bytes of relocations", 0, uint64(len(f.data)))
	for i := range f.sections.n {
		s := f.sections.at(i)
		if s.typ != shtRela && s.typ != shtRel {
			continue
		}
		if !bytesLeft.Draw(len(l.sections.bytes(s))) {
			break
		}
		l.relocate(s)
	}
	return f.data, nil
}

// Section types and flags of relocatable objects.
const (
	shtSymtab = 2
	shtRela   = 4
	shtRel    = 9

	shfROAfterInit = 0x00200000 // Linux: include/linux/elf.h
)

// linker is an object while it is linked.
type linker struct {
	*file
	at       Placement
	addr     []uint64          // of each section
	end      uint64            // behind all of them
	resolved map[uint32]uint64 // by where the name is in the string table, for names may overlap
}

func (l *linker) order() binary.ByteOrder {
	if l.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// put stores an Elf_Addr.
func (l *linker) put(off, v uint64) {
	if off+l.layout.addr > uint64(len(l.data)) {
		return
	}
	if l.wide {
		l.order().PutUint64(l.data[off:], v)
	} else {
		l.order().PutUint32(l.data[off:], uint32(v))
	}
}

// layOut gives each loaded section an address.
func (l *linker) layOut() {
	groups := [...]func(flags uint64) bool{
		func(flags uint64) bool { return flags&shfExecinstr != 0 },
		func(flags uint64) bool { return flags&shfWrite == 0 },
		func(flags uint64) bool { return flags&shfROAfterInit != 0 },
		func(uint64) bool { return true },
	}
	next, placed := l.at.Base, make([]bool, l.sections.n)
	for _, start := range []bool{false, true} {
		for _, in := range groups {
			for i := range l.sections.n {
				s := l.sections.at(i)
				if s.flags&shfAlloc == 0 || placed[i] || l.forStart(&s) != start || !in(s.flags) {
					continue
				}
				placed[i] = true
				next = l.place(i, &s, next)
			}
			next = (next + 0xfff) &^ 0xfff
		}
	}
	l.end = next
}

// forStart tells whether a section is needed while the module starts only, by its name.
func (l *linker) forStart(s *shdr) bool {
	names := l.sections.names
	return bytes.HasPrefix(names[bin.Limit(uint64(s.name), len(names)):], []byte(".init"))
}

// maxSpread bounds the distance in bytes between the sections of a module that is loaded in one piece.
const maxSpread = 64 << 20

// place gives section i its address, and returns where the next one may begin.
func (l *linker) place(i int, s *shdr, next uint64) uint64 {
	if align := l.alignment(i); align > 1 {
		next = (next + align - 1) &^ (align - 1)
	}
	l.addr[i] = next
	if a, known := l.at.Sections[string(nameAt(l.sections.names, s.name))]; known {
		l.addr[i] = a
	}
	if l.addr[i]-l.at.Base < maxSpread { // else it lies with other modules' sections of its kind
		next = max(next, l.addr[i]+s.size)
	}
	l.put(l.sections.off+uint64(i)*l.sections.size+8+l.layout.addr, l.addr[i])
	return next
}

// alignment is sh_addralign of section i, at most a page.
func (l *linker) alignment(i int) uint64 {
	r := bin.NewAt(l.data, l.sections.off+uint64(i)*l.sections.size+8+4*l.layout.addr+8, l.big)
	if a := l.word(&r); a&(a-1) == 0 && a <= 0x1000 {
		return a
	}
	return 1
}

// placeSymbols turns the symbols' values, offsets in sections, into addresses: those of the
// first table, for an object has one only (gABI ch. 4, SHT_SYMTAB).
func (l *linker) placeSymbols() {
	for i := range l.sections.n {
		s := l.sections.at(i)
		if s.typ != shtSymtab {
			continue
		}
		t := l.symbolsIn(s)
		for k := range t.len() {
			m := t.at(k)
			switch a, resolved := l.resolve(&t, &m); {
			case m.shndx == shnUndef && resolved:
				l.put(s.off+uint64(k)*l.layout.sym+l.valueAt(), a)
			case m.shndx != shnUndef && int(m.shndx) < l.sections.n:
				l.put(s.off+uint64(k)*l.layout.sym+l.valueAt(), m.value+l.addr[m.shndx])
			}
		}
		return
	}
}

// valueAt is the offset of st_value in a symbol.
func (l *linker) valueAt() uint64 {
	if l.wide {
		return 8
	}
	return 4
}

// symbol is the address of symbol k of a table, whose symbols have addresses already.
func (l *linker) symbol(t *symtab, k uint32) uint64 {
	if uint64(k) >= uint64(t.len()) {
		return l.end
	}
	m := t.at(int(k))
	if m.shndx != shnUndef {
		return m.value
	}
	if a, ok := l.resolve(t, &m); ok {
		return a
	}
	return l.end
}

// symbolsIn is the table of symbols of a section.
func (l *linker) symbolsIn(s shdr) symtab {
	t := symtab{f: l.file, syms: l.sections.bytes(s)}
	if uint64(s.link) < uint64(l.sections.n) {
		t.str = l.sections.bytes(l.sections.at(int(s.link)))
	}
	return t
}

// resolve is the address of a symbol that the object does not define.
func (l *linker) resolve(t *symtab, m *sym) (addr uint64, ok bool) {
	if m.shndx != shnUndef || l.at.Resolve == nil {
		return 0, false
	}
	if a, known := l.resolved[m.name]; known {
		return a, a != 0
	}
	if l.resolved == nil {
		l.resolved = make(map[uint32]uint64)
	}
	if name := t.name(m); name != "" {
		addr, ok = l.at.Resolve(name)
	}
	if !ok {
		addr = 0
	}
	l.resolved[m.name] = addr
	return addr, addr != 0
}

// relocate applies the relocations of one section.
func (l *linker) relocate(s shdr) {
	count := uint64(l.sections.n)
	if uint64(s.info) >= count || uint64(s.link) >= count {
		return
	}
	to, symbols := l.sections.at(int(s.info)), l.sections.at(int(s.link))
	t := l.symbolsIn(symbols)
	if to.flags&shfCompressed != 0 {
		return
	}
	patch := patcher{order: l.order(), machine: l.machine, data: l.sections.bytes(to), implicit: s.typ == shtRel}
	r := bin.New(l.sections.bytes(s), l.big)
	for r.Len() > 0 {
		off, info := l.word(&r), l.word(&r)
		sym, typ := l.relocInfo(info)
		e := relocation{typ: typ, off: off, place: l.addr[s.info] + off, symbol: l.symbol(&t, sym)}
		if s.typ == shtRela {
			e.addend = int64(l.word(&r))
			if !l.wide {
				e.addend = int64(int32(e.addend))
			}
		}
		if r.Err() != nil {
			return
		}
		patch.apply(e)
	}
}

// relocInfo takes r_info apart. MIPS's 64-bit ABI has three types in it, of which the
// first alone counts in modules.
func (l *linker) relocInfo(info uint64) (sym, typ uint32) {
	switch {
	case !l.wide:
		return uint32(info) >> 8, uint32(info) & 0xff
	case l.machine == emMIPS && !l.big:
		return uint32(info), uint32(info >> 56)
	case l.machine == emMIPS:
		return uint32(info >> 32), uint32(info) & 0xff
	}
	return uint32(info >> 32), uint32(info)
}
