package elf

import (
	"bytes"

	"github.com/backsight/backsight/internal/bin"
)

// versioning is how a symbol table spells which version of a function a symbol is. Only full
// tables do, where the link editor writes the version behind the name (gABI, "Symbol
// Versioning" in the LSB); .dynsym has versions in a table of their own.
type versioning uint8

const (
	plainName      versioning = iota // memcpy
	defaultVersion                   // memcpy@@GLIBC_2.14: what new programs are linked with
	oldVersion                       // memcpy@GLIBC_2.2.5: what old programs still find
)

// bareName is the symbol's name without the version. A name that begins with @ is all name.
func (t *symtab) bareName(s *sym) ([]byte, versioning) {
	name := nameAt(t.str, s.name)
	i := bytes.IndexByte(name, '@')
	switch {
	case i <= 0:
		return name, plainName
	case bytes.HasPrefix(name[i:], []byte("@@")):
		return name[:i], defaultVersion
	}
	return name[:i], oldVersion
}

// named tells whether the symbol's name is name, whatever its version.
func (t *symtab) named(s *sym, name string) bool {
	if uint64(s.name) >= uint64(len(t.str)) {
		return false
	}
	b := t.str[s.name:]
	return len(b) > len(name) && (b[len(name)] == 0 || b[len(name)] == '@') && string(b[:len(name)]) == name
}

// mayHave is false where the strings lack the name. The end of the name is looked for, from a byte on that is rare among the first
// strings: bytes.Index goes from one such byte to the next.
func (t *symtab) mayHave(name string) bool {
	if t.hash.known() {
		return true // the table is told quickly
	}
	const some = 4 << 10 // bytes
	if len(t.str) <= some {
		return bytes.Contains(t.str, []byte(name))
	}
	var times [256]int
	for _, c := range t.str[:some] {
		times[c]++
	}
	from := 0
	for i := range len(name) / 2 {
		if times[name[i]] < times[name[from]] {
			from = i
		}
	}
	return bytes.Contains(t.str, []byte(name[from:]))
}

// maxAlias bounds what is read of the names of aliases, which are compared many times.
const maxAlias = 256

// nameCost orders the aliases of one address that are alike otherwise, the best name first:
// those without a version, then the shortest. glibc has a dozen names for some functions,
// most of them for its own use: __GI___libc_malloc, __libc_malloc, malloc.
func (t *symtab) nameCost(s *sym) int {
	b := t.str[bin.Limit(uint64(s.name), len(t.str)):]
	b = b[:min(len(b), maxAlias)]
	end := bytes.IndexByte(b, 0)
	if end >= 0 {
		b = b[:end]
	}
	n := bytes.IndexByte(b, '@')
	switch {
	case n < 0 && end < 0:
		return maxAlias
	case n < 0:
		return end
	case bytes.HasPrefix(b[n:], []byte("@@")):
		return int(defaultVersion)<<16 + n
	}
	return int(oldVersion)<<16 + n
}

// symbolRank orders the symbols of one name, of which s has the index i: by binding, and those of a
// version that only old programs find behind all others of their binding. i386's libc has two fopen,
// of which the one for programs of 1999 comes first.
func (t *symtab) symbolRank(i int, s *sym) uint8 {
	r := 2*bindRank(s) + 1
	if _, v := t.bareName(s); v == oldVersion || t.hidden(i) {
		r--
	}
	return r
}

// hidden tells whether symbol i is of a version that programs are not linked with any more: the top
// bit of the version's number says so.
func (t *symtab) hidden(i int) bool {
	if 2*i+2 > len(t.versions) {
		return false
	}
	return bin.Order(t.f.big).U16(t.versions[2*i:])>>15 != 0
}

// nameCost is that of the symbol of a ref.
func (x *symbolIndex) nameCost(ref uint32) int {
	t, s, _ := x.symbol(ref)
	return t.nameCost(&s)
}
