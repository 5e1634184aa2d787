package mips

import (
	"strconv"

	"github.com/backsight/backsight/cpu"
)

// The general registers have their hardware numbers; the others follow. T0–T7
// are o32's names: n32 and n64 call registers 8–11 a4–a7 and 12–15 t0–t3.
const (
	Zero cpu.Reg = iota
	AT
	V0
	V1
	A0
	A1
	A2
	A3
	T0
	T1
	T2
	T3
	T4
	T5
	T6
	T7
	S0
	S1
	S2
	S3
	S4
	S5
	S6
	S7
	T8
	T9
	K0
	K1
	GP
	SP
	S8
	RA
	PC
	HI
	LO
	Status
	Cause
	BadVAddr
	regCount
)

// registers names the registers. DWARF numbers: 0–31 general, 64 hi, 65 lo (GCC
// mips.h, "DWARF_FRAME_REGNUM"); the PC has none.
func registers(a abi) []cpu.RegInfo {
	names := [32]string{
		"zero", "at", "v0", "v1", "a0", "a1", "a2", "a3",
		"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7",
		"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
		"t8", "t9", "k0", "k1", "gp", "sp", "s8", "ra",
	}
	if a.regSize == 8 {
		copy(names[T0:], []string{"a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3"})
	}
	regs := make([]cpu.RegInfo, regCount)
	for i, name := range names {
		n := strconv.Itoa(i)
		regs[i] = cpu.RegInfo{Names: []string{name, "$" + n, "r" + n, "$" + name}, DWARF: i, Size: a.regSize}
	}
	alias := func(r cpu.Reg, names ...string) { regs[r].Names = append(regs[r].Names, names...) }
	alias(T9, "jp")
	alias(S8, "fp", "$fp")
	special := func(r cpu.Reg, dwarf int, names ...string) {
		regs[r] = cpu.RegInfo{Names: names, DWARF: dwarf, Size: a.regSize}
	}
	special(PC, -1, "pc", "epc", "$pc", "cp0_epc")
	special(HI, 64, "hi", "mdhi", "$hi")
	special(LO, 65, "lo", "mdlo", "$lo")
	special(Status, -1, "status", "sr", "cp0_status")
	special(Cause, -1, "cause", "cp0_cause")
	special(BadVAddr, -1, "badvaddr", "bad", "badva", "cp0_badvaddr")
	return regs
}
