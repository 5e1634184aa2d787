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
	f := newFile(binary.LittleEndian)
	f.mmap(1, 7, 0x9000, 0x1000, 0x9000, protExec, anonymous)
	f.mmap(1, 7, 0xd000, 0x1000, 0, protExec, "/srv/jit-7.dump")
	f.sample(4, 7, 7, nil, 0x7000, 0x9110, nil)
	s := beside(t, f.bytes(), "tmp/perf-7.map", []byte("9100 20 JS:*fib a.js:1\n"))
	snap, err := s.Next(t.Context())
	if err != nil || len(snap.Modules) != 1 || len(snap.Issues) != 0 {
		t.Fatalf("%v, modules %v, issues %v", err, snap.Modules, snap.Issues)
	}
	if name, entry, ok := snap.Made(0x9110); name != "JS:*fib a.js:1" || entry != 0x9100 || !ok {
		t.Errorf("%q at %#x", name, entry)
	}
}

// beside opens a recording of a machine that has one file.
func beside(t *testing.T, recording []byte, path string, content []byte) input.Stream {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, path), content, 0o600); err != nil {
		t.Fatal(err)
	}
	env := &input.Env{Archs: x86.Archs(), Files: input.NewFiles(input.FileOptions{Archs: x86.Archs(), Sysroots: []string{dir}})}
	t.Cleanup(func() { _ = env.Files.Close() })
	s, err := open(t.Context(), input.NewCapture("perf.data", recording), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestLoggedCode: the code that a run-time logged is an image where a sample was in it. Without the log's clock it is known as far as nothing else
// ever lay there.
func TestLoggedCode(t *testing.T) {
	for _, clock := range []uint64{clockMonotonic, 0} {
		f := newFile(binary.LittleEndian)
		f.attr = f.words(0, 0, 0, testFields, 0, sampleIDAll|useClockID, 0, 0, 0, 0, testRegs, clock<<32)
		f.mmap(1, 7, 0x9000, 0x1000, 0x9000, protExec, anonymous)
		f.mmap(1, 7, 0xd000, 0x1000, 0, protExec, "/srv/jit-7.dump")
		f.sample(20, 7, 7, nil, 0x7000, 0x9101, nil)
		f.sample(40, 7, 7, nil, 0x7000, 0x9101, f.words(0x9202))
		log := f.halves(0x4a695444, 1, 40, 62, 0, 7, 0, 0, 0, 0)
		for _, made := range []struct{ time, addr uint64 }{{10, 0x9100}, {30, 0x9100}, {30, 0x9200}} {
			log = append(append(log, f.halves(0, 16+40+2+2)...), f.words(made.time, 0, made.addr, made.addr, 2, made.time)...)
			log = append(log, 'f', 0, byte(made.time), 0xc3)
		}
		s := beside(t, f.bytes(), "srv/jit-7.dump", log)
		var got []byte
		for snap, err := s.Next(t.Context()); err == nil; snap, err = s.Next(t.Context()) {
			for _, m := range snap.Modules {
				if m.Image != nil {
					got = append(got, m.Image.Segments[0].Data[0])
				}
			}
			got = append(got, byte(len(snap.Threads)), '.')
		}
		want := map[uint64]string{clockMonotonic: "\n\x01.\x1e\x1e\x01.", 0: "\x1e\x02."}[clock] // 10 is \n, 30 \x1e
		if string(got) != want {
			t.Errorf("clock %d: %q, want %q", clock, got, want)
		}
	}
}
