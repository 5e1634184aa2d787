package vmcore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/kernels"
)

// TestGivenAway: a kernel gives the memory of its start's code away, and its own file still has that
// code. Memory has all names. A file of the same release from another build is not used.
func TestGivenAway(t *testing.T) {
	m := kernels.NewMachine(names...)
	_, file := kernels.ARM64()
	start := m.Symbols[len(m.Symbols)-2].Addr // the last function's
	code := bytes.Clone(m.RAM[start-m.Offset-kernels.RAMBase:][:64])
	given := m.RAM[m.Symbols[991].Addr-m.Offset-kernels.RAMBase : m.Symbols[len(m.Symbols)-1].Addr-m.Offset-kernels.RAMBase]
	copy(given, bytes.Repeat([]byte("somebody else's "), len(given)/16+1))
	other := bytes.Replace(file, []byte("#1 SMP test"), []byte("#2 SMP test"), 1)
	for _, c := range []struct {
		name     string
		file     []byte
		restored bool
		issue    string
	}{
		{"an empty file", nil, false, "not used"},
		{"the kernel", file, true, ""},
		{"another build", other, false, "#2 SMP test"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "vmlinuz-6.1.0-synth"), c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		snap, err := openBeside(t, dir, m.Vmcore(0x1000))
		if err != nil {
			t.Fatal(err)
		}
		img := snap.Modules[0].Image
		got := img.Segments.Bytes(snap.Modules[0].ToImage(start))
		if restored := bytes.HasPrefix(got, code); restored != c.restored {
			t.Errorf("%s: restored %t, want %t", c.name, restored, c.restored)
		}
		if s, ok := img.Symbols.Named("function999"); !ok || snap.Modules[0].ToTarget(s.Addr) != start {
			t.Errorf("%s: function999 at %#x, want %#x", c.name, s.Addr, start)
		}
		if issues := fmt.Sprint(snap.Issues); !strings.Contains(issues, c.issue) || c.issue == "" && strings.Contains(issues, "not used") {
			t.Errorf("%s: %s", c.name, issues)
		}
	}
}
