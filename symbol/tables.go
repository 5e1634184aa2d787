//go:build !small

package symbol

import (
	"debug/dwarf"
	"math"

	"github.com/backsight/backsight/internal/die"
)

// unitTables are what the lookups of addresses in a unit have left for the next.
type unitTables struct {
	shapes    *shapes // nil: not read
	functions map[dwarf.Offset]*function
	names     map[die.Ref]string // of what was inlined
}

// kept are the tables of a unit.
func (u unitReader) kept() *unitTables {
	if u.tables == nil {
		u.tables = &unitTables{functions: make(map[dwarf.Offset]*function), names: make(map[die.Ref]string)}
	}
	return u.tables
}

// room draws memory for tables. Where there is no more, the tables of all units are given up; held is how much the table
// at hand, which is none of these yet, has drawn before.
func (d *debugInfo) room(bytes, held int) bool {
	if d.tables.Draw(bytes) {
		return true
	}
	for i := range d.units {
		d.units[i].tables = nil
	}
	d.tables.Return(math.MaxInt)
	return d.tables.Draw(held + bytes)
}
