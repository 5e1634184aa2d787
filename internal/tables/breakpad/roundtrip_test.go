package breakpad_test

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	symbols "github.com/backsight/backsight/internal/image/breakpad"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/listed"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/tables/breakpad"
	"github.com/backsight/backsight/internal/unwind/stackcfi"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind"
)

// TestRoundTrip: what was written as a symbol file is read as the same rule at each row, and as the same name; rules of compilers and, of
// a program without tables, of code analysis.
func TestRoundTrip(t *testing.T) {
	roundTrip(t, "libc.so.6", listed.Rules(t, "x86_64-threads/modules/usr/lib/libc.so.6"))
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	for _, name := range []string{"rv32imac/bare-gcc-Os", "cortexm3/bare-gcc-Os"} {
		img, err := files.Parse(name, recorded.Unzip(t, recorded.Testdata(t, "truth", name, "naked.elf.gz")))
		if err != nil {
			t.Fatal(err)
		}
		p, err := backsight.ListRules(t.Context(), img)
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, name, p)
	}
}

// roundTrip writes and reads the rules of a program.
func roundTrip(t *testing.T, name string, p *tables.Program) {
	t.Helper()
	var text bytes.Buffer
	if _, err := breakpad.Format().Write(&text, p); err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse("a.sym", text.Bytes(), []image.Format{symbols.Format()}, image.Options{Archs: backsight.CPUs(), Arch: p.Image.Arch})
	if err != nil {
		t.Fatal(err)
	}
	base, rows, wrong := uint64(0), 0, 0
	if s := p.Image.Segments[0]; s.FileOff <= s.Addr {
		base = s.Addr - s.FileOff
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		if s, ok := img.Symbols.At(f.Start - base); !ok || s.Name != f.Symbol() {
			t.Errorf("%s: %s at %#x is %q", name, f.Symbol(), f.Start, s.Name)
		}
		for _, r := range f.Rows {
			if r.Rule == tables.None {
				continue
			}
			want, got := text1(&p.Rules[r.Rule], p.Image.Arch), read(img, r.Addr-base)
			if rows++; want != got {
				if wrong++; wrong < 10 {
					t.Errorf("%s %#x: %s\n want %s", name, r.Addr, got, want)
				}
			}
		}
	}
	if rows < 20 || wrong > 0 {
		t.Errorf("%s: %d rows, %d differ", name, rows, wrong)
	}
}

// text1 is a rule as text.
func text1(r *tables.Rule, arch *cpu.Arch) string {
	out := stackwalk.Rule{}
	out.Reset()
	out.CFA, out.RA = r.CFA, r.RA
	for _, reg := range r.Regs {
		out.Add(reg)
	}
	return normal(&out, arch)
}

// read is the rule that a symbol file has for an address.
func read(img *image.Image, at uint64) string {
	var out stackwalk.Rule
	out.Reset()
	if v := (stackcfi.Source{}).Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: at, Resume: at, Exact: true}, &out); v != unwind.Found {
		return v.String()
	}
	return normal(&out, img.Arch)
}

// normal is a rule without what only says that a register keeps its value, or that nobody knows it.
func normal(r *stackwalk.Rule, arch *cpu.Arch) string {
	if r.RA.Kind == stackwalk.Undefined {
		return "the outermost frame"
	}
	var regs []stackwalk.RegRule
	for _, reg := range r.Regs[:r.N] {
		switch {
		case reg.Kind == stackwalk.Unspecified, reg.Kind == stackwalk.SameValue, reg.Kind == stackwalk.Undefined:
		case reg.Reg == arch.SP && reg.Kind == stackwalk.CFAPlus && reg.Off == 0:
		default:
			regs = append(regs, reg)
		}
	}
	slices.SortFunc(regs, func(a, b stackwalk.RegRule) int { return cmp.Compare(a.Reg, b.Reg) })
	r.N = copy(r.Regs[:], regs)
	return r.Format(arch)
}
