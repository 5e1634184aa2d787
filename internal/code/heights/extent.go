package heights

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
)

const (
	maxSpan    = 1 << 24 // bytes from the entry of a function on
	maxEntries = 4       // entries behind a function's own that may be false
)

// extent is how far a function may reach.
type extent struct {
	entries *discover.Entries
	entry   uint64
	mode    cpu.Mode
	first   uint64 // where the next function begins, as far as known
	own     uint64 // nothing ends the function in front of this
	limit   uint64 // see last; 0: nobody has asked
	cut     bool   // the function ends where another one begins
	named   bool   // a symbol or a table has the function's size
}

// reset makes x the extent of the function at an entry.
func (x *extent) reset(entry disasm.Addr) {
	x.entry, x.mode, x.cut, x.limit = entry.PC, entry.Mode, false, 0
	x.first = x.entries.Next(x.entry, x.entry)
	x.own = min(x.first, x.entry+maxSpan)
	_, _, x.named = x.entries.Declared(x.entry)
}

// last is behind the last place where the function can be. Most functions do not reach the next one; beyond that, a
// function may reach over a few further entries, for those may be false, unless a symbol or a table has its size.
func (x *extent) last() uint64 {
	if x.limit == 0 {
		x.limit = x.first
		for range maxEntries {
			if x.named {
				break
			}
			x.limit = x.entries.Next(x.limit, x.entry)
		}
		x.limit = min(x.limit, x.entry+maxSpan)
	}
	return x.limit
}

// isEntry tells whether another function begins at a place behind the entry, or filler in front of another one.
func (x *extent) isEntry(pc uint64) bool {
	return pc >= x.first && (x.named || x.entries.IsEntry(disasm.Addr{PC: pc, Mode: x.mode}))
}

// ends tells whether the function ends in front of a place.
func (x *extent) ends(pc uint64) bool {
	return pc >= x.own && (pc >= x.last() || x.cut && x.isEntry(pc))
}

// next is the first place from an offset on where the function may end, relative to the entry.
func (x *extent) next(from uint32) uint32 {
	if x.cut || x.entry+uint64(from) < x.own {
		return uint32(x.own - x.entry)
	}
	return uint32(x.last() - x.entry)
}

// has tells whether a jump's target can lie in the function.
func (x *extent) has(to disasm.Addr) bool {
	return to.Mode == x.mode && to.PC >= x.entry && (to.PC < x.own || to.PC < x.last())
}

// at is the place at an offset.
func (x *extent) at(offset uint32) disasm.Addr {
	return disasm.Addr{PC: x.entry + uint64(offset), Mode: x.mode}
}
