package faultlog

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
)

// cause is an exception's cause in words. addressed: the processor states the address.
type cause struct {
	text      string
	addressed bool
}

// causes are those of a processor, by its number for each; without text where a number means nothing.
type causes []cause

func (c causes) of(number uint64) (cause, bool) {
	if number >= uint64(len(c)) {
		return cause{}, false
	}
	return c[number], c[number].text != ""
}

// riscvCauses are the synchronous exceptions (RISC-V privileged specification, table of
// mcause values).
var riscvCauses = causes{
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
var mipsCauses = causes{
	0: {"interrupt", false}, 1: {"write to a page that is read-only", true}, 2: {"no translation for a read or a fetch", true},
	3: {"no translation for a write", true}, 4: {"read or fetch from an address that is not aligned or not allowed", true},
	5: {"write to an address that is not aligned or not allowed", true}, 6: {"bus error on an instruction fetch", false},
	7: {"bus error on a read or write", false}, 8: {"system call", false}, 9: {"breakpoint", false},
	10: {"reserved instruction", false}, 11: {"coprocessor that is off", false}, 12: {"arithmetic overflow", false},
	13: {"trap instruction", false}, 15: {"floating-point exception", false}, 23: {"watch address", false},
	24: {"machine check", false},
}

// riscv says what mcause, mtval and mstatus say. In mcause the highest bit tells interrupts
// from exceptions; a CLIC has more above the lowest 12 bits. mstatus.MPP, bits 11 and 12, is
// the mode that was left.
func (vals values) riscv() (text string, addr uint64, addressed bool) {
	v, ok := vals.of("mcause")
	if !ok {
		v, ok = vals.of("cause") // the Kendryte SDK calls the register so
	}
	addr, hasAddr := vals.of("mtval")
	if !ok {
		return "", addr, hasAddr
	}
	const codes = 0xfff
	c, known := riscvCauses.of(v & codes)
	switch {
	case v>>63 != 0 || v>>31 == 1:
		return fmt.Sprintf("interrupt %d", v&codes), 0, false
	case !known:
		text = fmt.Sprintf(ownCause+"%d", v&codes)
	default:
		text = c.text
	}
	if addressed = c.addressed && hasAddr; addressed {
		text += fmt.Sprintf(", at %#x", addr)
	} else if v&codes == illegal && hasAddr && addr != 0 {
		text += fmt.Sprintf(": %#x", addr)
	}
	if status, ok := vals.of("mstatus"); ok && v&codes < 8 && status>>11&3 == 0 {
		text += ", in user mode"
	}
	return text, addr, addressed
}

// ownCause stands before the number of a cause that a chip has of its own.
const ownCause = "exception cause "

// illegal is the cause with which mtval may be the instruction.
const illegal = 2

// mips says what Cause and BadVAddr say. Of an unusable coprocessor Cause.CE, bits 28 and
// 29, is the number; Cause.BD, bit 31, says that EPC is the branch before the instruction.
func (vals values) mips() (text string, addr uint64, addressed bool) {
	v, ok := vals.of("cause")
	addr, hasAddr := vals.of("badvaddr")
	if !ok {
		return "", addr, hasAddr
	}
	code := v >> 2 & 0x1f
	c, known := mipsCauses.of(code)
	text = c.text
	switch {
	case !known:
		text = fmt.Sprintf("exception cause %d", code)
	case code == 11:
		text = fmt.Sprintf("coprocessor %d is off", v>>28&3)
	}
	if addressed = c.addressed && hasAddr; addressed {
		text += fmt.Sprintf(", at %#x", addr)
	}
	if v>>31&1 != 0 {
		text += ", in the delay slot of the branch at EPC"
	}
	return text, addr, addressed
}

// syndrome says what ESR and FAR of AArch64 say, or DFSR, IFSR, DFAR and IFAR of the other
// ARM profiles than the microcontrollers'.
func (vals values) syndrome(arch *cpu.Arch) (text string, addr uint64, addressed bool) {
	if esr, ok := vals.of("esr"); ok && arch.RegSize == 8 {
		far, hasFAR := vals.of("far")
		return exceptionClass(esr, far, hasFAR)
	}
	if v, ok := vals.of("dfsr"); ok && v != 0 {
		addr, addressed = vals.of("dfar")
		how := "read"
		if v>>11&1 != 0 {
			how = "write"
		}
		return how + refusal(shortStatus(v)) + at(addr, addressed), addr, addressed
	}
	if v, ok := vals.of("ifsr"); ok && v != 0 {
		addr, addressed = vals.of("ifar")
		return "instruction fetch" + refusal(shortStatus(v)) + at(addr, addressed), addr, addressed
	}
	return "", 0, false
}

func at(addr uint64, known bool) string {
	if !known {
		return ""
	}
	return fmt.Sprintf(", at %#x", addr)
}

// The exception classes of ESR_ELx that are faults (DDI 0487, D17.2.37).
const (
	classUnknown, classIllegalState             = 0x00, 0x0e
	classFetchLower, classFetch, classPC        = 0x20, 0x21, 0x22
	classDataLower, classData, classSP          = 0x24, 0x25, 0x26
	classFloat, classSError, classBreakpointA64 = 0x2c, 0x2f, 0x3c
)

// exceptionClass says what ESR_ELx and FAR_ELx say: the exception class, bits 26 to 31, and
// of aborts the fault status, bits 0 to 5, WnR, bit 6, and FnV, bit 10.
func exceptionClass(esr, far uint64, hasFAR bool) (text string, addr uint64, addressed bool) {
	const write, noFAR = 1 << 6, 1 << 10
	has := hasFAR && esr&noFAR == 0
	switch class := esr >> 26 & 0x3f; class {
	case classFetchLower, classFetch:
		return "instruction fetch" + refusal(esr&0x3f) + at(far, has), far, has
	case classDataLower, classData:
		how := "read"
		if esr&write != 0 {
			how = "write"
		}
		return how + refusal(esr&0x3f) + at(far, has), far, has
	case classPC:
		return "branch to an address that is not aligned" + at(far, has), far, has
	case classSP:
		return "stack pointer that is not aligned", 0, false
	case classUnknown:
		return "undefined instruction", 0, false
	case classIllegalState:
		return "illegal execution state", 0, false
	case classFloat:
		return "floating-point exception", 0, false
	case classSError:
		return "asynchronous error of a memory access (SError)", 0, false
	case classBreakpointA64:
		return "breakpoint instruction", 0, false
	default:
		return fmt.Sprintf("exception class %#x", class), 0, false
	}
}

// refusal says why an access failed, by a fault status code of AArch64 or of the long
// descriptor format.
func refusal(status uint64) string {
	switch status & 0x3c {
	case 0x00:
		return " from an address of a wrong size"
	case 0x04:
		return " of a page that is not there"
	case 0x08:
		return " of a page whose access flag is clear"
	case 0x0c:
		return " was refused by the page's permission"
	case 0x10, 0x14:
		return " ended in an external abort"
	case 0x20:
		return " of an address that is not aligned"
	}
	return fmt.Sprintf(" failed, fault status %#x", status)
}

// shortStatus is the status of DFSR or IFSR as the long format has it. The format is bit 9;
// the short one has bits 0 to 3 and 10 (DDI 0406, B3.13.3).
func shortStatus(v uint64) uint64 {
	if v>>9&1 != 0 {
		return v & 0x3f
	}
	switch fs := v&15 | v>>6&16; fs {
	case 0x1:
		return 0x21
	case 0x5, 0x7:
		return 0x05
	case 0x3, 0x6:
		return 0x09
	case 0x9, 0xb, 0xd, 0xf, 0x0: // domain, permission; 0 is the MPU's background fault
		return 0x0d
	case 0x8, 0xc, 0xe, 0x16:
		return 0x10
	default:
		return 0x30 | fs&15
	}
}
