package cortexm

import (
	"fmt"

	"github.com/backsight/backsight/target"
)

// FaultStatus is the fault status and address registers of the system control block (DDI
// 0403 B3.2.15 to B3.2.18, DDI 0553 D1.2.23), 0 where a report does not have one.
type FaultStatus struct {
	CFSR, HFSR, DFSR, SFSR uint64
	MMFAR, BFAR, SFAR      uint64
}

// Where the parts of CFSR lie: MMFSR in the lowest byte.
const (
	BusShift   = 8
	UsageShift = 16
)

// bit is a status bit in words.
type bit struct {
	mask uint64
	text string
}

// The bits that say what happened, in the order of the registers. Left out are the bits that say
// only that an address register is valid.
var (
	cfsrBits = []bit{
		{1 << 0, "instruction fetch from memory that may not be executed (IACCVIOL)"},
		{1 << 1, "access to memory that may not be accessed (DACCVIOL)"},
		{1 << 3, "the memory protection unit refused the read of an exception frame (MUNSTKERR)"},
		{1 << 4, "the memory protection unit refused the push of an exception frame (MSTKERR)"},
		{1 << 5, "the memory protection unit refused the push of floating-point registers (MLSPERR)"},
		{1 << 8, "bus error on an instruction fetch (IBUSERR)"},
		{1 << 9, "precise data bus error (PRECISERR)"},
		{1 << 10, "imprecise data bus error: a store some instructions before the PC (IMPRECISERR)"},
		{1 << 11, "bus error on the return from an exception (UNSTKERR)"},
		{1 << 12, "bus error on the push of an exception frame (STKERR)"},
		{1 << 13, "bus error on the push of floating-point registers (LSPERR)"},
		{1 << 16, "undefined instruction (UNDEFINSTR)"},
		{1 << 17, "branch to an address without the Thumb bit, or a damaged status register (INVSTATE)"},
		{1 << 18, "return from an exception with a damaged EXC_RETURN (INVPC)"},
		{1 << 19, "coprocessor or floating-point instruction while the unit is off (NOCP)"},
		{1 << 20, "stack overflow: SP went below its limit register (STKOF)"},
		{1 << 24, "access to an address that is not aligned (UNALIGNED)"},
		{1 << 25, "division by zero (DIVBYZERO)"},
	}
	hfsrBits = []bit{
		{1 << 1, "bus error on the read of a vector (VECTTBL)"},
		{debugEvent, "debug event while no debugger is there: a breakpoint instruction (DEBUGEVT)"},
	}
	dfsrBits = []bit{
		{1 << 0, "the debugger halted the processor (HALTED)"},
		{1 << 1, "breakpoint (BKPT)"},
		{1 << 2, "watchpoint (DWTTRAP)"},
		{1 << 3, "vector catch (VCATCH)"},
		{1 << 4, "debug request from outside (EXTERNAL)"},
	}
	sfsrBits = []bit{
		{1 << 0, "call into secure code at no entry point (INVEP)"},
		{1 << 1, "wrong integrity signature of a secure exception frame (INVIS)"},
		{1 << 2, "invalid return from an exception between security states (INVER)"},
		{1 << 3, "access to secure memory by non-secure code (AUVIOL)"},
		{1 << 4, "invalid transition from secure to non-secure code (INVTRAN)"},
	}
)

// The bits that say that an address register holds the address of the fault.
const (
	MMARValid = 1 << 7
	BFARValid = 1 << 15
	sfarValid = 1 << 6
)

// Address is the address of the access that faulted, where a register holds it.
func (f *FaultStatus) Address() (addr uint64, ok bool) {
	switch {
	case f.CFSR&BFARValid != 0:
		return f.BFAR, true
	case f.CFSR&MMARValid != 0:
		return f.MMFAR, true
	case f.SFSR&sfarValid != 0:
		return f.SFAR, true
	}
	return 0, false
}

// notPushed are the bits of CFSR that say that the processor could not push the exception
// frame: MSTKERR, STKERR, STKOF.
const notPushed = 1<<4 | 1<<12 | 1<<20

// NotPushed tells whether the processor failed to push the exception frame: the words at the
// frame's place are older. Most often the stack pointer had left the stack.
func (f *FaultStatus) NotPushed() bool { return f.CFSR&notPushed != 0 }

// debugEvent is HFSR.DEBUGEVT.
const debugEvent = 1 << 31

// Reasons says in words what the registers say, one sentence a bit. The bits of DFSR stay set
// until software clears them, so that they count only where no other bit is set.
func (f *FaultStatus) Reasons() (out []string) {
	for _, r := range []struct {
		value uint64
		bits  []bit
	}{{f.CFSR, cfsrBits}, {f.SFSR, sfsrBits}, {f.HFSR, hfsrBits}} {
		for _, b := range r.bits {
			if r.value&b.mask != 0 {
				out = append(out, b.text)
			}
		}
	}
	if len(out) == 0 || f.HFSR&debugEvent != 0 {
		for _, b := range dfsrBits {
			if f.DFSR&b.mask != 0 {
				out = append(out, b.text)
			}
		}
	}
	if addr, ok := f.Address(); ok && len(out) > 0 {
		out[0] += fmt.Sprintf(", at %#x", addr)
	}
	return out
}

// ExceptionNumber is the exception in whose handler code ran, by its xPSR; 0 in a task.
func ExceptionNumber(xpsr uint64) int { return int(xpsr & 0x1ff) }

// firstInterrupt is the number of the first exception that is an interrupt of the part.
const firstInterrupt = 16

// ExceptionName names an exception by its number (DDI 0553, table of B3.10).
func ExceptionName(n int) string {
	names := [firstInterrupt]string{1: "reset", 2: "NMI", 3: "hard fault", 4: "memory management fault", 5: "bus fault",
		6: "usage fault", 7: "secure fault", 11: "SVCall", 12: "debug monitor", 14: "PendSV", 15: "SysTick"}
	switch {
	case n >= firstInterrupt:
		return fmt.Sprintf("interrupt %d", n-firstInterrupt)
	case n > 0 && names[n] != "":
		return names[n]
	}
	return fmt.Sprintf("exception %d", n)
}

// StatusIn are the registers out of memory that has the system control block, without DFSR: who reads the block has halted the
// processor, which DFSR says.
func StatusIn(mem *target.Memory) FaultStatus {
	const block = 0xe000_ed00
	word := func(offset uint64) uint64 {
		v, _ := mem.Uint(block+offset, 4)
		return v
	}
	return FaultStatus{CFSR: word(0x28), HFSR: word(0x2c), MMFAR: word(0x34), BFAR: word(0x38)}
}
