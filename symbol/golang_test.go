package symbol_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/pclntab"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// TestGoInlines: of a stripped Go program, functions that were inlined have the names, files and lines that the same program's DWARF has.
func TestGoInlines(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain")
	}
	for _, c := range []struct{ processor, mode string }{{"amd64", "exe"}, {"amd64", "pie"}, {"arm", "exe"}} {
		var modules []*target.Module
		var whole *image.Image
		for _, flags := range []string{"", "-s -w"} {
			path := filepath.Join(t.TempDir(), "program")
			cmd := exec.Command("go", "build", "-ldflags="+flags, "-buildmode="+c.mode, "-o", path, "../internal/pclntab/testdata/program.go")
			cmd.Env = append(cmd.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOARCH="+c.processor)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("go build: %v\n%s", err, out)
			}
			img, err := image.Open(path, []image.Format{pclntab.Named(elf.Format())}, image.Options{Archs: slices.Concat(x86.Archs(), arm.Archs())})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { img.Close() })
			modules = append(modules, target.NewModule("program", img, 0))
			if whole == nil {
				whole = img
			}
		}
		compareGo(t, c.processor+" "+c.mode, whole, modules)
	}
}

// compareGo compares the places of a program with those of the stripped one.
func compareGo(t *testing.T, name string, whole *image.Image, modules []*target.Module) {
	t.Helper()
	var s symbol.Symbolizer
	same, inlined, differ := 0, 0, 0
	whole.Symbols.Functions(func(addr uint64, _ cpu.Mode, size uint64) bool {
		for pc := addr; pc < addr+size; pc += 12 {
			want, got := s.Lookup(modules[0], pc), s.Lookup(modules[1], pc)
			if want.File == "" || got.File == "" || want.Line == 0 {
				continue
			}
			inlined += len(got.Inlines)
			if want.File == got.File && want.Line == got.Line && slices.Equal(want.Inlines, got.Inlines) {
				same++
			} else if differ++; differ < 4 {
				t.Logf("%s, %#x: %s:%d %v, DWARF has %s:%d %v", name, pc, got.File, got.Line, got.Inlines, want.File, want.Line, want.Inlines)
			}
		}
		return true
	})
	if inlined < 2000 || differ*1000 > same {
		t.Errorf("%s: %d places are the same, %d differ; %d functions were inlined", name, same, differ, inlined)
	}
}
