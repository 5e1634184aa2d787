package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// maxReturns bounds the places that a lost return address is looked for at.
const maxReturns = 8

// lostRA derives rules where the return address no longer exists: AArch64's
// __longjmp overwrites the link register before it switches stacks, functions that
// never return need not save it. Every direct call of the function is a place that
// it can have come from; the walker takes the one whose own frame is there
// (unwind.Inferred).
func (d *derivation) lostRA(f *function, st *state) {
	an := d.an
	if an.arch.LR == cpu.NoReg || an.addressTaken(f.entry, f.entryMode) {
		return
	}
	var r unwind.Rule
	r.Reset()
	st.regs[an.arch.LR] = startOf(an.arch.LR)
	if !f.derive(st, &r) {
		return
	}
	for _, ra := range an.returnsOf(f.entry, f.entryMode) {
		// Relative to the PC, so that the rule holds at any load address.
		r.RA = unwind.RegRule{Kind: unwind.RegPlus, Reg: cpu.NoReg, Base: an.arch.PC, Off: int64(ra - d.pc)}
		r.Flags |= unwind.Inferred
		d.rules = append(d.rules, derived{Rule: r})
	}
}

// returnsOf lists where the direct calls of the function at entry return to; none
// when there are too many.
func (an *analysis) returnsOf(entry uint64, mode cpu.Mode) (ras []uint64) {
	var refs []cpu.CallRef
	an.text(func(addr uint64, code []byte) {
		refs = an.arch.Decoder.Calls(code, addr, mode, refs[:0])
		for _, r := range refs {
			if r.Target == entry && r.TargetMode == mode && len(ras) <= maxReturns {
				if ra, ok := an.returnOf(r.Site, mode); ok {
					ras = append(ras, ra)
				}
			}
		}
	})
	if len(ras) > maxReturns {
		return nil
	}
	return ras
}

// returnOf is where the call at site returns to.
func (an *analysis) returnOf(site uint64, mode cpu.Mode) (uint64, bool) {
	var buf [2]cpu.Insn
	n := an.arch.Decoder.Decode(an.img.Code(site), site, mode, buf[:])
	if n == 0 || buf[0].Op != cpu.OpCall {
		return 0, false
	}
	ra := site + uint64(buf[0].Len)
	if buf[0].Flags&cpu.FlagDelaySlot != 0 && n == 2 {
		ra += uint64(buf[1].Len)
	}
	return ra, true
}
