// Package paging reads the page tables of a captured machine: which virtual addresses of
// the kernel show which physical memory.
//
// Specifications: Arm ARM DDI 0487 D8 (AArch64), DDI 0406 B3 (short descriptors, LPAE);
// Intel SDM volume 3, chapter 5; RISC-V Privileged Architecture, chapter 12; Linux
// arch/mips/include/asm/pgtable-32.h, pgtable-64.h and pgtable-bits.h.
package paging

import (
	"context"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/target"
)

// Mapping is a run of virtual addresses that shows a run of physical ones.
type Mapping struct {
	Virtual, Physical, Size uint64
	Write, Exec             bool
}

// Tables are the page tables of an address space. Root is the physical address of the
// first table.
type Tables struct {
	Scheme
	Physical *target.Memory
	Root     uint64
}

// Scheme is how a processor translates addresses.
type Scheme struct {
	// Levels are the tables on the way to a page, the first one first.
	Levels []Level
	// EntrySize is the size of a table's entry in bytes.
	EntrySize int
	// Sign extends the highest translated bit to the bits above (x86, RISC-V); else High
	// has the bits above.
	Sign bool
	High uint64
	// Top, where not 0, has the bits above of the last gigabyte that is translated.
	Top uint64
	// decode takes an entry of a level apart.
	decode func(e uint64, level, last int) entry
	// user is the scheme of processes, nil where that is the same.
	user func() Scheme
}

// Level is one table: the bits of the virtual address from Shift on select its entry.
type Level struct{ Shift, Bits uint }

// entry is a table's entry, taken apart.
type entry struct {
	kind        kind
	cache       uint8  // MIPS's kind of cache
	addr        uint64 // of the next table, or of the page
	write, exec bool
	size        uint64 // of the page where the level does not say it; 0: 1 << Shift
}

type kind uint8

const (
	none kind = iota
	table
	page
)

// Costs of reading tables: those of a machine with a terabyte in small pages.
const (
	entriesFloor   = 1 << 24
	maxMappings    = 1 << 20
	entriesPerByte = 1
)

// Mappings are the runs that the tables map, from virtual address lo on, ascending, with
// neighbours joined. The error says which bound ended the search; what was found is
// returned too. Tables that refer to one another in a circle are as deep as the scheme
// says, and cost what their entries cost.
func (t *Tables) Mappings(ctx context.Context, lo uint64) ([]Mapping, error) {
	w := t.walk(ctx, lo)
	return w.out, w.work.Err()
}

// Translate finds the physical address that a virtual one shows.
func (t *Tables) Translate(va uint64) (pa uint64, ok bool) {
	pa, state := t.Lookup(va)
	return pa, state == Mapped
}

// State is what tables have for an address.
type State uint8

// The states of a page. One that is Kept is for the kernel to bring: its entry has what the processor does not follow, where a page that
// was swapped out is, for the most part.
const (
	Unmapped State = iota
	Kept
	Mapped
)

// Lookup finds the physical address that a virtual one shows, and what is there otherwise: of a page that is Kept pa is the table's entry.
func (t *Tables) Lookup(va uint64) (pa uint64, state State) {
	at := t.Root
	for level, l := range t.Levels {
		if level == 0 && t.canonical(va&(1<<(l.Shift+l.Bits)-1)) != va {
			return 0, Unmapped
		}
		v, ok := t.Physical.Uint(at+va>>l.Shift&(1<<l.Bits-1)*uint64(t.EntrySize), t.EntrySize)
		if !ok {
			return 0, Unmapped
		}
		switch e := t.decode(v, level, len(t.Levels)-1); e.kind {
		case table:
			at = e.addr
		case page:
			return e.addr + va&(max(e.size, 1<<l.Shift)-1), Mapped
		default:
			if v != 0 && level+1 == len(t.Levels) {
				return v, Kept
			}
			return 0, Unmapped
		}
	}
	return 0, Unmapped
}

// SameCache tells whether all pages of the memory have the same kind of cache, where entries say so
// (MIPS). Devices have another one.
func (t *Tables) SameCache(ctx context.Context) bool { return len(t.walk(ctx, 0).caches) <= 1 }

func (t *Tables) walk(ctx context.Context, lo uint64) *walk {
	w := &walk{t: t, lo: lo, caches: make(map[uint8]bool), empty: make(map[tableAt]bool),
		work: budget.New("page table entries", entriesFloor, t.Physical.Size()/uint64(t.EntrySize)*entriesPerByte)}
	w.work.Until(ctx)
	w.table(0, t.Root, 0)
	return w
}

// walk is a search through all tables.
type walk struct {
	t    *Tables
	lo   uint64
	work budget.Budget
	out  []Mapping
	// caches are the kinds of cache that pages have.
	caches map[uint8]bool
	// empty are tables that map nothing.
	empty map[tableAt]bool
}

// table reads one table, at a physical address, for virtual addresses from va on, and tells
// whether any page is mapped. A table that maps none is not read again: on MIPS every entry
// without a table leads to one that is empty.
func (w *walk) table(level int, at, va uint64) (some bool) {
	l := w.t.Levels[level]
	n := 1 << l.Bits
	if w.empty[tableAt{level, at}] || !w.work.Draw(n) {
		return false
	}
	for i := range n {
		v, ok := w.t.Physical.Uint(at+uint64(i*w.t.EntrySize), w.t.EntrySize)
		if !ok {
			break
		}
		first := va + uint64(i)<<l.Shift // without the bits above: one entry of the first table may have two kinds
		virtual := w.t.canonical(first)
		if v == 0 || len(w.out) >= maxMappings || virtual+(1<<l.Shift-1) < w.lo {
			continue
		}
		switch e := w.t.decode(v, level, len(w.t.Levels)-1); e.kind {
		case table:
			if level+1 == len(w.t.Levels) { // RISC-V: a pointer where only pages are, reserved
				continue
			}
			some = w.table(level+1, e.addr, first) || some
		case page:
			some = true
			if _, inRAM := w.t.Physical.PermAt(e.addr); inRAM {
				w.caches[e.cache] = true
			}
			w.add(Mapping{virtual, e.addr, max(e.size, 1<<l.Shift), e.write, e.exec})
		}
	}
	if !some && len(w.empty) < maxMappings {
		w.empty[tableAt{level, at}] = true
	}
	return some
}

// tableAt is a table: its level and physical address.
type tableAt struct {
	level int
	at    uint64
}

// canonical fills the bits above those that are translated.
func (s *Scheme) canonical(va uint64) uint64 {
	top := s.Levels[0].Shift + s.Levels[0].Bits
	switch {
	case !s.Sign && s.Top != 0 && va>>30 == 1<<(top-30)-1:
		return va | s.Top
	case !s.Sign:
		return va | s.High
	case top < 64 && va>>(top-1)&1 != 0:
		return va | ^uint64(0)<<top
	}
	return va
}

// add appends a page, or prolongs the last run by it.
func (w *walk) add(m Mapping) {
	if n := len(w.out) - 1; n >= 0 {
		p := &w.out[n]
		if p.Virtual+p.Size == m.Virtual && p.Physical+p.Size == m.Physical && p.Write == m.Write && p.Exec == m.Exec {
			p.Size += m.Size
			return
		}
		if m.Virtual < p.Virtual+p.Size {
			return // an entry repeated for a large page (ARM's supersections)
		}
	}
	w.out = append(w.out, m)
}
