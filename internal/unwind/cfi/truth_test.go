package cfi_test

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/image/elf"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

type recorded struct {
	Regs   map[string]string
	Memory []struct {
		Base  string
		Bytes []byte
	}
}

type chain struct {
	Prog   string
	Step   int
	Frames []struct{ PC, CFA, Func, Kind string }
}

// TestAgainstRecordedChains walks recorded programs, by rules of call frame
// information only, and compares each CFA and return address with what
// single-stepping has shown.
func TestAgainstRecordedChains(t *testing.T) {
	dirs, _ := filepath.Glob("../../../../shared/truth/public/*/*-O2")
	if len(dirs) == 0 {
		t.Skip("no recorded programs")
	}
	most := 30
	if long() {
		most = math.MaxInt
	}
	for _, dir := range dirs {
		img, err := elf.Open(filepath.Join(dir, "sym.elf"), image.Options{Archs: archs(), NoDebugFiles: true})
		if err != nil {
			continue
		}
		defer img.Close()
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) {
			snaps, truth := jsonLines(t, filepath.Join(dir, "snaps.jsonl.gz")), jsonLines(t, filepath.Join(dir, "truth.jsonl.gz"))
			var right, unknown int
			for range most {
				var r recorded
				var c chain
				if snaps.Decode(&r) != nil || truth.Decode(&c) != nil {
					break
				}
				n := follow(t, img, &r, &c)
				right += n
				if n < len(c.Frames)-1 {
					unknown++
				}
			}
			t.Logf("%d frames right; %d chains not known to the end", right, unknown)
		})
	}
}

func jsonLines(t *testing.T, path string) *json.Decoder {
	f, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Skip(err)
	}
	return json.NewDecoder(z)
}

// follow walks one chain as far as there are rules and returns how many frames
// were right. A wrong one fails the test but in __longjmp of AArch64's glibc, whose
// hand-written rows describe the jmp_buf and not the frame.
func follow(t *testing.T, img *image.Image, r *recorded, c *chain) int {
	arch := img.Arch
	regs, mem := state(arch, r)
	exact := true
	for i := range len(c.Frames) - 1 {
		pc, _, _ := arch.PCOf(&regs)
		q := unwind.Query{Image: img, Arch: arch, PC: pc, Exact: exact}
		if !exact {
			q.PC--
		}
		var rule unwind.Rule
		if v := cfi.New().Rule(&q, &rule); v != unwind.Found {
			return i
		}
		var out cpu.Registers
		res, oc := unwind.Apply(arch, &rule, &regs, mem, 0, &out)
		if oc != unwind.Applied {
			return i
		}
		exact = rule.Flags&unwind.SignalFrame != 0
		next, _ := arch.SplitCode(res.PC)
		want := c.Frames[i+1]
		if cfa := c.Frames[i].CFA; next != hex(want.PC) || cfa != "" && res.CFA != hex(cfa) {
			if c.Frames[i].Func == "__longjmp" {
				return i
			}
			t.Errorf("%s step %d, %s (%s) at %#x: CFA %#x, caller %#x; recorded %s and %s; %s", c.Prog, c.Step,
				c.Frames[i].Func, c.Frames[i].Kind, q.PC, res.CFA, next, cfa, want.PC, rule.Format(arch))
			return i
		}
		regs = out
	}
	return len(c.Frames) - 1
}

func state(arch *cpu.Arch, r *recorded) (regs cpu.Registers, mem *target.Memory) {
	for name, v := range r.Regs {
		if reg, ok := arch.RegByName(name); ok {
			regs.Set(reg, hex(v))
		}
	}
	var b target.Builder
	for _, m := range r.Memory {
		b.Add(hex(m.Base), m.Bytes, 0, target.PermUnknown)
	}
	return regs, b.Memory(arch)
}

func hex(s string) uint64 {
	v, _ := strconv.ParseUint(s, 0, 64)
	return v
}
