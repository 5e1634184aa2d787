package code

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind"
)

// TestSketchesSayTheSame: at every line of the listings that a sketch covers, its
// rule recovers what the rule of the analysis with joins does. It may name a slot
// where that names the register that still holds the value.
func TestSketchesSayTheSame(t *testing.T) {
	sketched, all := 0, 0
	for name, l := range listings(t) {
		s, img := New(nil), l.image(true)
		an := s.of(img)
		for i := range l.lines {
			l.places(img, &l.lines[i], func(q *unwind.Query, want string) {
				all++
				var full, r unwind.Rule
				q.Try = 0
				if !an.sketched(q, &r) || l.lines[i].beyond {
					return
				}
				sketched++
				if an.answer(q, an.lookup(q), &full) != unwind.Found {
					t.Errorf("%s %x: sketched %s, want %q", name, q.PC, r.Format(q.Arch), want)
					return
				}
				if rel := s.Compare(q, l.entry[0], &full, &r); rel.CFA != unwind.Yes || rel.RA != unwind.Yes || rel.Regs == unwind.No {
					t.Errorf("%s %x, resumed %v: %s, want %s", name, q.PC, !q.Exact, r.Format(q.Arch), want)
				}
			})
		}
	}
	t.Logf("%d of %d places", sketched, all)
	if sketched < all/2 {
		t.Errorf("%d of %d places have a sketch", sketched, all)
	}
}

// TestSketchesTellFrames: a sketch makes a frame where one of its rows has SP elsewhere
// than on entry.
func TestSketchesTellFrames(t *testing.T) {
	for name, l := range listings(t) {
		an := New(nil).of(l.image(true))
		for _, e := range l.entry {
			s := an.sketch(e, l.mode)
			if s == nil {
				continue
			}
			moved := slices.ContainsFunc(s.frames, func(f sketchFrame) bool { return f.sp != 0 })
			if s.made != moved {
				t.Errorf("%s %x: a frame made: %t, want %t", name, e, s.made, moved)
			}
		}
	}
}

// TestSketchReadsPC: a call of the next instruction pushes a word, which that pops.
func TestSketchReadsPC(t *testing.T) {
	code := []byte{
		0x53,                         // 0: push %ebx
		0xe8, 0x00, 0x00, 0x00, 0x00, // 1: call 6
		0x5b,                               // 6: pop %ebx
		0x81, 0xc3, 0x02, 0x00, 0x00, 0x00, // 7: add $2,%ebx
		0x5b, // d: pop %ebx
		0xc3, // e: ret
	}
	a := arch(t, "i386", "", false)
	seg := image.Segment{Addr: text, Size: uint64(len(code)), Data: code, Read: true, Exec: true}
	an := New(nil).of(image.New(image.Header{Path: "program", Arch: a, Segments: []image.Segment{seg}}, &functionsOnly{entries: []uint64{text}}))
	s := an.sketch(text, 0)
	if s == nil {
		t.Fatal("no sketch")
	}
	for at, sp := range map[uint64]int32{0: 0, 1: -4, 6: -8, 7: -4, 0xd: -4, 0xe: 0} {
		if f := s.covers(text + at); f == nil || f.sp != sp {
			t.Errorf("at %x the frame is %+v, want SP %d from that on entry", at, f, sp)
		}
	}
}

// TestAddressSet: ranges over words of the set, and the first place outside of it.
func TestAddressSet(t *testing.T) {
	var s addressSet
	s.addAll(3, 5)
	s.addAll(60, 130)
	s.addAll(130, 192)
	for _, tt := range []struct{ from, want uint32 }{{0, 0}, {3, 5}, {4, 5}, {59, 59}, {60, 192}, {128, 192}, {1000, 1000}} {
		if got := s.without(tt.from); got != tt.want {
			t.Errorf("without(%d) is %d, want %d", tt.from, got, tt.want)
		}
	}
	if s.has(2) || s.has(5) || !s.has(64) || !s.has(191) || s.has(192) || s.has(nowhere) {
		t.Errorf("%064b", s.bits)
	}
	for _, tt := range []struct{ from, want uint32 }{{0, 3}, {4, 4}, {5, 60}, {191, 191}, {192, nowhere}, {1000, nowhere}} {
		if got := s.next(tt.from); got != tt.want {
			t.Errorf("next(%d) is %d, want %d", tt.from, got, tt.want)
		}
	}
	if s.reset(); s.has(60) || s.without(3) != 3 {
		t.Error("something is left")
	}
}

// TestIsText: pointers to strings are none to code, whatever they decode as.
func TestIsText(t *testing.T) {
	for code, want := range map[string]bool{
		"llvm.x86.monitorx\x00llvm.x":          true,
		"AWAVAUATUSH\x83\xec\x18":              false, // push r15 … push rbx; sub rsp,24
		"Uh\x00":                               false,
		strings.Repeat("no end in sight, ", 8): true,
		"short":                                false,
	} {
		if isText([]byte(code)) != want {
			t.Errorf("%q: want %t", code, want)
		}
	}
}
