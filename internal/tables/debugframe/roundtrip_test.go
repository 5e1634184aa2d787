package debugframe_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/tables/debugframe"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind"
)

// opened is a program of testdata, with debug files from a folder.
func opened(t *testing.T, name, debug string) *image.Image {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{DebugDirs: []string{debug}})
	t.Cleanup(func() { _ = files.Close() })
	img, err := files.Open(recorded.Testdata(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// written writes a debug file where debuggers look for it below a new folder.
func written(t *testing.T, form tables.Format, p *tables.Program) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, form.FileName(p))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	refused, err := form.Write(f, p)
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// naked are programs without tables of their own, of several processors.
var naked = []string{
	"mips-naked/modules/packer",
}

// TestReadBack: our own reader finds the debug file by the build ID, and in it, before each row's
// first instruction, the rule that was written; where no rule was known it finds none.
func TestReadBack(t *testing.T) {
	for _, name := range naked {
		p, err := backsight.ListRules(t.Context(), opened(t, name, ""))
		if err != nil {
			t.Fatal(err)
		}
		dir, _ := written(t, debugframe.DebugFrame(), p)
		img := opened(t, name, dir)
		for i := range p.Functions {
			f := &p.Functions[i]
			for _, row := range f.Rows {
				readBack(t, img, row.Addr, p.At(row.Addr))
			}
			if sym, ok := img.Symbols.At(f.Start); !ok || sym.Name != f.Symbol() {
				t.Errorf("%s: %#x is called %q, want %q", name, f.Start, sym.Name, f.Symbol())
			}
		}
	}
}

// readBack compares what the image's debug file says of an address with a rule, nil for none.
func readBack(t *testing.T, img *image.Image, pc uint64, want *tables.Rule) {
	t.Helper()
	var got stackwalk.Rule
	got.Reset()
	v := cfi.New().Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Exact: true}, &got)
	if want == nil {
		if v == unwind.Found {
			t.Errorf("%#x: %s where nothing was known", pc, got.Format(img.Arch))
		}
		return
	}
	if want.RA.Kind == stackwalk.Undefined {
		if v != unwind.Found || got.RA.Kind != stackwalk.Undefined {
			t.Errorf("%#x: %v %s, want the outermost frame", pc, v, got.Format(img.Arch))
		}
		return
	}
	full := stackwalk.Rule{CFA: want.CFA, RA: want.RA, N: len(want.Regs)}
	copy(full.Regs[:], want.Regs)
	if v != unwind.Found || !got.Equal(&full, img.Arch.Preserved) {
		t.Errorf("%#x: %v %s, want %s", pc, v, got.Format(img.Arch), full.Format(img.Arch))
	}
}
