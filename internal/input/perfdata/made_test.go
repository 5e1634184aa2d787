package perfdata

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/x86"
)

// TestMadeNames: code that a run-time made has the names that it wrote for perf; the log of such names, which the program maps, is no
// binary.
func TestMadeNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tmp/perf-7.map"), []byte("9100 20 JS:*fib a.js:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFile(binary.LittleEndian)
	f.mmap(1, 7, 0x9000, 0x1000, 0x9000, protExec, anonymous)
	f.mmap(1, 7, 0xd000, 0x1000, 0, protExec, "/srv/jit-7.dump")
	f.sample(4, 7, 7, nil, 0x7000, 0x9110, nil)
	env := &input.Env{Archs: x86.Archs(), Files: input.NewFiles(input.FileOptions{Archs: x86.Archs(), Sysroots: []string{dir}})}
	defer env.Files.Close()
	s, err := open(t.Context(), input.NewCapture("perf.data", f.bytes()), env)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	snap, err := s.Next(t.Context())
	if err != nil || len(snap.Modules) != 1 || len(snap.Issues) != 0 {
		t.Fatalf("%v, modules %v, issues %v", err, snap.Modules, snap.Issues)
	}
	if name, entry, ok := snap.Made(0x9110); name != "JS:*fib a.js:1" || entry != 0x9100 || !ok {
		t.Errorf("%q at %#x", name, entry)
	}
}
