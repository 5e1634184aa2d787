package matching_test

import (
	"path/filepath"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/matching"
)

// build is a firmware of the repository. Unless named, its functions have lost their names, which are returned.
func build(t *testing.T, name string, named bool) (*matching.Build, map[uint64]string) {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{})
	t.Cleanup(func() { files.Close() })
	img, err := files.Open(filepath.Join("../../../testdata/microcontroller", name))
	if err != nil {
		t.Fatal(err)
	}
	b, err := matching.Of(t.Context(), analyses.Of(img, nil))
	if err != nil {
		t.Fatal(err)
	}
	names := map[uint64]string{}
	for i := range b.Functions {
		f := &b.Functions[i]
		if names[f.Entry] = f.Name; !named {
			f.Name = ""
		}
	}
	return b, names
}

// Two firmwares of the same sources, for a Cortex-M3 and a Cortex-M4F: without names, what is matched is the same function, and that
// is most of them.
func TestWithoutNames(t *testing.T) {
	old, oldNames := build(t, "m3-freertos.elf", false)
	new, newNames := build(t, "m4f-freertos.elf", false)
	said, right := 0, 0
	for _, p := range matching.New(old, new).Pairs() {
		if p.Old == nil || p.New == nil {
			continue
		}
		if said++; oldNames[p.Old.Entry] == newNames[p.New.Entry] {
			right++
		} else {
			t.Logf("%s is not %s (%s)", oldNames[p.Old.Entry], newNames[p.New.Entry], p.By)
		}
	}
	if said < len(old.Functions)/2 || right < said {
		t.Errorf("%d of %d matched functions are the same, of %d", right, said, len(old.Functions))
	}
}

// With names, functions are matched by these, whatever their code.
func TestNames(t *testing.T) {
	old, oldNames := build(t, "m3-freertos.elf", true)
	new, _ := build(t, "rv32-freertos.elf", true)
	n := 0
	for _, p := range matching.New(old, new).Pairs() {
		if p.Old != nil && p.New != nil && p.By == matching.ByName {
			if n++; oldNames[p.Old.Entry] != p.New.Name {
				t.Errorf("%s is not %s", oldNames[p.Old.Entry], p.New.Name)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d functions have the same name", n)
	}
}

// every is how many instructions there are for one that is asked for.
const every = 97

// Places are found: instructions of a build in the build itself; those behind calls in another build.
func TestPlaces(t *testing.T) {
	same, _ := build(t, "m3-freertos.elf", true)
	new, _ := build(t, "m4f-freertos.elf", true)
	m, other := matching.New(same, same), matching.New(same, new)
	places, elsewhere := 0, 0
	for i := range same.Functions {
		for n, p := range same.Places(&same.Functions[i]) {
			if n%every != 0 {
				continue
			}
			places++
			if f, ok := m.Find(p.PC); !ok || f.New == nil || f.PC != p.PC || !f.Same {
				t.Fatalf("%#x in %s is at %#x of the build itself", p.PC, same.Functions[i].Name, f.PC)
			}
			if f, ok := other.Find(p.PC); ok && f.Same {
				elsewhere++
			}
		}
	}
	if elsewhere < places/2 {
		t.Errorf("%d of %d places are found", elsewhere, places)
	}
	if _, ok := m.Find(1 << 31); ok {
		t.Error("a function where no code is")
	}
}
