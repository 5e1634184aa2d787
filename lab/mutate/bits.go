package mutate

import (
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
)

// oneBit names the damage of Options.Bits.
const oneBit = "one bit of a return address, to another call"

// oneBit is the damage that is hardest to see, all of that kind which a capture offers: one bit of
// one return address on the stack is inverted, where the result follows a call again. Chance does
// that rarely: few bits of a stack belong to return addresses, and of those few lead behind a call.
func (v *victim) oneBit() (list []Damage) {
	for i := range v.answer.Frames {
		if !called(v.answer.Frames, i) {
			continue
		}
		for _, at := range v.slots(i) {
			list = append(list, bitsAt(v.snap, at)...)
		}
	}
	return list
}

// called: frame i has a caller, to which a return address leads, and the bounds of its frame are known.
func called(f []truth.Frame, i int) bool {
	return i+1 < len(f) && f[i].CFA != nil && (i == 0 || f[i-1].CFA != nil) && f[i].Kind != "sigtramp" && f[i+1].Kind != "interrupted"
}

// bitsAt are the ways to invert one bit of the return address that stands at a stack address.
func bitsAt(snap *target.Snapshot, at uint64) (list []Damage) {
	a := snap.Arch
	ra, ok := snap.Memory.Uint(at, a.RegSize)
	if !ok {
		return nil
	}
	for bit := max(a.InsnAlign, 1); bit != 0 && bit <= a.AddrMask(); bit <<= 1 {
		pc, mode := a.SplitCode(ra ^ bit)
		if _, kind := callsite.Before(snap, pc, mode); kind != callsite.Call {
			continue
		}
		list = append(list, Damage{oneBit, func(v *victim) (*target.Snapshot, uint64) {
			return v.copy(v.with(map[uint64][]byte{at: word(a, ra^bit)})), at
		}})
	}
	return list
}
