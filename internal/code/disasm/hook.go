package disasm

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
)

// withoutHooks replaces the calls of a profiler's hook (-pg) by what they leave behind, which
// is nothing: the hook gets the return address in its own way, restores it, and raises SP.
// Linux makes such calls nops when it starts, and calls of its tracer where it traces.
//
//	move at,ra; jal _mcount; addiu sp,sp,-8       MIPS o32: _mcount adds 8, ra is at again
//	lui/addiu v1; move at,ra; jalr v1; addiu …    … of a module
//	move at,ra; addiu …; lw t9,…(gp); jalr t9     … of GCC's position-independent code
//	push {lr}; bl __gnu_mcount_nc                 ARM: the hook pops lr
//
// No other call moves SP in its delay slot: that is where its stack arguments lie. push {lr}
// does stand before calls in assembly, so that the code of ARM's hook is looked at; of a
// module the hook is in another image.
func withoutHooks(c Code, at Addr, buf []cpu.Insn) {
	pc := at.PC
	for i := range buf {
		in := &buf[i]
		size := uint64(in.Len)
		switch {
		case in.Op == cpu.OpCall && in.Dst == c.Arch.LR && in.Flags&cpu.FlagConditional == 0:
			call := stepping.StepOf(buf[i:], pc)
			if call.Waits() {
				if slot := c.beside(buf, i+1, Addr{pc + size, at.Mode}); dropsSP(c, &slot) {
					*in = nop(in)
					if call.Slot != nil {
						*call.Slot = nop(&slot)
					}
				} else if slot.Op == cpu.OpNop && droppedBefore(c, buf, i, Addr{pc, at.Mode}) {
					*in = nop(in)
					in.Op, in.Dst, in.Src, in.Imm = cpu.OpAddImm, c.Arch.SP, c.Arch.SP, c.Arch.HookPops
				}
			} else if hookPushed(c, buf, i, pc, at.Mode) && popsLR(c, Target(in)) {
				*in = cpu.Insn{Op: cpu.OpLoad, Len: in.Len, Size: uint8(c.Arch.RegSize), Dst: c.Arch.LR, Base: c.Arch.SP, WB: int32(c.Arch.HookPops),
					Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg, Index: cpu.NoReg}
			}
		case i == 0 && dropsSP(c, in) && behindCall(c, buf, pc, at.Mode):
			*in = nop(in)
		}
		pc += size
	}
}

// withoutTracers replaces the calls of Linux's tracer of functions by what they leave behind:
//
//	mov x9,x30; bl ftrace_caller                  AArch64: x30 is x9 again
//	move at,ra; jal _mcount; daddiu t4,sp,104     MIPS n64: ra is at again
//	move at,ra; ld t9,…(gp); jalr t9              … of position-independent code
func withoutTracers(c Code, at Addr, buf []cpu.Insn) {
	for i := range buf {
		in := &buf[i]
		if in.Op == cpu.OpCall && in.Dst == c.Arch.LR && keptLR(c, at, buf, i) {
			*in = nop(in)
			in.Op, in.Dst, in.Src = cpu.OpMove, c.Arch.LR, c.Arch.HookKeeps
		}
	}
}

// nop is an instruction that does nothing, as long as in.
func nop(in *cpu.Insn) cpu.Insn {
	return cpu.Insn{Len: in.Len, Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg, Base: cpu.NoReg, Index: cpu.NoReg}
}

// keptLR tells whether the instruction before the call buf[i], and before that of its target, copies LR for a hook; the first
// of buf is at at. Functions that compilers outlined are called so, too, and leave LR to be
// restored from there.
func keptLR(c Code, at Addr, buf []cpu.Insn, i int) bool {
	size := c.Arch.InsnAlignIn(at.Mode)
	in := c.beside(buf, i-1, Addr{at.PC - size, at.Mode})
	if in.Op == cpu.OpLoad && in.Dst == buf[i].Src {
		in = c.beside(buf, i-2, Addr{at.PC - size*uint64(2-i), at.Mode})
	}
	return in.Op == cpu.OpMove && in.Dst == c.Arch.HookKeeps && in.Src == c.Arch.LR
}

// beside is buf[i] or, of an i outside of buf, what stands at a place; no operation where nothing can be decoded. buf[0] lends
// the memory: memory that a decoder fills is allocated, as decoders are called through an interface.
func (c Code) beside(buf []cpu.Insn, i int, at Addr) (in cpu.Insn) {
	if i >= 0 && i < len(buf) {
		return buf[i]
	}
	lent := buf[0]
	if c.decode(at, buf[:1]) > 0 {
		in = buf[0]
	}
	buf[0] = lent
	return in
}

// dropsSP tells whether an instruction makes room for as much as the hook pops.
func dropsSP(c Code, in *cpu.Insn) bool {
	return in.Op == cpu.OpAddImm && in.Dst == c.Arch.SP && in.Src == c.Arch.SP && in.Imm == -c.Arch.HookPops
}

// hookInsn is the size of the instructions around MIPS's hook: no compressed code calls that.
const hookInsn = 4

// droppedBefore tells whether room was made for the hook before the call buf[i] at a place, and the call's target loaded then.
func droppedBefore(c Code, buf []cpu.Insn, i int, at Addr) bool {
	const insns = 4 // lui, addu, lw of a large GOT, and the room
	for range insns {
		i, at.PC = i-1, at.PC-hookInsn
		switch in := c.beside(buf, i, at); {
		case dropsSP(c, &in):
			return behindCopy(c, buf, i, at)
		case Transfers(&in, c.Arch):
			return false
		}
	}
	return false
}

// behindCopy tells whether the instruction before buf[i] at a place copies LR for MIPS's hook.
func behindCopy(c Code, buf []cpu.Insn, i int, at Addr) bool {
	in := c.beside(buf, i-1, Addr{PC: at.PC - hookInsn})
	return at.Mode == 0 && c.Arch.SelfRegs != 0 && in.Op == cpu.OpMove && in.Src == c.Arch.LR && !c.Arch.Preserved.Has(in.Dst)
}

// behindCall tells whether pc is the delay slot of a call.
func behindCall(c Code, buf []cpu.Insn, pc uint64, mode cpu.Mode) bool {
	const call = 4 // bytes: the hook is called in the standard encoding
	in := c.beside(buf, -1, Addr{pc - call, mode})
	return in.Op == cpu.OpCall && in.Flags&cpu.FlagDelaySlot != 0
}

// hookPushed tells whether the instruction before the call buf[i] at pc pushes the link
// register alone.
func hookPushed(c Code, buf []cpu.Insn, i int, pc uint64, mode cpu.Mode) bool {
	if buf[i].Target == 0 {
		return false
	}
	push := 4 - 2*uint64(mode) // bytes: Thumb's has two
	in := c.beside(buf, i-1, Addr{pc - push, mode})
	return pushesLR(c, &in)
}

func pushesLR(c Code, in *cpu.Insn) bool {
	a := c.Arch
	if in.Base != a.SP || in.WB != -int32(a.HookPops) || in.Flags&cpu.FlagConditional != 0 {
		return false
	}
	return in.Op == cpu.OpStoreMulti && in.List == cpu.SetOf(a.LR) || in.Op == cpu.OpStore && in.Src == a.LR && in.Src2 == cpu.NoReg
}

// maxHook bounds the hook's code, in instructions, up to its return.
const maxHook = 32

// popsLR tells whether the function at a place gives LR back from the word that its caller
// pushed, and returns elsewhere. Of a function of another image its name tells, if anything does.
//
//	mov ip,lr; pop {lr}; bx ip                    the C library's hook
//	push {r0-r3,lr} … pop {r0-r3,ip,lr}; bx ip    glibc's
//	push {r0-r3,lr} … ldr lr,[sp,#4]; ldr pc,[sp],#8   Linux's, and ftrace_caller
//	… pop {lr}; ldr pc,[sp],#12                   ftrace_regs_caller
func popsLR(c Code, at Addr) bool {
	if !c.Has(at.PC) {
		return true
	}
	var buf [maxHook]cpu.Insn
	keeps, loads := false, false
	code := buf[:c.decode(at, buf[:])]
	if name, ok := c.Img.Import(stubSlot(code, c.Arch.PC)); ok {
		return name == "__gnu_mcount_nc"
	}
	for i := range code {
		in := &code[i]
		fromStack := in.Base == c.Arch.SP && (in.Op == cpu.OpLoad && in.Dst == c.Arch.LR || in.Op == cpu.OpLoadMulti && in.List == cpu.SetOf(c.Arch.LR))
		switch {
		case in.Op == cpu.OpMove && in.Src == c.Arch.LR:
			keeps = true
		case fromStack && in.WB == int32(c.Arch.HookPops) && keeps:
			return true
		case in.Op == cpu.OpJump && i > 0 && popsBoth(c, &code[i-1], in.Src):
			return true
		case loads && in.Base == c.Arch.SP && in.WB > int32(c.Arch.HookPops) && in.Ends(c.Arch.PC):
			return true
		}
		loads = fromStack
	}
	return false
}

// popsBoth tells whether an instruction pops the address to go on at into a register, and LR behind that.
func popsBoth(c Code, in *cpu.Insn, to cpu.Reg) bool {
	a := c.Arch
	return in.Op == cpu.OpLoadMulti && in.Base == a.SP && in.WB > 0 && in.List.Has(a.LR) && to != a.LR && in.List.Has(to)
}

// stubSlot is the word through which ARM's PLT stub leads that begins a run of instructions; 0 where none does.
//
//	add ip,pc,#0; add ip,ip,#8192; ldr pc,[ip,#2612]!
func stubSlot(code []cpu.Insn, pc cpu.Reg) uint64 {
	const insns = 3
	at, reg := int64(0), cpu.NoReg
	for i := range min(insns, len(code)) {
		in := &code[i]
		switch {
		case in.Op == cpu.OpConst:
			at, reg = in.Imm, in.Dst
		case in.Op == cpu.OpAddImm && in.Src == reg && in.Dst == reg:
			at += in.Imm
		case in.Op == cpu.OpLoad && in.Dst == pc && in.Base == reg:
			return uint64(at + in.Imm)
		default:
			return 0
		}
	}
	return 0
}
