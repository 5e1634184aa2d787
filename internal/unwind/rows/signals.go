package rows

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Signals calls yield for the rules of an image's signal trampolines, from lo up to hi, until it
// returns false.
type Signals func(img *image.Image, yield func(lo, hi uint64, mode cpu.Mode, r *stackwalk.Rule) bool)

// signals lets the rules of trampolines hold where no table of the image speaks of a signal frame:
// as ordinary code, a trampoline falls into the next function.
func (l *lister) signals(of Signals) {
	if of == nil {
		return
	}
	of(l.img, func(lo, hi uint64, mode cpu.Mode, r *stackwalk.Rule) bool {
		l.put(span{lo, hi, l.number(r, unwind.MethodSigframe.String()), mode})
		return l.ctx.Err() == nil
	})
}

// put lists a span in place of what is listed there.
func (l *lister) put(s span) {
	from, _ := slices.BinarySearchFunc(l.spans, s.lo+1, func(old span, lo uint64) int { return cmp.Compare(old.hi, lo) })
	to := from
	var with []span
	for ; to < len(l.spans) && l.spans[to].lo < s.hi; to++ {
		old := l.spans[to]
		if r := &l.out.Rules[old.rule]; r.Flags&stackwalk.SignalFrame != 0 && r.Source != l.out.Rules[s.rule].Source {
			return
		}
		if old.lo < s.lo {
			with = append(with, span{old.lo, s.lo, old.rule, old.mode})
		}
		if old.hi > s.hi {
			with = append(with, s, span{s.hi, old.hi, old.rule, old.mode})
		}
	}
	if n := len(with); n == 0 || with[n-1].lo < s.lo {
		with = append(with, s)
	}
	l.spans = slices.Replace(l.spans, from, to, with...)
}
