package rows_test

import (
	"context"
	"errors"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/rows"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind"
)

func open(t *testing.T, name string) *image.Image {
	t.Helper()
	img, err := elf.Open(recorded.Testdata(t, name), image.Options{Archs: captured.Archs(), NoDebugFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = img.Close() })
	return img
}

func sources() (*code.Source, []rows.Source) {
	analysis := code.New(&discover.Tables{Functions: cfi.New().FunctionRanges})
	return analysis, []rows.Source{
		{Name: "cfi", RuleSource: cfi.New(), Part: table.Listed(unwind.MethodCFI, cfi.New().Rows)},
		{Name: "code", RuleSource: analysis, Part: table.Part{Method: unwind.MethodCode, List: analysis.Rows}},
	}
}

// TestRowsSayWhatSourcesSay: before each instruction the listed rule is the first answer of the
// source that the rule names.
func TestRowsSayWhatSourcesSay(t *testing.T) {
	for _, name := range []string{"mips-naked/modules/packer", "x86_64-threads/modules/usr/lib/libc.so.6"} {
		img := open(t, name)
		analysis, list := sources()
		p, err := rows.List(t.Context(), img, rows.Code{Entries: analysis.Entries, Modes: analysis.Modes}, list...)
		if err != nil || len(p.Functions) < 5 {
			t.Fatalf("%s: %d functions, %v", name, len(p.Functions), err)
		}
		end, asked := uint64(0), 0
		for i := range p.Functions {
			f := &p.Functions[i]
			if f.Start < end || f.End <= f.Start || f.Rows[0].Addr != f.Start {
				t.Fatalf("%s: the function from %#x to %#x follows one that ends at %#x", name, f.Start, f.End, end)
			}
			end = f.End
			for _, row := range f.Rows {
				if row.Rule == tables.None || row.Addr%img.Arch.InsnAlign != 0 || asked > 3000 {
					continue
				}
				asked++
				says(t, img, list, &stackwalk.Query{Image: img, Arch: img.Arch, PC: row.Addr, Resume: row.Addr, Mode: f.Mode, Exact: true}, &p.Rules[row.Rule])
			}
		}
	}
}

// says compares a listed rule with what its source answers.
func says(t *testing.T, img *image.Image, list []rows.Source, q *stackwalk.Query, got *tables.Rule) {
	t.Helper()
	for _, s := range list {
		var want stackwalk.Rule
		want.Reset()
		if s.Name != got.Source || s.Rule(q, &want) != unwind.Found {
			continue
		}
		full := stackwalk.Rule{CFA: got.CFA, RA: got.RA, N: len(got.Regs)}
		copy(full.Regs[:], got.Regs)
		short, fits := packed.Of(img.Arch, &want)
		if fits { // rules that fit are listed in the form in which tables have them
			short.Unpack(img.Arch, &want)
		}
		if !full.Equal(&want, img.Arch.Preserved) {
			t.Errorf("%#x: %s, want %s", q.PC, full.Format(img.Arch), want.Format(img.Arch))
		}
	}
}

// TestAt: At finds the rule of any address, and none outside the functions.
func TestAt(t *testing.T) {
	img := open(t, "mips-naked/modules/packer")
	analysis, list := sources()
	p, err := rows.List(t.Context(), img, rows.Code{Entries: analysis.Entries, Modes: analysis.Modes}, list...)
	if err != nil {
		t.Fatal(err)
	}
	f := &p.Functions[3]
	if got := p.At(f.Start); got != &p.Rules[f.Rows[0].Rule] {
		t.Errorf("at the start of a function: %v", got)
	}
	if got := p.At(p.Functions[0].Start - 1); got != nil {
		t.Errorf("before all functions: %v", got)
	}
	if got := p.At(p.Functions[len(p.Functions)-1].End); got != nil {
		t.Errorf("behind all functions: %v", got)
	}
}

// TestCancelled: a list that nobody waits for ends.
func TestCancelled(t *testing.T) {
	img := open(t, "mips-naked/modules/packer")
	analysis, list := sources()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rows.List(ctx, img, rows.Code{Entries: analysis.Entries, Modes: analysis.Modes}, list...); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
