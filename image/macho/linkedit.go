package macho

import (
	"bytes"
	"encoding/binary"

	"github.com/backsight/backsight/internal/bin"
)

// linkedit is where the tables of __LINKEDIT lie, as load commands say.
type linkedit struct {
	symtab   extent // entries of nlist
	strings  extent
	indirect extent
	// noDefined: LC_DYSYMTAB says that the symbol table has no symbols that other files may use:
	// these are in the exports trie only.
	noDefined bool

	starts, exports, fixups extent
	rebase                  extent
	binds                   [3]extent // bind, weak bind, lazy bind
}

// command reads the load commands that say where tables are.
func (l *linkedit) command(id uint32, f *file, r *bin.Reader) {
	switch id {
	case lcSymtab:
		off, n := uint64(r.U32()), uint64(r.U32())
		l.symtab = extent{off, n * f.nlistSize()}
		l.strings = f.extent(r)
	case lcDysymtab:
		r.Skip(3 * 4) // ilocalsym, nlocalsym, iextdefsym
		l.noDefined = r.U32() == 0
		r.Skip(8 * 4) // undefined symbols, table of contents, modules, references
		off, n := uint64(r.U32()), uint64(r.U32())
		l.indirect = extent{off, 4 * n}
	case lcDyldInfo, lcDyldInfo | lcReqDyld:
		l.rebase = f.extent(r)
		for i := range l.binds {
			l.binds[i] = f.extent(r)
		}
		if x := f.extent(r); x.size != 0 {
			l.exports = x
		}
	case lcFunctionStarts:
		l.starts = f.extent(r)
	case lcExportsTrie:
		l.exports = f.extent(r)
	case lcChainedFixups:
		l.fixups = f.extent(r)
	}
}

func (f *file) nlistSize() uint64 { return 8 + f.addrSize() }

// nlist is an entry of the symbol table (mach-o/nlist.h).
type nlist struct {
	name  uint32
	typ   uint8
	sect  uint8
	desc  uint16
	value uint64
}

// symbols is a symbol table with its strings.
type symbols struct {
	f    *file
	data []byte
	str  []byte
}

func (f *file) symbols() symbols {
	return symbols{f, f.slice(f.symtab), f.slice(f.strings)}
}

func (t *symbols) len() int {
	if t.f == nil {
		return 0
	}
	return len(t.data) / int(t.f.nlistSize())
}

func (t *symbols) at(i int) (s nlist) {
	r := bin.NewAt(t.data, uint64(i)*t.f.nlistSize(), t.f.big)
	s.name, s.typ, s.sect, s.desc = r.U32(), r.U8(), r.U8(), r.U16()
	s.value = t.f.word(&r)
	return s
}

// next is the first entry from i on whose value lies from lo to hi; or the number of all. Of
// 64-bit files only the values are looked at: there may be a million.
func (t *symbols) next(i int, lo, hi uint64) int {
	if t.f == nil || !t.f.wide || t.f.big {
		return i
	}
	const size, value = 16, 8 // struct nlist_64
	for b := t.data[min(i*size, len(t.data)):]; len(b) >= size; b = b[size:] {
		if v := binary.LittleEndian.Uint64(b[value:]); v-lo <= hi-lo {
			return i
		}
		i++
	}
	return i
}

// defined tells whether a symbol has an address in a section.
func (s *nlist) defined() bool { return s.typ&nStab == 0 && s.typ&nType == nSect }

// function tells whether a symbol names code. Names that begin with L are the assembler's.
func (t *symbols) function(s *nlist) bool {
	sections := t.f.sections
	return s.defined() && int(s.sect)-1 < len(sections) && s.sect > 0 && sections[s.sect-1].code() &&
		uint64(s.name) < uint64(len(t.str)) && t.str[s.name] != 0 && t.str[s.name] != 'L'
}

// rank orders symbols of one address: what other files may use before the rest.
func (s *nlist) rank() int {
	switch {
	case s.typ&nExt == 0:
		return 0
	case s.desc&nWeakDef != 0:
		return 1
	}
	return 2
}

// maxName bounds the length of one symbol's name.
const maxName = 1 << 16

// name is a symbol's name in the source; "" where the string table does not have it.
func (t *symbols) name(s *nlist) string {
	b := t.str[bin.Limit(uint64(s.name), len(t.str)):]
	b = b[:min(len(b), maxName)]
	return plainName(b[:max(bytes.IndexByte(b, 0), 0)])
}

// plainName is a name without the underscore that the C compiler puts before it.
func plainName(b []byte) string { return string(bytes.TrimPrefix(b, []byte("_"))) }

// is tells whether a symbol has a name, as the source spells it.
func (t *symbols) is(s *nlist, name string) bool {
	b := t.str[bin.Limit(uint64(s.name), len(t.str)):]
	if len(b) > 0 && b[0] == '_' {
		b = b[1:]
	}
	return len(b) > len(name) && b[len(name)] == 0 && string(b[:len(name)]) == name
}
