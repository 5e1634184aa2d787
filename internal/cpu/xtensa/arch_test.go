package xtensa

import (
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestArchs: Xtensa is described by its registers; no code of it is read, and no call frame information.
func TestArchs(t *testing.T) {
	a := Archs()[0]
	if sp, ok := a.RegByName("sp"); !ok || sp != A1 || a.Decoder != nil {
		t.Errorf("SP is register %d, decoder %v", sp, a.Decoder)
	}
	if r, ok := a.RegByDWARF(0); ok {
		t.Errorf("DWARF's register 0 is %s", a.RegName(r))
	}
	if got, ok := cpu.Set(Archs()).ByELF(94, 1, false, 0x300, 0); !ok || got.String() != "xtensa windowed little-endian" {
		t.Errorf("an ELF file of Xtensa is %v", got)
	}
}
