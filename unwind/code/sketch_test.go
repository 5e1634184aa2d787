package code

import (
	"testing"

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
