package plcrash

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// crash is a report of an arm64 program: one thread that crashed at 0x1000 and one that waits,
// an exception, one image.
func crash() []byte {
	return append([]byte("plcrash\x01"), synth.Message(
		1, synth.Message(1, 1, 2, "12.0.1", 3, archUnknown, 4, 1236127674),
		2, synth.Message(1, "app", 2, "1"),
		3, synth.Message(1, 0, 2, synth.Message(3, 0x1000), 2, synth.Message(3, 0x2004, 6, synth.Message(1, "_start", 2, 0x2000)), 3, 1,
			4, synth.Message(1, "pc", 2, 0x1000), 4, synth.Message(1, "sp", 2, 0x7000), 4, synth.Message(1, "lr", 2, 0x2004), 4, synth.Message(1, "far", 2, 1)),
		3, synth.Message(1, 1, 2, synth.Message(3, 0x1234)),
		4, synth.Message(1, 0x1000, 2, 0x4000, 3, "/Applications/app", 4, "0123456789abcdef", 5, synth.Message(1, 1, 2, 0x0100_000c, 3, 0)),
		5, synth.Message(1, "NSRangeException", 2, "beyond bounds", 3, synth.Message(3, 0x1110)),
		6, synth.Message(1, "SIGSEGV", 2, "SEGV_MAPERR", 3, 0x18),
		7, synth.Message(1, "app", 2, 77, 3, "/Applications/app", 5, 1, 6, 1))...)
}

func archs() cpu.Set { return append(append(cpu.Set{}, arm64.Archs()...), x86.Archs()...) }

func read(t testing.TB, data []byte) (*target.Snapshot, error) {
	t.Helper()
	env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Archs: archs()})}
	s, err := open(context.Background(), input.NewCapture("r.plcrash", data), env)
	if err != nil {
		return nil, err
	}
	return s.Next(context.Background())
}

// TestReport: registers, listed frames, the fault, the image, and the exception's own stack.
func TestReport(t *testing.T) {
	snap, err := read(t, crash())
	if err != nil {
		t.Fatal(err)
	}
	if snap.Arch.Name != "aarch64" || snap.PID != 77 || snap.OS != "iOS" || snap.Time != "2009-03-04T00:47:54Z" || len(snap.Threads) != 3 || len(snap.Modules) != 1 {
		t.Fatalf("%+v", snap)
	}
	first := &snap.Threads[0]
	lr, _ := first.Regs.Lookup(snap.Arch.LR)
	if !first.Crashed || lr != 0x2004 || len(first.Listed) != 2 || !first.Listed[0].Exact || first.Listed[1].Symbol != "start" ||
		first.Listed[1].Offset != 4 || !first.Listed[1].Outermost {
		t.Errorf("%+v", first.Listed)
	}
	if pc, _ := snap.Threads[1].Regs.Lookup(snap.Arch.PC); pc != 0x1234 {
		t.Errorf("the thread without registers stands at %#x", pc)
	}
	if e := &snap.Threads[2]; e.Name != "exception NSRangeException: beyond bounds" || e.Listed[0].Exact || e.Regs.Known != 0 {
		t.Errorf("%q, %+v", e.Name, e.Listed)
	}
	if f := snap.Fault; f.Name != "SIGSEGV" || f.Address != 0x18 {
		t.Errorf("%+v", f)
	}
	if m := snap.Modules[0]; m.Lo != 0x1000 || m.Hi != 0x5000 || string(m.BuildID) != "0123456789abcdef" {
		t.Errorf("%+v", m)
	}
}

// TestDamaged: what stands before the damage is used; what is no report is one line.
func TestDamaged(t *testing.T) {
	whole := crash()
	snap, err := read(t, whole[:len(whole)-40])
	if err != nil || len(snap.Threads) < 2 || len(snap.Issues) == 0 || !strings.Contains(snap.Issues[0].Text, "damaged here") {
		t.Errorf("%v, %+v", err, snap)
	}
	for data, want := range map[string]string{
		"plcrash\x02":             "r.plcrash: offset 0x7: version 2 of PLCrashReporter's reports is not known",
		"plcrash\x01":             "r.plcrash: offset 0x8: the report names no processor that is known",
		"plcrash\x01\xff\xff\xff": "r.plcrash: offset 0x8: the report names no processor that is known",
	} {
		if _, err := read(t, []byte(data)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// TestRealReports: every field of real reports, as protoc reads them.
func TestRealReports(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(recorded.Shared(t, "inputs", "apple", "plcrash"), "*", "*.plcrash"))
	n := 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			continue
		}
		n++
		r, whole := decode(data[headerSize:])
		if got, want := r.text(), decoded(t, path); got != want || whole != len(data)-headerSize {
			t.Errorf("%s: %s", path, firstDifference(got, want))
		}
		if snap, err := read(t, data); err != nil || len(snap.Threads) < len(r.threads) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n < 46 {
		t.Errorf("only %d reports", n)
	}
}

func decoded(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(strings.TrimSuffix(path, ".plcrash") + ".decoded.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return "got " + g[i] + ", want " + w[min(i, len(w)-1)]
		}
	}
	return "shorter"
}

// FuzzReport: whatever a report says, reading it ends and never panics.
func FuzzReport(f *testing.F) {
	f.Add(crash())
	f.Add(append([]byte("plcrash\x01"), bytes.Repeat([]byte{0x0b}, 100)...)) // groups in groups
	f.Fuzz(func(t *testing.T, data []byte) {
		if sniff(data) {
			_, _ = read(t, data)
		}
	})
}
