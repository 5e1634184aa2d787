package macho

import (
	"bytes"
	"encoding/binary"

	"github.com/backsight/backsight/internal/bin"
)

// nlist is an entry of the symbol table (mach-o/nlist.h).
type nlist struct {
	name  uint32
	typ   uint8
	sect  uint8
	desc  uint16
	value uint64
}

// defined tells whether a symbol has an address in a section.
func (s *nlist) defined() bool { return s.typ&nStab == 0 && s.typ&nType == nSect }

// rank orders symbols of one address: what other files may use before the rest.
func (s *nlist) rank() uint8 {
	switch {
	case s.typ&nExt == 0:
		return 0
	case s.desc&nWeakDef != 0:
		return 1
	}
	return 2
}

// symbols is a symbol table with its strings.
type symbols struct {
	header *header
	layout *layout
	data   []byte
	str    []byte
}

func (f *file) symbols() symbols {
	return symbols{&f.header, &f.layout, f.slice(f.symtab), f.slice(f.strings)}
}

func (t *symbols) len() int { return len(t.data) / int(t.header.nlistSize()) }

func (t *symbols) at(i int) (s nlist) {
	r := bin.NewAt(t.data, uint64(i)*t.header.nlistSize(), t.header.big)
	s.name, s.typ, s.sect, s.desc = r.U32(), r.U8(), r.U8(), r.U16()
	s.value = t.header.word(&r)
	return s
}

// withType calls yield for the entries of one of two types (n_type). Nothing else is looked at of
// the others.
func (t *symbols) withType(a, b uint8, yield func(s *nlist)) {
	const typeAt = 4 // in an entry
	size := int(t.header.nlistSize())
	for i, data := 0, t.data; len(data) >= size; i, data = i+1, data[size:] {
		if typ := data[typeAt]; typ == a || typ == b {
			s := t.at(i)
			yield(&s)
		}
	}
}

// before is the last entry before the i-th whose value lies from lo to hi; negative for none. Of
// 64-bit files only the values are looked at: there may be a million.
func (t *symbols) before(i int, lo, hi uint64) int {
	i--
	if !t.header.wide || t.header.big {
		return i
	}
	const size, value = 16, 8 // struct nlist_64
	for ; i >= 0; i-- {
		if v := binary.LittleEndian.Uint64(t.data[i*size+value:]); v-lo <= hi-lo {
			break
		}
	}
	return i
}

// function tells whether a symbol names code. Names that begin with L are the assembler's.
func (t *symbols) function(s *nlist) bool {
	return s.defined() && t.layout.code(s.sect) &&
		uint64(s.name) < uint64(len(t.str)) && t.str[s.name] != 0 && t.str[s.name] != 'L'
}

// maxName bounds the length of one symbol's name.
const maxName = 1 << 16

// string is the string of a symbol, cut at maxName; nil where the table does not have it.
func (t *symbols) string(s *nlist) []byte {
	b := t.str[bin.Limit(uint64(s.name), len(t.str)):]
	b = b[:min(len(b), maxName)]
	return b[:max(bytes.IndexByte(b, 0), 0)]
}

// name is a symbol's name in the source; "" where the string table does not have it.
func (t *symbols) name(s *nlist) string { return plainName(t.string(s)) }

// plainName is a name without the underscore that the C compiler puts before it.
func plainName(b []byte) string { return string(bytes.TrimPrefix(b, []byte("_"))) }

// named finds a defined symbol by its name in the source. Most names that are asked for are not
// there, which the strings alone tell.
func (t *symbols) named(name string) (nlist, bool) {
	if t.len() == 0 || !bytes.Contains(t.str, append([]byte(name), 0)) {
		return nlist{}, false
	}
	for i := range t.len() {
		if s := t.at(i); s.defined() && t.is(&s, name) {
			return s, true
		}
	}
	return nlist{}, false
}

// is tells whether a symbol has a name, as the source spells it.
func (t *symbols) is(s *nlist, name string) bool {
	b := t.str[bin.Limit(uint64(s.name), len(t.str)):]
	b = bytes.TrimPrefix(b[:min(len(b), len(name)+2)], []byte("_"))
	return len(b) > len(name) && b[len(name)] == 0 && string(b[:len(name)]) == name
}
