package bench_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// stacks are captured by a sampler: registers and a copy of the stack each, all of
// one program. Format: inputs/perf/README.md beside them.
type stacks struct {
	snaps []*target.Snapshot
	want  [][]uint64 // the return addresses of each, the PC first
}

const (
	magic     = 0x314b5453 // "STK1"
	registers = 33         // DWARF registers 0 … 32
)

// archs are the processors of the records, by number.
var archs = [...]struct {
	name string
	pc   int // DWARF number under which the record has the PC
}{{"x86_64", 16}, {"aarch64", 32}}

// load reads a folder of stacks; it skips the test where those, or the binaries
// that they refer to, are not on this machine. They are optional: testdata has
// those of libraries, and one deep stack, deepmips.
func load(t testing.TB, name string) *stacks {
	t.Helper()
	switch {
	case slices.Contains(libraries, name):
		return recordedStacks(t, name)
	case name == "deepmips":
		return deepMIPS(t)
	}
	dir := recorded.Shared(t, "inputs/perf", name)
	bin, err := exec.Command("xz", "-dc", filepath.Join(dir, "stacks.bin.xz")).Output()
	if err != nil {
		t.Skip("no stacks: ", err)
	}
	s, cpus := &stacks{}, backsight.CPUs()
	var modules []*target.Module
	for len(bin) > 0 {
		var head [registers + 3]uint64
		n := 8 * len(head)
		for i := range head {
			head[i] = binary.LittleEndian.Uint64(bin[8*i:])
		}
		if head[0]&0xffff_ffff != magic {
			t.Fatalf("%s: no record after %d stacks", dir, len(s.snaps))
		}
		kind, base, size := archs[head[0]>>32], head[registers+1], int(head[registers+2])
		arch, _ := cpus.ByName(kind.name, "", false)
		if modules == nil {
			modules = mapped(t, dir, cpus)
		}
		snap := &target.Snapshot{Arch: arch, OS: "Linux", Modules: modules, Threads: make([]target.Thread, 1)}
		regs := &snap.Threads[0].Regs
		for i, v := range head[1 : 1+registers] {
			if r, ok := arch.RegByDWARF(uint64(i)); ok && i < kind.pc {
				regs.Set(r, v)
			}
		}
		regs.Set(arch.PC, head[1+kind.pc])
		var mem target.Builder
		mem.Add(base, bin[n:n+size], 0, target.PermRead|target.PermWrite)
		snap.Memory = mem.Memory(arch)
		s.snaps = append(s.snaps, snap)
		bin = bin[n+size:]
	}
	s.want = expected(t, dir, len(s.snaps))
	return s
}

// expected reads what libunwind and libdwfl agree on.
func expected(t testing.TB, dir string, n int) (want [][]uint64) {
	t.Helper()
	bin, err := os.ReadFile(filepath.Join(dir, "pcs.expected"))
	if err != nil {
		bin, err = exec.Command("xz", "-dc", filepath.Join(dir, "pcs.expected.xz")).Output()
	}
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		pcs := make([]uint64, binary.LittleEndian.Uint64(bin))
		for i := range pcs {
			pcs[i] = binary.LittleEndian.Uint64(bin[8+8*i:])
		}
		want, bin = append(want, pcs), bin[8+8*len(pcs):]
	}
	return want
}

// mapped opens what maps.txt names.
func mapped(t testing.TB, dir string, cpus cpu.Set) []*target.Module {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "maps.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	snap := target.Snapshot{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m := &target.Module{}
		if _, err := fmt.Sscanf(lines.Text(), "%x %x %x %s", &m.Lo, &m.Hi, &m.Bias, &m.Name); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		path := m.Name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		img, err := elf.Open(path, image.Options{Archs: cpus, NoDebugFiles: true})
		if err != nil {
			t.Skip("a binary of the stacks is missing: ", err)
		}
		t.Cleanup(func() { _ = img.Close() })
		m.Image = img
		snap.Modules = append(snap.Modules, m)
	}
	snap.SortModules()
	return snap.Modules
}
