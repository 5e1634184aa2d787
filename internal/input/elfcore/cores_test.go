package elfcore_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// load opens a core with the files below sysroot; everything is released when
// the test ends.
func load(t *testing.T, path string, opt input.FileOptions) (*target.Snapshot, error) {
	t.Helper()
	opt.Archs, opt.Formats = captured.Archs(), []image.Format{elf.Format()}
	files := input.NewFiles(opt)
	t.Cleanup(func() { files.Close() })
	s, err := (&input.Env{Archs: opt.Archs, Formats: []input.Format{elfcore.Format()}, Files: files}).Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { s.Close() })
	snap, err := s.Next(context.Background())
	if err != nil {
		return nil, err
	}
	if _, err := s.Next(context.Background()); err != io.EOF {
		t.Errorf("a second snapshot: %v", err)
	}
	return snap, nil
}

// TestCores compares every optional core with what GDB says of it.
func TestCores(t *testing.T) {
	for _, arch := range []string{"mips", "mipsel", "mips64", "mips64el", "aarch64", "armhf", "amd64", "amd64-lang"} {
		t.Run(arch, func(t *testing.T) {
			cores, _ := filepath.Glob(filepath.Join(recorded.Shared(t, "inputs/user-cores", arch), "*.core.gz"))
			sysroot := captured.Programs(t, arch)
			for _, path := range cores {
				t.Run(filepath.Base(path), func(t *testing.T) { compareCore(t, strings.TrimSuffix(path, ".core.gz"), sysroot) })
			}
		})
	}
}

func compareCore(t *testing.T, base, sysroot string) {
	snap, err := load(t, base+".core.gz", input.FileOptions{Sysroots: []string{sysroot}})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range snap.Issues {
		if !expectedIssue(base, i.Text) {
			t.Errorf("issue: %s", i)
		}
	}
	gdb, err := os.ReadFile(base + ".gdb.txt")
	if err != nil {
		t.Fatal(err)
	}
	compareThreads(t, snap, string(gdb))
	const died = "Program terminated with signal "
	if snap.Fault == nil || strings.Contains(string(gdb), died) && !strings.Contains(string(gdb), died+snap.Fault.Name+",") {
		t.Errorf("fault %+v is not the signal that GDB tells", snap.Fault)
	}
	if text, err := os.ReadFile(base + ".expected.json"); err == nil {
		compareModules(t, snap, text)
	}
}

// expectedIssue: among the programs for mips64 lies the dynamic linker of mips o32.
func expectedIssue(base, issue string) bool {
	return strings.Contains(base, "/mips64/") && strings.Contains(issue, "ld.so.1")
}

func compareModules(t *testing.T, snap *target.Snapshot, text []byte) {
	var want struct{ Modules [][2]string }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, w := range want.Modules {
		bias, _ := strconv.ParseUint(w[1], 0, 64)
		found := false
		for _, m := range snap.Modules {
			if filepath.Base(m.Name) == w[0] {
				found = true
				if m.Bias != bias || m.Image == nil && snap.Arch.Name != "mips64" {
					t.Errorf("%s: bias %#x, image %v; want %#x", m.Name, m.Bias, m.Image != nil, bias)
				}
			}
		}
		if !found {
			t.Errorf("module %s at %#x is missing", w[0], bias)
		}
	}
	if pc, _, _ := snap.Arch.PCOf(&snap.Threads[0].Regs); pc > 0x1000 && pc < 1<<40 {
		if m, ok := snap.ModuleAt(pc); ok && snap.Memory.Bytes(pc) == nil {
			t.Errorf("no code at the PC %#x in %s", pc, m.Name)
		}
	}
}

// threadHeads splits GDB's text by thread.
var threadHeads = regexp.MustCompile(`(?m)^== thread \d+ lwp (\d+)( \(crashed\))?$`)

func compareThreads(t *testing.T, snap *target.Snapshot, gdb string) {
	heads := threadHeads.FindAllStringSubmatchIndex(gdb, -1)
	if len(heads) == 0 { // the registers of the crashed thread only
		if n := strings.Count(gdb, "[New LWP "); n != len(snap.Threads) {
			t.Errorf("%d threads, GDB has %d", len(snap.Threads), n)
		}
		if n := compareRegs(t, snap.Arch, &snap.Threads[0], gdb); n < 16 {
			t.Errorf("only %d registers compared", n)
		}
		return
	}
	if len(heads) != len(snap.Threads) {
		t.Fatalf("%d threads, GDB has %d", len(snap.Threads), len(heads))
	}
	for i, h := range heads {
		end := len(gdb)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		id, _ := strconv.Atoi(gdb[h[2]:h[3]])
		th := threadOf(snap, id)
		if th == nil {
			t.Errorf("thread %d is missing", id)
			continue
		}
		if crashed := h[4] >= 0; crashed != th.Crashed {
			t.Errorf("thread %d: crashed %v, want %v", id, th.Crashed, crashed)
		}
		text := gdb[h[1]:end]
		if n := compareRegs(t, snap.Arch, th, text); n < 16 && strings.TrimSpace(text) != "" {
			t.Errorf("thread %d: only %d registers compared", id, n)
		}
	}
}

func threadOf(snap *target.Snapshot, id int) *target.Thread {
	for i := range snap.Threads {
		if snap.Threads[i].ID == id {
			return &snap.Threads[i]
		}
	}
	return nil
}

// compareRegs reads "info registers": name, hex, natural form on each line, or
// for MIPS a row of names above a row of values. It returns how many it knew.
func compareRegs(t *testing.T, arch *cpu.Arch, th *target.Thread, text string) (n int) {
	check := func(name, value string) {
		reg, ok := arch.RegByName(name)
		v, err := strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
		if !ok || err != nil {
			return
		}
		n++
		if got, ok := th.Regs.Lookup(reg); !ok || got != v {
			t.Errorf("thread %d: %s = %#x, GDB has %#x", th.ID, name, got, v)
		}
	}
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 2 && strings.HasPrefix(f[1], "0x"):
			check(f[0], f[1])
		case len(f) > 0 && strings.HasPrefix(f[0], "R") && len(names) == len(f)-1:
			f = f[1:]
			fallthrough
		case len(f) == len(names) && len(f) > 2:
			for i := range f {
				check(names[i], f[i])
			}
			names = nil
		default:
			names = f
		}
	}
	return n
}
