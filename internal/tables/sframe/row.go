package sframe

import (
	"slices"

	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// frameRow is a row of the form: a base register with the offset of the CFA from it; then, from the
// CFA, the place of the return address where that varies, and that of the frame pointer if it was
// saved.
type frameRow struct {
	addr    uint64
	info    byte
	offsets []int64
}

// says tells whether two rows say the same.
func (r *frameRow) says(o *frameRow) bool {
	return r.info == o.info && slices.Equal(r.offsets, o.offsets)
}

// convert makes a row of a rule. why is what the form cannot say.
func (e *encoder) convert(r *tables.Rule) (out frameRow, why string) {
	a := e.arch
	if r.RA.Kind == rule.Undefined {
		return out, "no caller: version 2 has no outermost frames"
	}
	if r.CFA.Kind != rule.RegPlus || r.CFA.Base != a.SP && r.CFA.Base != a.FP || r.CFA.Off != int64(int32(r.CFA.Off)) {
		return out, "the CFA is " + r.CFA.Format(a)
	}
	if r.Flags&rule.SignalFrame != 0 {
		return out, "a signal frame"
	}
	if r.CFA.Base == a.SP {
		out.info = baseSP
	}
	if r.Flags&rule.SignedRA != 0 {
		out.info |= mangledRA
	}
	out.offsets = append(out.offsets, r.CFA.Off)
	inPlace := r.RA.Kind == rule.RegPlus && r.RA.Base == a.LR && r.RA.Off == 0
	switch {
	case e.fixedRA != 0:
		if r.RA.Kind != rule.AtCFA || r.RA.Off != e.fixedRA {
			return out, "the return address is " + r.RA.Format(a)
		}
	case r.RA.Kind == rule.AtCFA:
		out.offsets = append(out.offsets, r.RA.Off)
	case !inPlace:
		return out, "the return address is " + r.RA.Format(a)
	}
	fp := r.Of(a.FP)
	switch {
	case fp.Kind == rule.Unspecified || fp.Kind == rule.SameValue:
	case fp.Kind == rule.AtCFA && inPlace:
		return out, "the frame pointer is saved, and the return address is not"
	case fp.Kind == rule.AtCFA:
		out.offsets = append(out.offsets, fp.Off)
	default:
		return out, "the frame pointer is " + fp.Format(a)
	}
	return out, ""
}
