package pclntab

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/pclntab"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/unwind"
)

// TestRules: where SP and the return address are, by how far SP is from where it was at the call.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		arch        string
		height      int64
		interrupted bool
		want        string
	}{
		{"x86_64", 0, false, "CFA=rsp+8 RA=[CFA-8]"},
		{"x86_64", 32, false, "CFA=rsp+40 RA=[CFA-8]"},
		{"x86_64", 88, true, "CFA=rsp+96 RA=[CFA-8]"},
		{"aarch64", 0, false, "CFA=sp RA=x30"},
		{"aarch64", 32, false, "CFA=sp+32 RA=[CFA-32]"},
		// The handler has pushed x30, and 8 bytes that keep SP aligned.
		{"aarch64", 96, true, "CFA=sp+112 RA=[CFA-112] x30=[CFA-16]"},
	} {
		arch := archOf(t, c.arch)
		var r stackwalk.Rule
		r.Reset()
		fill(arch, c.height, &r)
		r.N = 0 // the registers that are lost
		if c.interrupted {
			interrupted(arch, &r)
		}
		if got := r.Format(arch); got != c.want || (r.Flags&stackwalk.SignalFrame != 0) != c.interrupted {
			t.Errorf("%s, height %d: %s, want %s", c.arch, c.height, got, c.want)
		}
	}
}

func archs() []*cpu.Arch { return slices.Concat(x86.Archs(), arm64.Archs(), arm.Archs()) }

func archOf(t *testing.T, name string) *cpu.Arch {
	for _, a := range archs() {
		if a.Name == name && !a.BigEndian {
			return a
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// TestDebugFrame: at every instruction of a program that the Go toolchain links here, .debug_frame, which
// the linker makes too, has the same CFA and return address.
func TestDebugFrame(t *testing.T) {
	img := build(t, "")
	var calls, ends int
	table := cfi.New()
	img.Symbols.Functions(func(addr uint64, mode cpu.Mode, size uint64) bool {
		f, ok := pclntab.Of(img).At(addr)
		if !ok || f.Lo != addr || f.TopFrame() || f.WritesSP() || interrupts(f.Name()) {
			ends++
			return true
		}
		for pc := addr; pc < addr+size; pc++ {
			q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Exact: true}
			var own, other stackwalk.Rule
			own.Reset()
			other.Reset()
			if (Source{}).Rule(&q, &own) != unwind.Found || table.Rule(&q, &other) != unwind.Found {
				continue
			}
			if !own.Equal(&other, 0) {
				t.Fatalf("%#x in %s: %s, .debug_frame has %s", pc, f.Name(), own.Format(img.Arch), other.Format(img.Arch))
			}
			calls++
		}
		return true
	})
	if calls < 100000 || ends == 0 {
		t.Errorf("%d places compared, %d functions without rules", calls, ends)
	}
}

// TestHandler: the kernel calls the runtime's handler of signals, and behind that lies the stack that was interrupted. .debug_frame, which calls
// it the end of the stack, is not believed.
func TestHandler(t *testing.T) {
	for _, processor := range []string{"amd64", "arm64", "arm"} {
		img := build(t, processor)
		f, ok := pclntab.Of(img).Named("runtime.sigtramp")
		if !ok || !f.Handles() {
			t.Fatal("the runtime handles no signals")
		}
		table, ends := cfi.New(), 0
		for pc := f.Lo; pc < f.Hi; pc += uint64(img.Arch.InsnAlign) {
			q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc}
			var r stackwalk.Rule
			r.Reset()
			if v := table.Rule(&q, &r); v == unwind.EndOfStack || v == unwind.Found && r.RA.Kind == stackwalk.Undefined {
				ends++
			}
		}
		if ends > 0 {
			t.Errorf("%s: the stack ends at %d places", processor, ends)
		}
	}
}

// build links a program with the Go toolchain, for this machine's processor or another.
func build(t *testing.T, processor string) *image.Image {
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS != "linux" {
		t.Skip("no Go toolchain that makes ELF files")
	}
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-o", path, "../../pclntab/testdata/program.go")
	if processor != "" {
		cmd.Env = append(cmd.Environ(), "GOARCH="+processor)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("go build: %v\n%s", err, out)
	}
	img, err := elf.Open(path, image.Options{Archs: archs()})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { img.Close() })
	return img
}
