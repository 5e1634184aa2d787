package espcore

import (
	"cmp"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

// windowAt is where the registers of an Xtensa task have a0 to a15, in bytes behind the PC: 64 words of others stand before
// (components/espcoredump/src/port/xtensa/core_dump_port.c, xtensa_gregset_t). The device makes the window begin at the first.
const windowAt = 64 * 4

// cause is why an Xtensa chip stopped: its registers EXCCAUSE and EXCVADDR.
type cause struct {
	number, addr uint32
	known        bool
}

// The numbers that the note of registers has for these two (ISA Reference Manual, table "Special Registers"), and how many pairs of
// number and value there are at most.
const regCause, regAddress, maxPairs = 232, 238, 64

// take reads pairs of a special register's number and its value.
func (c *cause) take(r *bin.Reader) {
	for range maxPairs {
		switch number, value := r.U32(), r.U32(); {
		case r.Err() != nil:
			return
		case number == regCause:
			c.number, c.known = value, true
		case number == regAddress:
			c.addr = value
		}
	}
}

// fault says why the device stopped: in its own words, else by its registers.
func (d *dump) fault() *target.Fault {
	f := &target.Fault{Name: "panic", Status: d.panic, Thread: d.crashedTask()}
	if !d.cause.known || d.panic != "" { // abort() writes to 0, so that the processor stops
		return f
	}
	_, text, addressed := firmware.XtensaCause(uint64(d.cause.number))
	f.Status = cmp.Or(text, fmt.Sprintf("exception cause %d", d.cause.number))
	if addressed {
		f.Address, f.HasAddress = uint64(d.cause.addr), true
		f.Status += fmt.Sprintf(", at %#x", d.cause.addr)
	}
	return f
}

// windowed are an Xtensa task's registers and the callers of its place.
func (t *task) windowed(snap *target.Snapshot) (regs cpu.Registers, listed []target.Listed) {
	for n, v := range t.window {
		if reg, ok := snap.Arch.RegByName(fmt.Sprintf("a%d", n)); ok {
			regs.Set(reg, uint64(v))
		}
	}
	pc := uint64(t.regs[0])
	regs.Set(snap.Arch.PC, pc)
	return regs, firmware.XtensaCallers(snap.Memory, pc, uint64(t.window[0]), uint64(t.window[1]))
}
