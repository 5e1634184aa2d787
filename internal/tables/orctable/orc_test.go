package orctable_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/listed"
	"github.com/backsight/backsight/internal/tables/orctable"
	"github.com/backsight/backsight/internal/unwind/orc"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind"
)

// TestReadBack: our reader of ORC finds at each row of a C library what was written, and nothing where
// nothing was known or could be said.
func TestReadBack(t *testing.T) {
	p := listed.Rules(t, "x86_64-threads/modules/usr/lib/libc.so.6")
	var b bytes.Buffer
	refused, err := orctable.Format().Write(&b, p)
	if err != nil {
		t.Fatal(err)
	}
	silent := map[uint64]bool{}
	for _, r := range refused {
		silent[r.Addr] = true
	}
	img, err := image.Parse("orc", b.Bytes(), []image.Format{elf.Format()}, image.Options{Archs: backsight.CPUs()})
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for i := range p.Functions {
		for _, row := range p.Functions[i].Rows {
			want := p.At(row.Addr)
			if silent[row.Addr] {
				want = nil
			}
			if compare(t, img, row.Addr, want) {
				said++
			}
		}
	}
	if said < 1000 || len(silent) > said/20 {
		t.Errorf("%d rows said, %d refused", said, len(silent))
	}
}

// compare reports whether the image's ORC tables have the rule at an address.
func compare(t *testing.T, img *image.Image, pc uint64, want *tables.Rule) bool {
	t.Helper()
	var got stackwalk.Rule
	got.Reset()
	v := orc.Source{}.Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Exact: true}, &got)
	switch {
	case want == nil:
		if v != unwind.NotCovered {
			t.Errorf("%#x: %v where nothing is known", pc, v)
		}
		return false
	case want.RA.Kind == stackwalk.Undefined:
		return v == unwind.EndOfStack
	}
	a := img.Arch
	fp, wantFP := got.Of(a.FP), want.Of(a.FP)
	if v != unwind.Found || got.CFA.Format(a) != want.CFA.Format(a) || got.RA.Format(a) != want.RA.Format(a) || fp.Format(a) != wantFP.Format(a) {
		t.Errorf("%#x: %v %s; want CFA=%s rbp=%s", pc, v, got.Format(a), want.CFA.Format(a), wantFP.Format(a))
	}
	return true
}

// TestOtherProcessors: ORC is x86-64's alone.
func TestOtherProcessors(t *testing.T) {
	_, err := orctable.Format().Write(&bytes.Buffer{}, listed.Rules(t, "mips-naked/modules/packer"))
	if err == nil || !strings.Contains(err.Error(), "ORC is for x86_64, not for mips") {
		t.Error(err)
	}
}
