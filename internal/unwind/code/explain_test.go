package code

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// twoFunctions are one that a symbol names and one behind, which data points to.
var twoFunctions = codetest.Program{CPU: "x86_64", Data: map[uint64][]uint64{0x410000: {0x400010}}, Listing: `
	400000 <f>:
		400000: c3              ret
		400001: 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90
		400010: 53              push %rbx
		400011: 31 db           xor  %ebx,%ebx
		400013: 74 09           je   40001e
		400015: 90 90 90 90 90 90 90 90 90
		40001e: 5b              pop  %rbx
		40001f: c3              ret`}

// TestExplain: the entries that the search tries, where control from them comes, what they
// say, and what the ways out say.
func TestExplain(t *testing.T) {
	img := twoFunctions.Image(t)
	q := exact(img, 0x40001e, 0)
	e := New(nil).Explain(&q)
	if len(e.Forward) != 2 || len(e.Exits) != 1 || len(e.Rules) == 0 || e.Outermost {
		t.Fatalf("%+v", e)
	}
	const rule = "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]"
	f, g, exit := e.Forward[0], e.Forward[1], e.Exits[0]
	if f.Entry != 0x400000 || f.Origin != "known" || f.Reached || f.HasRule || f.End != 0x400001 || !f.Balanced {
		t.Errorf("f: %+v", f)
	}
	if g.Entry != 0x400010 || g.Origin != "pointed" || !g.Reached || !g.HasRule || g.Rule.Format(img.Arch) != rule || g.End != 0x400020 || g.Blocks != 3 || !g.Complete || g.Unbalanced {
		t.Errorf("g: %+v", g)
	}
	if exit.Rule.Format(img.Arch) != rule || !exit.Confirmed || exit.Calls != 0 || exit.Tail {
		t.Errorf("the way out: %+v", exit)
	}
	if e.Rules[0].Format(img.Arch) != rule || e.HasABI {
		t.Errorf("the answers: %+v", e.Rules)
	}
	if b := e.Believed(img.Arch); b == nil || b.Entry != 0x400010 {
		t.Errorf("believed: %+v", b)
	}
	q = exact(img, 0x500000, 0)
	if e := New(nil).Explain(&q); e.Forward != nil || e.Rules != nil || e.Believed(img.Arch) != nil {
		t.Errorf("outside the code: %+v", e)
	}
}

// TestCovers: control from an entry comes to some places; symbols tell entries' modes.
func TestCovers(t *testing.T) {
	img := twoFunctions.Image(t)
	s := New(nil)
	for pc, want := range map[uint64]bool{0x400000: false, 0x400010: true, 0x40001f: true, 0x400020: false, 0x500000: false} {
		q := exact(img, pc, 0)
		if s.Covers(&q, 0x400010) != want {
			t.Errorf("400010 comes to %x: want %t", pc, want)
		}
	}
	if mode, ok := s.EntryMode(img, 0x400000); !ok || mode != 0 {
		t.Errorf("f is in mode %d, %t", mode, ok)
	}
	if _, ok := s.EntryMode(img, 0x400011); ok {
		t.Error("a function begins at 400011")
	}
}

// TestModeOfPointedTo: nobody calls the functions of ripgrep for armhf that its tables of methods name;
// bit 0 of the pointers tells that they are A32, while the program starts in Thumb code.
func TestModeOfPointedTo(t *testing.T) {
	img := codetest.Program{CPU: "arm", Data: map[uint64][]uint64{0x410000: {0x400000, 0x400009}}, Listing: `
		400000: e92d4010  push {r4, lr}
		400004: e8bd8010  pop {r4, pc}
		400008: b510  push {r4, lr}
		40000a: bd10  pop {r4, pc}
		40000c: b510  push {r4, lr}
		40000e: bd10  pop {r4, pc}`}.Image(t)
	s := New(nil)
	for pc, want := range map[uint64]cpu.Mode{0x400000: 0, 0x400008: 1} {
		if mode, ok := PointedMode(s, img, pc); !ok || mode != want {
			t.Errorf("%#x is in mode %d, %t", pc, mode, ok)
		}
	}
	if _, ok := PointedMode(s, img, 0x40000c); ok {
		t.Error("something points to 40000c")
	}
}

// TestRows: the rows of a whole image, those that are wanted, until somebody has enough.
func TestRows(t *testing.T) {
	s, img := New(nil), twoFunctions.Image(t)
	rows := func(wanted func(lo, hi uint64) bool, enough int) (los []uint64) {
		s.Rows(img, wanted, func(lo, _ uint64, _ cpu.Mode, row packed.Row) bool {
			los = append(los, lo)
			return len(los) < enough
		})
		return los
	}
	if all := rows(nil, 100); len(all) != 4 || all[0] != 0x400000 || all[1] != 0x400010 || all[2] != 0x400011 || all[3] != 0x40001f {
		t.Errorf("rows at %x", all)
	}
	if some := rows(func(lo, hi uint64) bool { return hi <= 0x400010 }, 100); len(some) != 1 {
		t.Errorf("rows at %x where only f is wanted", some)
	}
	if some := rows(nil, 2); len(some) != 2 {
		t.Errorf("rows at %x, and two are enough", some)
	}
	blind := *img.Arch
	blind.Decoder = nil
	bare := twoFunctions.Image(t)
	if bare.Arch = &blind; len(answers(s, stackwalk.Query{Image: bare, Arch: &blind, PC: 0x400010, Exact: true})) != 0 {
		t.Error("an answer without a decoder")
	}
	s.Rows(bare, nil, func(lo, _ uint64, _ cpu.Mode, _ packed.Row) bool {
		t.Errorf("a row at %x without a decoder", lo)
		return true
	})
}
