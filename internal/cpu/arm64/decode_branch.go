package arm64

import "github.com/backsight/backsight/cpu"

// compareBranch is cbz, cbnz, tbz, tbnz, and cb<cc> with its relatives.
func compareBranch(w uint32, pc uint64, offset int64, in *cpu.Insn) {
	jumpTo(in, pc, offset)
	in.Flags, in.Src = cpu.FlagConditional, regZ(w, 0)
}

// conditionalBranch is b.cond, bc.cond. The conditions al and nv are met always.
func conditionalBranch(w uint32, pc uint64, in *cpu.Insn) {
	jumpTo(in, pc, sext(w>>5, 19)<<2)
	switch w & 14 {
	case 14:
		return
	case 0: // eq, ne
		in.Imm = cpu.IfEqual
	}
	in.Flags = cpu.FlagConditional
}

func jumpTo(in *cpu.Insn, pc uint64, offset int64) {
	in.Op, in.Target = cpu.OpJump, pc+uint64(offset)
}

// callTo is bl. Its target may be the next instruction: a call that does not
// return, of the function that follows. Nobody reads the PC that way, there is
// adr.
func callTo(in *cpu.Insn, pc uint64, offset int64) {
	in.Op, in.Dst, in.Target = cpu.OpCall, X30, pc+uint64(offset)
}

func returnTo(in *cpu.Insn, r cpu.Reg) { in.Op, in.Src = cpu.OpReturn, r }

// Immediates of exception generating instructions that are conventions.
const (
	// brkBug is BUG_BRK_IMM of Linux (asm/brk-imm.h): BUG, which never goes on,
	// and WARN, which does.
	brkBug = 0x800
	// hltSemihosting calls the debugger, which comes back (Semihosting for
	// AArch32 and AArch64).
	hltSemihosting = 0xf000
)

// smcClobbers is what a hypervisor or secure monitor call may change: x0..x17
// (SMC Calling Convention, DEN 0028, "Register use in AArch64").
const smcClobbers cpu.RegSet = 1<<18 - 1

// exception is svc, hvc, smc, brk, hlt, and instructions of debug state.
func exception(w uint32, in *cpu.Insn) {
	imm := w >> 5 & 0xffff
	switch w & 0xffe0001f {
	case 0xd4000001: // svc
		in.Op, in.Imm, in.List = cpu.OpSyscall, int64(imm), cpu.SetOf(X0)
	case 0xd4000002, 0xd4000003: // hvc, smc
		in.Op, in.Imm, in.List = cpu.OpSyscall, int64(imm), smcClobbers
	case 0xd4200000: // brk
		in.Op = cpu.OpTrap
		if imm == brkBug {
			in.Flags = cpu.FlagConditional
		}
	case 0xd4400000: // hlt
		in.Op = cpu.OpTrap
		if imm == hltSemihosting {
			in.Op, in.Imm, in.List = cpu.OpSyscall, int64(imm), cpu.SetOf(X0)
		}
	}
}

// Hints (DDI 0487, "Hints": CRm:op2).
const (
	hintNop       = 0
	hintXpaclri   = 7
	hintPacia1716 = 8
	hintPacib1716 = 10
	hintAutia1716 = 12
	hintAutib1716 = 14
	hintPaciaz    = 24
	hintPaciasp   = 25
	hintPacibz    = 26
	hintPacibsp   = 27
	hintAutiaz    = 28
	hintAutiasp   = 29
	hintAutibz    = 30
	hintAutibsp   = 31
	hintBtiC      = 34
	hintBtiJC     = 38
	hintChkfeat   = 40
)

// system is hints, barriers, and moves from and to system registers.
func system(w uint32, in *cpu.Insn) {
	switch {
	case w&0xfffff01f == 0xd503201f:
		hint(w>>5&0x7f, in)
	case bit(w, 21) && bit(w, 22): // mrrs
		clobberSet(in, cpu.SetOf(regZ(w, 0), regZ(w|1, 0)))
	case w&exceptionLinkMask == exceptionLink|1<<21: // mrs Xt, ELR_ELx
		if rt := regZ(w, 0); rt != cpu.NoReg {
			in.Op, in.Dst, in.Src = cpu.OpMove, rt, PC
		}
	case w&exceptionLinkMask == exceptionLink: // msr ELR_ELx, Xt
		in.Op, in.Dst, in.Src = cpu.OpMove, PC, regZ(w, 0)
	case bit(w, 21): // mrs, sysl, tstart
		clobber(in, regZ(w, 0))
	}
}

// exceptionLink is msr ELR_ELx (S3_op1_C4_C0_1, DDI 0487 "ELR_EL1"), where op1 tells the
// exception level.
const exceptionLink, exceptionLinkMask = 0xd5184020, 0xfff8ffe0

// hint: unknown ones do nothing, by definition.
func hint(n uint32, in *cpu.Insn) {
	switch n {
	case hintNop:
		in.Flags = cpu.FlagPadding
	case hintPaciasp, hintPacibsp:
		// They are landing pads too, like bti c.
		sign(in)
		in.Flags |= cpu.FlagEntry
	case hintXpaclri, hintPaciaz, hintPacibz, hintAutiaz, hintAutiasp, hintAutibz, hintAutibsp:
		sign(in)
	case hintPacia1716, hintPacib1716, hintAutia1716, hintAutib1716:
		clobber(in, X17)
	case hintChkfeat:
		clobber(in, X16)
	case hintBtiC, hintBtiJC:
		in.Flags = cpu.FlagEntry
	}
}

// branchRegister is br, blr, ret, eret and their forms that authenticate.
func branchRegister(w uint32, in *cpu.Insn) {
	rn := regZ(w, 5)
	if w>>16&31 != 31 || w>>10&63 > 3 {
		unknown(in, cpu.NoReg)
		return
	}
	authenticates := w>>10&63 != 0
	switch w >> 21 & 15 {
	case 0, 8: // br, braa
		in.Op, in.Src = cpu.OpJump, rn
	case 1, 9: // blr, blraa
		in.Op, in.Dst, in.Src = cpu.OpCall, X30, rn
	case 2: // ret, retaa
		if authenticates {
			rn, in.Flags = X30, cpu.FlagSign
		}
		returnTo(in, rn)
	case 4, 5: // eret, drps
		in.Op, in.Src, in.Flags = cpu.OpReturn, PC, cpu.FlagException
		return
	default:
		unknown(in, cpu.NoReg)
		return
	}
	if in.Src == cpu.NoReg { // through xzr: to address 0
		in.Op, in.Dst = cpu.OpTrap, cpu.NoReg
	}
}
