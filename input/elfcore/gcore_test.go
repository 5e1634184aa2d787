package elfcore_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// TestCodeLeftOut: GDB's gcore writes no program header for a mapping that its
// file holds unchanged, which is where the code is. The binaries are found all
// the same.
func TestCodeLeftOut(t *testing.T) {
	opt := input.FileOptions{Sysroots: []string{recorded.Testdata(t, "x86_64-threads/modules")}}
	data := recorded.Unzip(t, recorded.Testdata(t, "x86_64-threads/core.gz"))
	whole, err := read(t, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if n := dropEmptyCode(data); n < 3 {
		t.Fatalf("%d executable program headers without bytes", n)
	}
	cut, err := read(t, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(placed(whole), placed(cut)) {
		t.Errorf("modules %x, want %x", placed(cut), placed(whole))
	}
}

// dropEmptyCode turns the program headers of executable mappings whose bytes were
// not captured into PT_NULL (gABI figure 5-1, ELF64).
func dropEmptyCode(core []byte) (dropped int) {
	le := binary.LittleEndian
	table := core[le.Uint64(core[32:]):]
	for i := range int(le.Uint16(core[56:])) {
		p := table[56*i:]
		if le.Uint32(p) == 1 && le.Uint32(p[4:])&1 != 0 && le.Uint64(p[32:]) == 0 {
			le.PutUint32(p, 0)
			dropped++
		}
	}
	return dropped
}

// placed lists the modules that have an image by where they lie.
func placed(s *target.Snapshot) (list []target.Range) {
	for _, m := range s.Modules {
		if m.Image != nil {
			list = append(list, m.Range)
		}
	}
	return list
}
