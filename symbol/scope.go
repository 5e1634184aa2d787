//go:build !small

package symbol

import (
	"debug/dwarf"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/die"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/target"
)

// Scope is where an address lies in the debug information of an image: for who reads variables
// and their types.
type Scope struct {
	// Info has the entries at Unit, the unit's own, and Function, the subprogram's. They count
	// from Begin on in .debug_info.
	die.Info
	Unit, Function, Begin dwarf.Offset
	// Version is that of DWARF, 2 to 5.
	Version int
	// Base is the address that offsets in lists are from; Split: the unit is in a file of its own.
	Base  uint64
	Split bool
	// Section reads a section that belongs to Data.
	Section func(name string) []byte
}

// Scope calls use with the scope of an image address of a module, which means nothing after
// use has returned. It reports false where there is none.
func (s *Symbolizer) Scope(m *target.Module, addr uint64, use func(Scope)) (found bool) {
	if m.Image == nil {
		return false
	}
	a := s.answers(m.Image)
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.dwarf(m.Image)
	fault := mapped.Guard(func() {
		d.guard(func() {
			if sc, ok := d.scope(addr); ok {
				found = true
				use(sc)
			}
		})
	})
	if fault != nil {
		blame(m.Image, fault)
	}
	return found
}

// scope finds the unit and the function of an address.
func (d *debugInfo) scope(addr uint64) (sc Scope, ok bool) {
	d.work.Add(workPerLookup)
	u, ok := d.findUnit(addr)
	if !ok {
		return sc, false
	}
	u.readWhole()
	f, ok := covering(u.functions, addr)
	sc = Scope{Info: u.dies(), Unit: u.die, Function: dwarf.Offset(f), Begin: u.header - u.begin, Version: unitVersion(d.img, u.header), Section: d.section}
	if s := u.other; s != nil {
		sc.Base, sc.Split, sc.Section, sc.Begin = s.base, true, s.section, s.begin
	}
	return sc, ok
}

// unitVersion reads the version in a unit's header (DWARF 5 §7.5.1).
func unitVersion(img *image.Image, header dwarf.Offset) int {
	r := bin.New(img.Sections.Part(".debug_info", uint64(header), 14), img.Arch.BigEndian)
	unitLength(&r)
	return int(r.U16())
}
