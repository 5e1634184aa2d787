package faultlog

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/target"
)

// fault says why the report was made.
func (w *words) fault(arch *cpu.Arch) *target.Fault {
	f := &target.Fault{Name: w.form.title}
	if f.Name == "" {
		f.Name = "fault"
	}
	if _, micro := arch.Layouts[cpu.CortexMFrame]; micro {
		status := w.faultStatus()
		f.Status = strings.Join(status.Reasons(), "; ")
		f.Address, f.HasAddress = status.Address()
		return f
	}
	address, hasAddress := w.value("mtval")
	causes := riscvCauses
	cause, ok := w.value("mcause")
	if strings.HasPrefix(arch.Name, "mips") {
		causes = mipsCauses
		address, hasAddress = w.value("badvaddr")
		cause, ok = w.value("cause")
		cause = cause >> 2 & 0x1f // Cause.ExcCode
	}
	c, known := causes[cause]
	switch {
	case ok && known:
		f.Status = c.text
		if c.addressed && hasAddress {
			f.Address, f.HasAddress = address&arch.AddrMask(), true
			f.Status += fmt.Sprintf(", at %#x", f.Address)
		}
	case ok:
		f.Status = fmt.Sprintf("exception cause %d", cause)
	case hasAddress:
		f.Address, f.HasAddress = address&arch.AddrMask(), true
	}
	return f
}

// value is the first value that the report prints for a name.
func (w *words) value(name string) (uint64, bool) {
	for _, v := range w.vals {
		if v.Name == name {
			return v.Value, true
		}
	}
	return 0, false
}

// faultStatus are the fault status registers of a Cortex-M. CFSR is printed as a whole, or
// as its parts.
func (w *words) faultStatus() (s cortexm.FaultStatus) {
	for _, v := range w.vals {
		switch v.Name {
		case "cfsr":
			s.CFSR |= v.Value
		case "mmfsr":
			s.CFSR |= v.Value & 0xff
		case "bfsr":
			s.CFSR |= v.Value & 0xff << cortexm.BusShift
		case "ufsr":
			s.CFSR |= v.Value & 0xffff << cortexm.UsageShift
		case "hfsr":
			s.HFSR = v.Value
		case "dfsr":
			s.DFSR = v.Value
		case "sfsr":
			s.SFSR = v.Value
		case "mmfar":
			s.MMFAR = v.Value
		case "bfar":
			s.BFAR = v.Value
		case "sfar":
			s.SFAR = v.Value
		}
	}
	return s
}

// cause is an exception's cause in words. addressed: the processor states the address.
type cause struct {
	text      string
	addressed bool
}

// riscvCauses are the synchronous exceptions (RISC-V privileged specification, table of
// mcause values).
var riscvCauses = map[uint64]cause{
	0: {"instruction address that is not aligned", true}, 1: {"instruction fetch was refused", true},
	2: {"illegal instruction", false}, 3: {"breakpoint", false},
	4: {"read from an address that is not aligned", true}, 5: {"read was refused", true},
	6: {"write to an address that is not aligned", true}, 7: {"write was refused", true},
	8: {"environment call from user mode", false}, 9: {"environment call from supervisor mode", false},
	11: {"environment call from machine mode", false},
	12: {"instruction fetch from a page that is not there", true}, 13: {"read from a page that is not there", true},
	15: {"write to a page that is not there or read-only", true}, 18: {"control flow integrity check failed", false},
	19: {"hardware error", false},
}

// mipsCauses are the values of Cause.ExcCode (MD00090, table "Cause Register ExcCode Field").
var mipsCauses = map[uint64]cause{
	0: {"interrupt", false}, 1: {"write to a page that is read-only", true}, 2: {"no translation for a read or a fetch", true},
	3: {"no translation for a write", true}, 4: {"read or fetch from an address that is not aligned or not allowed", true},
	5: {"write to an address that is not aligned or not allowed", true}, 6: {"bus error on an instruction fetch", false},
	7: {"bus error on a read or write", false}, 8: {"system call", false}, 9: {"breakpoint", false},
	10: {"reserved instruction", false}, 11: {"coprocessor that is off", false}, 12: {"arithmetic overflow", false},
	13: {"trap instruction", false}, 15: {"floating-point exception", false}, 23: {"watch address", false},
	24: {"machine check", false},
}
