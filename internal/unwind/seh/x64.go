package seh

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/pdata"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Operations of UNWIND_CODE (UWOP_…).
const (
	pushNonvol    = 0
	allocLarge    = 1
	allocSmall    = 2
	setFPReg      = 3
	saveNonvol    = 4
	saveNonvolFar = 5
	epilog        = 6 // version 2: where epilogues are, which their code tells as well
	spare         = 7
	saveXMM       = 8
	saveXMMFar    = 9
	pushMachFrame = 10
)

// x64Registers are the registers by their numbers in unwind codes and in instructions.
var x64Registers = [16]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

func (u *undoing) x64Register(n uint8) cpu.Reg {
	r, _ := u.q.Arch.RegByName(x64Registers[n&15])
	return r
}

// maxChain bounds the parts that a function is said to have, one inside another.
const maxChain = 32

// x64 makes the rule of a place in an entry. What stands behind a call has what the prologue did before the call.
func (u *undoing) x64(f *pdata.Function) unwind.Verdict {
	at := u.place() - f.Lo
	info := pdata.UnwindInfoAt(u.q.Image, f.Info)
	if u.q.Exact && at >= uint64(info.Prologue) && u.epilogue(f) {
		return unwind.Found
	}
	for range maxChain {
		v, done := u.codes(&info, at)
		if v != unwind.Found || done {
			return v
		}
		if !info.Chained {
			u.returned()
			return unwind.Found
		}
		info, at = pdata.UnwindInfoAt(u.q.Image, info.Parent.Info), ^uint64(0) // the whole prologue ran before
	}
	return unwind.Malformed
}

// codes undoes what the prologue did up to a number of bytes. done: an interrupt's frame was found, out of which the whole rule follows.
func (u *undoing) codes(info *pdata.UnwindInfo, at uint64) (v unwind.Verdict, done bool) {
	switch {
	case !info.OK:
		return unwind.Malformed, false
	case info.Version == 0, info.Version > 2:
		return unwind.Unsupported, false
	}
	base, off := u.saveArea(info, at)
	for r := bin.New(info.Codes, false); r.Len() > 0; {
		c, v := readCode(&r)
		if v != unwind.Found {
			return v, false
		}
		switch {
		case uint64(c.offset) > at: // not executed yet
		case c.op == saveNonvol, c.op == saveNonvolFar:
			u.restoreAt(u.x64Register(c.info), base, off+c.value)
		case c.op == pushMachFrame:
			u.machineFrame(int64(c.info) * 8)
			return unwind.Found, true
		default:
			u.move(&c, info)
		}
	}
	return unwind.Found, false
}

// move undoes an instruction that moves the stack pointer.
func (u *undoing) move(c *code, info *pdata.UnwindInfo) {
	switch c.op {
	case pushNonvol:
		u.restore(u.x64Register(c.info), 0)
		u.off += 8
	case allocLarge, allocSmall:
		u.off += c.value
	case setFPReg:
		u.base, u.off = u.x64Register(info.FrameReg), -info.FrameOff
	}
}

// saveArea is what saved registers lie above: the frame pointer's base as soon as that is set, else the stack pointer.
func (u *undoing) saveArea(info *pdata.UnwindInfo, at uint64) (base cpu.Reg, off int64) {
	if info.FrameReg == 0 {
		return u.base, u.off
	}
	for r := bin.New(info.Codes, false); r.Len() > 0; {
		c, v := readCode(&r)
		if v == unwind.Found && c.op == setFPReg && uint64(c.offset) > at {
			return u.base, u.off
		}
	}
	return u.x64Register(info.FrameReg), -info.FrameOff
}

// code is an UNWIND_CODE with its operand.
type code struct {
	offset, op, info uint8
	value            int64 // bytes
}

// readCode reads the next code. Larger operands are in the words behind.
func readCode(r *bin.Reader) (c code, v unwind.Verdict) {
	c.offset = r.U8()
	b := r.U8()
	c.op, c.info = b&15, b>>4
	if c.op > pushMachFrame || c.op == spare {
		return c, unwind.Unsupported
	}
	switch c.op {
	case allocSmall:
		c.value = int64(c.info)*8 + 8
	case allocLarge:
		if c.value = int64(r.Uint(2)) * 8; c.info != 0 {
			c.value = c.value/8 | int64(r.Uint(2))<<16
		}
	case saveNonvol:
		c.value = int64(r.U16()) * 8
	case saveXMM:
		c.value = int64(r.U16()) * 16
	case saveNonvolFar, saveXMMFar:
		c.value = int64(r.U32())
	}
	if r.Err() != nil {
		return c, unwind.Malformed
	}
	return c, unwind.Found
}

// machineFrame is what the processor pushed when it interrupted a program: RIP, CS, EFLAGS, RSP, SS, behind an error code or none.
func (u *undoing) machineFrame(errorCode int64) {
	const rip, rsp = 0, 24
	at := func(off int64) stackwalk.RegRule {
		return stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: cpu.NoReg, Base: u.base, Off: u.off + errorCode + off}
	}
	u.out.Flags |= stackwalk.SignalFrame
	u.out.RA, u.out.CFA = at(rip), at(rsp)
}
