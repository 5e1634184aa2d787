package locals_test

import (
	"debug/elf"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/livecore"
)

// TestDamaged: whatever is wrong with the debug information, reading it ends without a panic.
func TestDamaged(t *testing.T) {
	path := livecore.Compile(t, "gcc", program, "-O1", "-gdwarf-5")
	damaged(t, path, path)
}

// TestDamagedSplit: the same in a file of its own.
func TestDamagedSplit(t *testing.T) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		path := livecore.Compile(t, "gcc", program, "-O1", "-gsplit-dwarf", version)
		parts, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.dwo"))
		if err != nil || len(parts) != 1 {
			t.Skip(parts, err)
		}
		damaged(t, path, parts[0])
	}
}

// damaged reads variables while the debug information in a file is damaged in many ways.
func damaged(t *testing.T, program, path string) {
	t.Helper()
	core := livecore.Crash(t, program)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		data := append([]byte(nil), whole...)
		for _, s := range f.Sections {
			if !strings.HasPrefix(s.Name, ".debug_") || s.Size == 0 {
				continue
			}
			for range 1 + rng.IntN(8) {
				data[s.Offset+rng.Uint64N(s.Size)] = byte(rng.Uint32())
			}
		}
		if err := os.WriteFile(path, data, 0o700); err != nil {
			t.Fatal(err)
		}
		readAll(t, core)
	}
}
