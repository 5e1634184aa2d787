// Package kallsyms reads the names of a Linux kernel's symbols: the tables that the
// kernel carries for its own traces, found by their content, and the same as text
// (System.map, /proc/kallsyms, the output of nm).
//
// Specifications: Linux scripts/kallsyms.c, which writes the tables, and
// kernel/kallsyms.c, which reads them; Documentation/admin-guide/bug-hunting.rst.
package kallsyms

import (
	"slices"
	"sort"
	"sync"
)

// Symbol is a name of an address. Addresses are as the table states them: where the
// kernel was linked in files, where the kernel ran in /proc/kallsyms and in memory.
type Symbol struct {
	Name string
	Addr uint64
	// Size is the distance to the next symbol, 0 for the last.
	Size uint64
	// Kind is nm's letter: t and T code, w and W weak, others data.
	Kind byte
	// Module is the module that the symbol is of, "" for the kernel itself.
	Module string
}

// Code tells whether the symbol may be a function.
func (s *Symbol) Code() bool { return isCode(s.Kind) }

func isCode(kind byte) bool {
	switch kind {
	case 't', 'T', 'w', 'W':
		return true
	}
	return false
}

// Table is a set of symbols, sorted by address. Names are decoded when asked for. A
// Table does not change and is safe for concurrent use.
type Table struct {
	named *index   // of names
	addrs []uint64 // ascending
	refs  []uint32 // where names has the name of each
	names namer
	// Relative: addresses count from the kernel's first byte, since the file does not
	// say where the kernel is linked (a relocatable arm64 kernel).
	Relative bool
	// BaseOffset is where the data holds the word that the addresses of a Relative table
	// count from, once the kernel has relocated itself.
	BaseOffset int
	// FromData: addresses count from the first byte of the data that the table was found in, and may lie before
	// it, since the table says how far from its own entries each symbol lies. Entries is where in the data these
	// lie: of data in several parts, their part is the one that addresses count in.
	FromData bool
	Entries  int
}

// namer builds the name at a place.
type namer interface {
	symbol(ref uint32) (name, module string, kind byte)
}

// Len is the number of symbols.
func (t *Table) Len() int { return len(t.addrs) }

// Symbol is the symbol number i, which must be below Len.
func (t *Table) Symbol(i int) Symbol {
	s := Symbol{Addr: t.addrs[i]}
	s.Name, s.Module, s.Kind = t.names.symbol(t.refs[i])
	for _, next := range t.addrs[i+1:] {
		if next != s.Addr {
			s.Size = next - s.Addr
			break
		}
	}
	return s
}

// At is the symbol that covers addr: the last at or below it. Of several of one address it
// is the first, which the kernel's own traces print.
func (t *Table) At(addr uint64) (Symbol, bool) {
	i := sort.Search(len(t.addrs), func(i int) bool { return t.addrs[i] > addr })
	if i == 0 {
		return Symbol{}, false
	}
	first := sort.Search(i, func(k int) bool { return t.addrs[k] >= t.addrs[i-1] })
	return t.Symbol(first), true
}

// index finds symbols by name; it is made when first asked.
type index struct {
	once   sync.Once
	byName map[string]int32
}

// Named is the first symbol of a name.
func (t *Table) Named(name string) (Symbol, bool) {
	t.named.once.Do(func() {
		t.named.byName = make(map[string]int32, len(t.addrs))
		for i := len(t.addrs) - 1; i >= 0; i-- {
			n, _, _ := t.names.symbol(t.refs[i])
			t.named.byName[n] = int32(i)
		}
	})
	i, ok := t.named.byName[name]
	if !ok {
		return Symbol{}, false
	}
	return t.Symbol(int(i)), true
}

// Functions calls yield with the address and the size of every symbol of code, each
// address once, until yield returns false.
func (t *Table) Functions(yield func(addr, size uint64) bool) {
	last := ^uint64(0)
	for i, addr := range t.addrs {
		if _, _, kind := t.names.symbol(t.refs[i]); addr == last || !isCode(kind) {
			continue
		}
		last = addr
		if !yield(addr, t.Symbol(i).Size) {
			return
		}
	}
}

// Moved is the table with delta added to every address but those of absolute symbols, such
// as x86-64's offsets of per-CPU variables, which do not move with the kernel.
func (t *Table) Moved(delta uint64) *Table {
	m := *t
	m.addrs = slices.Clone(t.addrs)
	for i := range m.addrs {
		if _, _, kind := t.names.symbol(t.refs[i]); kind|0x20 != 'a' || t.FromData {
			m.addrs[i] += delta
		}
	}
	m.Relative, m.FromData = false, false
	if !slices.IsSorted(m.addrs) {
		m.refs, m.named = slices.Clone(t.refs), new(index)
		sort.Stable((*byAddr)(&m))
	}
	return &m
}
