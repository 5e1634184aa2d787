package breakpad

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
)

// returns are the values of EXC_RETURN for frames on the main stack, of Armv7-M and of Armv8-M code
// that is not secure: without and with floating-point registers, to a handler and to a thread. Frames
// on the process stack have no record: the form knows no second stack pointer.
var returns = [...]cortexm.ExcReturn{
	0xffff_ffa0, 0xffff_ffa8, 0xffff_ffb0, 0xffff_ffb8,
	0xffff_ffe0, 0xffff_ffe8, 0xffff_fff0, 0xffff_fff8,
}

// lookedUp is how far before a return address stack walkers look for its record: 2 bytes for ARM
// (Breakpad, processor/stackwalker_arm.cc).
const lookedUp = 2

// exceptions writes records for what stands in LR instead of a return address while a Cortex-M handles
// an exception. Nothing runs at such an address, but its record says what a signal trampoline's does:
// the registers of the interrupted code lie on the stack. A walker finds the records where the minidump
// says that the module reaches up to there. Bit 9 of the stacked xPSR tells of a word that aligned SP.
func (c *converter) exceptions(out *bufio.Writer) {
	layout, ok := c.arch.Layouts[cpu.CortexMFrame]
	if !ok {
		return
	}
	var saved strings.Builder
	xpsr := ""
	for _, slot := range layout.Slots {
		at := sum(c.register(c.arch.SP), int64(slot.Offset)) + " ^"
		switch slot.Reg {
		case c.arch.Status:
			xpsr = at
		case c.arch.PC:
			fmt.Fprintf(&saved, " .ra: %s", at)
		default:
			fmt.Fprintf(&saved, " %s: %s", c.register(slot.Reg), at)
		}
	}
	for _, v := range returns {
		at := (uint64(v) - c.base) & c.arch.AddrMask()
		cfa := sum(c.register(c.arch.SP), int64(v.FrameSize(0)))
		fmt.Fprintf(out, "PUBLIC %x 0 EXC_RETURN\n", at-lookedUp)
		fmt.Fprintf(out, "STACK CFI INIT %x %x .cfa: %s %s 512 / 2 %% 4 * +%s\n", at-lookedUp, 2*lookedUp, cfa, xpsr, saved.String())
	}
}
