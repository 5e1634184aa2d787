package firmware

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/target"
)

// xtensaCause is a value of Xtensa's EXCCAUSE: its name without "Cause", what that means, and whether EXCVADDR has an address.
type xtensaCause struct {
	number     uint64
	name, text string
	addressed  bool
}

// xtensaCauses are those of the Xtensa Instruction Set Architecture Reference Manual, table "Exception Causes". Above 31 are the
// coprocessors, from 40 on what is left to systems.
var xtensaCauses = [...]xtensaCause{
	{0, "IllegalInstruction", "illegal instruction", false}, {1, "Syscall", "system call", false},
	{2, "InstructionFetchError", "bus error on an instruction fetch", true}, {3, "LoadStoreError", "bus error on a read or write", true},
	{4, "Level1Interrupt", "interrupt", false}, {5, "Alloca", "the caller's registers are not in the register file", false},
	{6, "IntegerDivideByZero", "division by zero", false}, {8, "Privileged", "privileged instruction", false},
	{9, "LoadStoreAlignment", "read or write at an address that is not aligned", true},
	{12, "InstrPIFDataError", "bus error on an instruction fetch", true}, {13, "LoadStorePIFDataError", "bus error on a read or write", true},
	{14, "InstrPIFAddrError", "bus error on an instruction fetch", true}, {15, "LoadStorePIFAddrError", "bus error on a read or write", true},
	{16, "InstTLBMiss", "no translation for an instruction fetch", true}, {17, "InstTLBMultiHit", "several translations for an instruction fetch", true},
	{18, "InstFetchPrivilege", "instruction fetch was refused", true}, {20, "InstrFetchProhibited", "instruction fetch was refused", true},
	{24, "LoadStoreTLBMiss", "no translation for a read or write", true}, {25, "LoadStoreTLBMultiHit", "several translations for a read or write", true},
	{26, "LoadStorePrivilege", "read or write was refused", true}, {28, "LoadProhibited", "read was refused", true},
	{29, "StoreProhibited", "write was refused", true},
	{ownXtensa + 1, "debug exception", "", false}, {ownXtensa + 2, "double exception", "", false}, {ownXtensa + 3, "kernel exception", "", false},
	{ownXtensa + 5, "interrupt watchdog of CPU 0", "", false}, {ownXtensa + 6, "interrupt watchdog of CPU 1", "", false},
	{ownXtensa + 7, "access through a cache that is off", "", false},
}

// ownXtensa is above all values of the register: ESP-IDF's core dumps add so much to the reasons that they have besides
// (esp_private/panic_reason.h).
const ownXtensa = 64

// XtensaCause is what EXCCAUSE says: the name alone, and with its meaning; "" for a number that means nothing. addressed: EXCVADDR has
// the address.
func XtensaCause(number uint64) (name, text string, addressed bool) {
	for _, c := range xtensaCauses {
		if c.number == number {
			return c.name, strings.TrimSuffix(c.name+": "+c.text, ": "), c.addressed
		}
	}
	if number >= 32 && number < 40 {
		name = fmt.Sprintf("Coprocessor%dDisabled", number-32)
	}
	return name, name, false
}

// XtensaReturn is the address that a return address of the windowed ABI leads to, out of code at pc: the upper two bits are the call's
// window increment, and those of the address are the code's own (RETW). ok is false where no call of that ABI made the word.
func XtensaReturn(word, pc uint64) (ra uint64, ok bool) {
	const region = 0xc000_0000
	return word&^region | pc&region, word&region != 0
}

// XtensaCall is the length of the instructions that call, in bytes: devices list where a call stands.
const XtensaCall = 3

// XtensaCallers are the callers of a frame at pc with the registers a0 and a1, by the base save areas on the stack: below the stack
// pointer of a function lie a0 to a3 of its caller (Reference Manual, 4.7.1.4 and 8.1.4), once the windows were written there, as
// systems do when they switch tasks or dump a stack.
func XtensaCallers(mem *target.Memory, pc, a0, sp uint64) (listed []target.Listed) {
	const area, align = 16, 16
	for len(listed) < maxXtensaCallers {
		ra, ok := XtensaReturn(a0, pc)
		if !ok || sp%align != 0 {
			return listed
		}
		next, ok1 := mem.Uint(sp-area, 4)
		up, ok2 := mem.Uint(sp-area+4, 4)
		listed = append(listed, target.Listed{PC: ra, Outermost: ok1 && ok2 && next == 0})
		if !ok1 || !ok2 || up <= sp {
			return listed
		}
		pc, a0, sp = ra, next, up
	}
	return listed
}

// maxXtensaCallers bounds the callers of a frame.
const maxXtensaCallers = 1024
