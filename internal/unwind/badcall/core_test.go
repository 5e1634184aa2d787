package badcall

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/unwind"
)

// frame1 is the caller in GDB's backtrace.
var frame1 = regexp.MustCompile(`(?m)^#1 +(0x[0-9a-f]+) in `)

// TestCallThroughNull: in testdata's core of AArch64, plug_report of libplug.so called
// through NULL.
func TestCallThroughNull(t *testing.T) {
	snap := captured.Core(t, recorded.Testdata(t, "aarch64-signal/core.gz"), recorded.Testdata(t, "aarch64-signal/modules"))
	var got stackwalk.Caller
	if v := (Source{}).Step(captured.State(snap, &snap.Threads[0].Regs, true), &got); v != unwind.Found {
		t.Fatal(v)
	}
	m, ok := snap.ModuleAt(got.Regs.Val[snap.Arch.PC])
	if !ok {
		t.Fatalf("pc %#x", got.Regs.Val[snap.Arch.PC])
	}
	if s, ok := m.Image.Symbols.At(m.ToImage(got.Regs.Val[snap.Arch.PC])); !ok || s.Name != "plug_report" {
		t.Errorf("pc %#x in %s", got.Regs.Val[snap.Arch.PC], s.Name)
	}
}

// TestCores undoes calls through NULL and 0x12345678; GDB knows the caller.
func TestCores(t *testing.T) {
	cores := recorded.Shared(t, "inputs/user-cores")
	null, _ := filepath.Glob(cores + "/*/*.nullfn.core.gz")
	bad, _ := filepath.Glob(cores + "/*/*.badfn.core.gz")
	for _, path := range append(null, bad...) {
		dir, name := filepath.Base(filepath.Dir(path)), filepath.Base(path)
		t.Run(dir+"/"+name, func(t *testing.T) {
			gdb, err := os.ReadFile(path[:len(path)-len(".core.gz")] + ".gdb.txt")
			if err != nil {
				t.Skip(err)
			}
			m := frame1.FindSubmatch(gdb)
			if m == nil {
				t.Skip("GDB found no caller")
			}
			want, _ := strconv.ParseUint(string(m[1]), 0, 64)
			snap := captured.Core(t, path, captured.Programs(t, dir))
			var got stackwalk.Caller
			if v := (Source{}).Step(captured.State(snap, &snap.Threads[0].Regs, true), &got); v != unwind.Found {
				t.Fatal(v)
			}
			if pc, _ := snap.Arch.SplitCode(got.Regs.Val[snap.Arch.PC]); pc != want {
				t.Errorf("pc %#x, want %#x", pc, want)
			}
		})
	}
}

// A function that returns to 0x41414140, its stack smashed, made no call.
func TestSmashedStacks(t *testing.T) {
	for _, dir := range []string{"amd64", "aarch64"} {
		core := recorded.Shared(t, "inputs/user-cores", dir, "crash-dyn-O2.smash.core.gz")
		snap := captured.Core(t, core, captured.Programs(t, dir))
		s := captured.State(snap, &snap.Threads[0].Regs, true)
		if v := (Source{}).Step(s, new(stackwalk.Caller)); v != unwind.NotCovered || s.PC != 0x4141_4140 {
			t.Errorf("%s: %v at %#x", dir, v, s.PC)
		}
	}
}
