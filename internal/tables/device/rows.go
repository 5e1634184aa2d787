package device

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
	"github.com/backsight/backsight/tables"
)

// row is a stretch of code in which one frame holds.
type row struct {
	lo, hi uint64
	frame  frame
}

// listed are the rows of a program, in order of address and without a hole between the first and
// the last, and what device tables cannot say of it.
type listed struct {
	rows    []row
	refused []tables.Refusal
}

// add appends a row, after one of which nothing is known if there is a hole before.
func (l *listed) add(r row) {
	n := len(l.rows)
	if n > 0 && l.rows[n-1].hi < r.lo {
		l.rows = append(l.rows, row{lo: l.rows[n-1].hi, hi: r.lo})
		n++
	}
	if n > 0 && l.rows[n-1].frame == r.frame {
		l.rows[n-1].hi = r.hi
		return
	}
	l.rows = append(l.rows, r)
}

// list lists the rows of a program, each value in all the places where it is.
func list(p *tables.Program, f *framer) *listed {
	l, w := &listed{}, newWidener(p, f)
	for i := range p.Functions {
		fn := &p.Functions[i]
		own := &listed{}
		for k, r := range fn.Rows {
			fr := f.of(r)
			if fr.refused != "" {
				l.refused = append(l.refused, tables.Refusal{Function: fn.Symbol(), Addr: r.Addr, Size: fn.RowEnd(k) - r.Addr, Reason: fr.refused})
			}
			own.add(row{r.Addr, fn.RowEnd(k), fr.frame})
		}
		l.filler(p, fn)
		for _, r := range w.widen(fn, own.rows) {
			l.add(r)
		}
	}
	return l
}

// filler extends the last row over what fills up the space before a function: no frame is ever
// there, and a row that says so would take space.
func (l *listed) filler(p *tables.Program, next *tables.Function) {
	const padding = 15
	if len(l.rows) == 0 {
		return
	}
	last := &l.rows[len(l.rows)-1]
	if next.Start-last.hi > padding {
		return
	}
	code := p.Image.Segments.Code(last.hi)
	for at := last.hi; at < next.Start; {
		var insn [1]cpu.Insn
		n := p.Image.Arch.Decoder.Decode(code[at-last.hi:], at, next.Mode, insn[:])
		if n == 0 || insn[0].Flags&cpu.FlagPadding == 0 {
			return
		}
		at += uint64(insn[0].Len)
	}
	last.hi = next.Start
}

// merged joins neighbours that agree.
func merged(rows []row) []row {
	var out []row
	for _, r := range rows {
		if n := len(out); n > 0 {
			if both, ok := out[n-1].frame.and(r.frame); ok {
				out[n-1].hi, out[n-1].frame = r.hi, both
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// unitOf is the size of the smallest instruction among the functions of a program, in bytes.
func unitOf(p *tables.Program) uint64 {
	unit := uint64(4)
	for i := range p.Functions {
		unit = min(unit, p.Image.Arch.InsnAlignIn(p.Functions[i].Mode))
	}
	return unit
}

// aligned lets rows begin at units. A row begins within a unit where it is that of a call which
// is running: behind the first byte of the call. Of a call of one unit the frame before the
// call and the frame while it runs share the unit, and nothing is known where they disagree. A
// running call is asked for by its last unit, so that the row of a longer one begins with the next.
func aligned(p *tables.Program, rows []row, unit uint64) []row {
	out := slices.Clone(rows)
	for i := 1; i < len(out); i++ {
		at := out[i].lo &^ (unit - 1)
		if at == out[i].lo {
			continue
		}
		next := at + unit
		if !longer(p, at, unit) {
			shared := agreed(out[i-1].frame, out[i].frame)
			out[i-1].hi = at
			out = slices.Insert(out, i, row{at, next, shared})
			i++
		} else {
			out[i-1].hi = next
		}
		out[i].lo = next
	}
	return slices.DeleteFunc(out, func(r row) bool { return r.lo >= r.hi })
}

// agreed is the frame of a call's unit, from those before the call and while it runs. A register
// that the unit itself saves is lost there (MIPS: the delay slot of bal is sd s1,16(sp)). A frame
// whose return address is in a register cannot be taken for that of a running call: there the
// register is unknown.
func agreed(before, during frame) frame {
	both, ok := before.and(during)
	switch {
	case ok || before.sameCFA(&during) && both.ra != lost():
		return both
	case during.kind == unknown && before.kind == known && before.ra.slot == none:
		return before
	}
	return frame{}
}

// longer tells whether the instruction at an address, with its delay slot, takes more than a
// unit.
func longer(p *tables.Program, at, unit uint64) bool {
	i, ok := slices.BinarySearchFunc(p.Functions, at, func(f tables.Function, at uint64) int {
		if at < f.Start {
			return 1
		} else if at >= f.End {
			return -1
		}
		return 0
	})
	var insns [2]cpu.Insn
	if !ok {
		return true
	}
	n := p.Image.Arch.Decoder.Decode(p.Image.Segments.Code(at), at, p.Functions[i].Mode, insns[:])
	if n == 0 {
		return true
	}
	step := stepping.StepOf(insns[:n], at)
	return step.Next-at > unit || step.Cut
}
