package sframe_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/listed"
	"github.com/backsight/backsight/internal/tables/sframe"
	source "github.com/backsight/backsight/internal/unwind/sframe"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/rule"
)

// read is a file with a .sframe, and the unwind source that reads it.
func read(t *testing.T, file []byte) func(pc uint64) string {
	t.Helper()
	img, err := image.Parse("x", file, []image.Format{elf.Format()}, image.Options{Archs: captured.Archs()})
	if err != nil {
		t.Fatal(err)
	}
	return func(pc uint64) string {
		var r stackwalk.Rule
		if v := (source.Source{}).Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Exact: true}, &r); v != unwind.Found {
			return ""
		}
		return said(img.Arch, r.CFA, r.RA, r.Of(img.Arch.FP), r.Flags)
	}
}

// said is a rule in words: "sp+32 RA -8 FP -16".
func said(a *cpu.Arch, cfa, ra, fp rule.Register, flags rule.Flags) string {
	base := "sp"
	if cfa.Base == a.FP {
		base = "fp"
	}
	out := fmt.Sprintf("%s%+d", base, cfa.Off)
	if ra.Kind == rule.AtCFA {
		out += fmt.Sprintf(" RA %d", ra.Off)
	}
	if fp.Kind == rule.AtCFA {
		out += fmt.Sprintf(" FP %d", fp.Off)
	}
	if flags&rule.SignedRA != 0 {
		out += " signed"
	}
	return out
}

// TestEveryAddress: at each address of a sample of a C library's functions, version 2 says what the
// rule says, and nothing where none is known or none could be said.
func TestEveryAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	for _, name := range []string{"x86_64-threads/modules/usr/lib/libc.so.6", "aarch64-signal/modules/lib/libc.so.6"} {
		p := listed.Rules(t, name)
		var b bytes.Buffer
		refused, err := sframe.Format().Write(&b, p)
		if err != nil {
			t.Fatal(err)
		}
		silent := func(pc uint64) bool {
			for _, r := range refused {
				if pc-r.Addr < r.Size {
					return true
				}
			}
			return false
		}
		at, compared := read(t, b.Bytes()), 0
		const every = 300 // functions
		for i := 0; i < len(p.Functions); i += every {
			for pc := p.Functions[i].Start; pc < p.Functions[i].End; pc++ {
				want := ""
				if r := p.At(pc); r != nil && !silent(pc) {
					want = said(p.Image.Arch, r.CFA, r.RA, r.Of(p.Image.Arch.FP), r.Flags)
				}
				if got := at(pc); got != want {
					t.Fatalf("%s: %#x: %q, want %q", name, pc, got, want)
				}
				compared++
			}
		}
		if compared < 1000 {
			t.Errorf("%s: %d addresses", name, compared)
		}
	}
}
