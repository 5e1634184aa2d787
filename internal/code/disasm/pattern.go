package disasm

import (
	"bytes"

	"github.com/backsight/backsight/cpu"
)

// PCThunk tells whether the function at a place does nothing but load its return
// address into a register, and which: __x86.get_pc_thunk.bx, i386's way to read the PC
// (mov (%esp),%ebx; ret). Where calls leave the return address in a register there is
// no such function.
func PCThunk(c Code, at Addr) (cpu.Reg, bool) {
	if !c.Arch.CallPushesRA {
		return cpu.NoReg, false
	}
	var buf [2]cpu.Insn
	n := c.Decode(at, buf[:])
	load := &buf[0]
	ok := n == 2 && load.Op == cpu.OpLoad && load.Base == c.Arch.SP && load.Index == cpu.NoReg && load.Imm == 0 && load.WB == 0 &&
		int(load.Size) == c.Arch.AddrSize && buf[1].Op == cpu.OpReturn && buf[1].Imm == 0
	return load.Dst, ok
}

// ReadsPC tells whether the function at a place only reads the PC, as PCThunk, on a processor whose compilers do so: a
// call of that function always returns, may come before the frame is whole, and nothing can be thrown there.
func ReadsPC(c Code, at Addr) bool {
	if !c.Arch.PCThunk {
		return false
	}
	_, thunk := PCThunk(c, at)
	return thunk
}

// CallReadsPC tells whether an instruction is a direct call of such a function.
func CallReadsPC(c Code, in *cpu.Insn) bool {
	return in.Op == cpu.OpCall && !IndirectCall(in) && ReadsPC(c, Target(in))
}

// Retpoline tells whether a call of the code at a place is a jump: the code overwrites
// its return address (mov %rax,(%rsp); ret) or drops it (lea 8(%rsp),%rsp; ret). So
// jump and return the thunks of -mindirect-branch and -mfunction-return. Linux since 5.19
// returns by a jump to __x86_return_thunk, where the ret stands.
func Retpoline(c Code, at Addr) bool {
	if !c.Arch.CallPushesRA {
		return false
	}
	var buf [2]cpu.Insn
	n, sp := c.Decode(at, buf[:]), c.Arch.SP
	first := &buf[0]
	writes := first.Op == cpu.OpStore && first.Base == sp && first.Index == cpu.NoReg && first.Imm == 0 && first.WB == 0
	drops := first.Op == cpu.OpAddImm && first.Dst == sp && first.Src == sp && first.Imm == int64(c.Arch.RegSize)
	return n == 2 && (writes || drops) && (buf[1].Op == cpu.OpReturn || jumpsToReturn(c, at, &buf[1]))
}

// WithinThunk tells whether a call at a site goes to the rest of the thunk that begins there, which is no function.
func WithinThunk(c Code, site uint64, to Addr) bool {
	const longest = 32 // bytes: call 1f; pause; lfence; jmp; padding; 1: …
	return to.PC-site < longest && Retpoline(c, to)
}

// jumpsToReturn tells whether in jumps to where nothing but a return stands.
func jumpsToReturn(c Code, at Addr, in *cpu.Insn) bool {
	if in.Op != cpu.OpJump || in.Flags&cpu.FlagConditional != 0 || in.Target == 0 {
		return false
	}
	var buf [1]cpu.Insn
	return c.Decode(Addr{PC: in.Target, Mode: at.Mode}, buf[:]) == 1 && buf[0].Op == cpu.OpReturn
}

// Thunk tells whether a call of the code at a place goes on to anywhere, as a call through
// a register does:
//
//	call 1f; …; 1: mov %rax,(%rsp); ret     __x86_indirect_thunk_rax
//	jmp *%rax                               the same, of a processor that needs no thunk
//	jmp f; ud1 %esp,%ecx                    a static call of Linux, whose jump is rewritten
func Thunk(c Code, at Addr) bool {
	if !c.Arch.CallPushesRA {
		return false
	}
	var buf [1]cpu.Insn
	if c.Decode(at, buf[:]) != 1 {
		return false
	}
	in := &buf[0]
	switch {
	case in.Op == cpu.OpCall:
		return in.Target != 0 && Retpoline(c, Addr{PC: in.Target, Mode: at.Mode})
	case in.Op == cpu.OpJump && in.Flags&cpu.FlagConditional == 0:
		return in.Src != cpu.NoReg && in.Flags&cpu.FlagMemory == 0 || bytes.HasPrefix(c.Img.Segments.Code(at.PC+uint64(in.Len)), staticCall[:])
	}
	return false
}

// ThunkRegister is the register through which a call of the thunk at a place goes on; NoReg where there is
// none.
func ThunkRegister(c Code, at Addr) cpu.Reg {
	var buf [1]cpu.Insn
	if !Thunk(c, at) || c.Decode(at, buf[:]) != 1 {
		return cpu.NoReg
	}
	if in := buf[0]; in.Op != cpu.OpCall {
		return in.Src
	} else if c.Decode(Target(&in), buf[:]) == 1 && buf[0].Op == cpu.OpStore {
		return buf[0].Src
	}
	return cpu.NoReg
}

// staticCall is what Linux puts behind the jump of a static call
// (arch/x86/include/asm/static_call.h).
var staticCall = [...]byte{0x0f, 0xb9, 0xcc}

// LooksLikeCode is Cursor.LooksLikeCode for one place.
func LooksLikeCode(c Code, at Addr) bool {
	cur := NewCursor(c)
	return cur.LooksLikeCode(at)
}

// maxLooked is how many instructions LooksLikeCode looks at. Some are decoded at a time: many of the functions that words
// point to, such as C++'s virtual ones, return or jump away before.
const maxLooked, lookedAtOnce = 12, 4

// LooksLikeCode tells whether the bytes at a place that only data names can begin a
// function in that mode: they decode, are no text, and are not mostly conditional, as
// Thumb code is when it is read as A32.
func (c *Cursor) LooksLikeCode(at Addr) bool {
	if isText(c.code.Img.Segments.Code(at.PC)) {
		return false
	}
	c.Seek(at)
	n, conditional := 0, 0
	for ends := false; n < maxLooked && !ends; n++ {
		c.size = lookedAtOnce
		in := c.Next(at.PC)
		if in == nil {
			break
		}
		if in.Op == cpu.OpUnknown || n == 0 && in.Op == cpu.OpTrap {
			return false
		}
		if in.Flags&cpu.FlagConditional != 0 && in.Op != cpu.OpJump {
			conditional++
		}
		ends = in.Ends(c.code.Arch.PC)
		at.PC += uint64(in.Len)
	}
	return n > 0 && conditional*3 <= n
}

// isText tells whether a string stands first. Old linkers put strings into the
// executable segment, and words of data point to them. The printable beginning of
// x86-64 functions that push all registers, AWAVAUATUSH, goes on with no zero byte.
func isText(code []byte) bool {
	const least, most = 8, 64
	for i, c := range code[:min(len(code), most)] {
		if c < ' ' || c > '~' {
			return c == 0 && i >= least
		}
	}
	return len(code) >= most
}
