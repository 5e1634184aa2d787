//go:build !small || 386 || amd64

package diagnose

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"golang.org/x/arch/x86/x86asm"
)

// accessX86 is the memory operand of an x86 instruction, in code at address pc. Most x86
// instructions can work on memory, and the effects that unwinding needs leave those out
// that compute: add (%rax),%edi. It reports false for instructions without a memory
// operand, and where a register is not known.
func accessX86(code []byte, pc uint64, regs *cpu.Registers, arch *cpu.Arch) (a access, ok bool) {
	insn, err := x86asm.Decode(code, 8*arch.AddrSize)
	if err != nil || insn.Op == x86asm.LEA {
		return a, false
	}
	for i, arg := range insn.Args {
		m, isMemory := arg.(x86asm.Mem)
		if !isMemory {
			continue
		}
		base, known := valueX86(m.Base, pc+uint64(insn.Len), regs, arch)
		index, also := valueX86(m.Index, 0, regs, arch)
		if !known || !also {
			return a, false
		}
		a = access{how: directionX86(insn.Op, i), size: uint8(insn.MemBytes), align: alignX86(&insn), base: registerX86(m.Base, arch)}
		a.addr = (uint64(m.Disp) + base + index*uint64(m.Scale)) & arch.AddrMask()
		return a, m.Segment == 0 || m.Segment < x86asm.FS
	}
	return a, false
}

// badTarget is where the instruction at frame f calls or jumps to, if that is no address that the processor can translate. x86-64
// refuses such an instruction and goes nowhere, by #GP, of which Linux tells no address.
func badTarget(snap *target.Snapshot, f *report.Frame, regs *cpu.Registers) (to uint64, bad bool) {
	var out [1]cpu.Insn
	if arch := snap.Arch; arch.Name != "x86_64" || arch.Decoder.Decode(codeAt(snap, f), f.PC, f.Mode, out[:]) == 0 {
		return 0, false
	}
	in, known := &out[0], false
	switch a, inMemory := accessOf(in, regs, snap.Arch); {
	case in.Op != cpu.OpCall && in.Op != cpu.OpJump:
	case inMemory:
		to, known = snap.Memory.Word(a.addr)
	default:
		to, known = regs.Lookup(in.Src)
	}
	return to, known && !canonical(snap, to)
}

// alignX86 is of what the address of an instruction's operand must be a multiple: of 16 for
// the 16 bytes of SSE's instructions, but for those that were made for any address, and of
// CMPXCHG16B (Intel SDM 1, 4.1.1). Who reads elsewhere gets #GP, which Linux reports as
// SIGSEGV by the kernel, without an address: compilers use MOVAPS for what they laid out
// themselves, so that a wrong stack pointer or a cast pointer shows there first.
func alignX86(insn *x86asm.Inst) uint8 {
	switch insn.Op {
	case x86asm.MOVUPS, x86asm.MOVUPD, x86asm.MOVDQU, x86asm.LDDQU:
		return 0
	}
	if insn.MemBytes == 16 {
		return 16
	}
	return 0
}

// valueX86 is a register of a memory operand; none is 0.
func valueX86(r x86asm.Reg, next uint64, regs *cpu.Registers, arch *cpu.Arch) (v uint64, known bool) {
	switch r {
	case 0:
		return 0, true
	case x86asm.RIP, x86asm.EIP:
		return next, true
	}
	return regs.Lookup(registerX86(r, arch))
}

// registerX86 is the number of a register, NoReg for none.
func registerX86(r x86asm.Reg, arch *cpu.Arch) cpu.Reg {
	name := strings.ToLower(r.String())
	i := slices.IndexFunc(arch.Regs, func(reg cpu.RegInfo) bool { return slices.Contains(reg.Names, name) })
	if i < 0 {
		return cpu.NoReg
	}
	return cpu.Reg(i)
}

// directionX86 is what an instruction does with a memory operand that is its argument
// number arg, 0 being the destination; "" where it both reads and writes.
func directionX86(op x86asm.Op, arg int) string {
	switch {
	case arg > 0, op == x86asm.CMP, op == x86asm.TEST, op == x86asm.CALL, op == x86asm.JMP, op == x86asm.PUSH,
		op == x86asm.DIV, op == x86asm.IDIV, op == x86asm.MUL, op == x86asm.IMUL:
		return "read"
	case strings.HasPrefix(op.String(), "MOV"), strings.HasPrefix(op.String(), "SET"), op == x86asm.POP:
		return "write"
	}
	return ""
}
