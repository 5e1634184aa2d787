package kernellog

import (
	"github.com/backsight/backsight/target"
)

// laterChain is the rest of a chain that ends early, out of what the kernel printed of the same
// stack later: a crash in an interrupt is followed by the panic's own report, whose chain goes
// on below the crash. MIPS's list of a crash ends where a leaf function's caller has a large
// frame:
//
//	Oops            leaf_deref ◄ mid_c
//	panic, WARNING  show_stack ◄ … ◄ panic ◄ die ◄ do_page_fault ◄ mid_c ◄ mid_b ◄ mid_a ◄ …
//
// A task that crashed never leaves the functions that it crashed in: what stands behind the
// last entry in the later list called that function. A task that only warned may have left.
//
// arm64 prints registers alone where a kernel stack overflowed, and panics: the rest is all of
// the panic's chain from the PC on. ARM prints the registers of what another processor interrupted to ask for them, and
// right behind the stack of the interrupt (arch/arm/kernel/smp.c, nmi_cpu_backtrace).
func laterChain(records []*record, r *record) []target.Listed {
	n, pc := len(r.trace.listed), pcOf(r)
	if r.pid < 0 || r.whole() || n == 0 && pc == nil {
		return nil
	}
	first := firstFrom(records, r.to)
	if !r.crash {
		return interruptedChain(records, r, first, pc)
	}
	for _, later := range records[first:] {
		if later.from > r.to+maxAway {
			break
		}
		if later.pid != r.pid || later.comm != r.comm {
			continue
		}
		for i := range later.trace.listed {
			behind := i
			if l := &later.trace.listed[i]; n > 0 && sameEntry(l, &r.trace.listed[n-1]) {
				behind++
			} else if n > 0 || !samePlace(l, &pc.at) {
				continue
			}
			if later.isMixed() {
				break
			}
			return later.trace.listed[behind:]
		}
	}
	return nil
}

// interruptedChain is the chain from pc on in the record at first, where that is of the interrupt that came there and begins right
// behind r, which has the registers alone.
func interruptedChain(records []*record, r *record, first int, pc *register) []target.Listed {
	if first == len(records) || len(r.trace.listed) > 0 {
		return nil
	}
	later := records[first]
	if later.pid != r.pid || later.cpu != r.cpu || later.from-r.to > maxFlags || later.isMixed() {
		return nil
	}
	for i := 1; i < len(later.trace.listed); i++ {
		if samePlace(&later.trace.listed[i], &pc.at) && savesRegisters(later.trace.listed[i-1].Symbol) {
			return later.trace.listed[i:]
		}
	}
	return nil
}

// maxFlags is how many lines of a report follow its registers that tell nothing here: Flags, Control.
const maxFlags = 8
