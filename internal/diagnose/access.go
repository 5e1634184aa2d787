package diagnose

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// access is what an instruction does with memory: how, where, and how many bytes.
type access struct {
	how  string
	addr uint64
	size uint8
	// align is the number that the address must be a multiple of; 0: any address will do.
	align uint8
	base  cpu.Reg // the register that the address comes from, NoReg where there is none
}

// misaligned tells whether the processor refuses the access for its address alone.
func (a *access) misaligned() bool { return a.align != 0 && a.addr%uint64(a.align) != 0 }

// codeAt is the code from the frame's PC on, nil where there is none.
func codeAt(snap *target.Snapshot, f *report.Frame) []byte {
	return (&stackwalk.State{Snapshot: snap, Module: f.Module}).Code(f.PC)
}

// innermost is the access of the instruction at frame f, by the thread's registers. It
// reports false where the instruction accesses no memory, or nobody knows which.
func innermost(snap *target.Snapshot, f *report.Frame, regs *cpu.Registers) (a access, ok bool) {
	arch := snap.Arch
	if f.Module != nil && f.Module.Image != nil {
		arch = f.Module.Image.Arch
	}
	code := codeAt(snap, f)
	switch arch.Name {
	case "x86_64", "i386":
		a, ok = accessX86(code, f.PC, regs, arch)
	case "mips", "mips64":
		if f.Mode == 0 {
			a, ok = accessMIPS(code, regs, arch)
		}
	}
	if ok {
		return a, true
	}
	var out [1]cpu.Insn
	if arch.Decoder == nil || arch.Decoder.Decode(code, f.PC, f.Mode, out[:]) == 0 {
		return a, false
	}
	return accessOf(&out[0], regs, arch)
}

// accessOf is the memory that an instruction works on, given the registers before it. ok is false
// where insn, which has the effects that unwinding needs, does not tell: for floating point, say.
func accessOf(insn *cpu.Insn, regs *cpu.Registers, arch *cpu.Arch) (a access, ok bool) {
	switch insn.Op {
	case cpu.OpLoad, cpu.OpLoadMulti:
		a.how = "read"
	case cpu.OpStore, cpu.OpStoreMulti:
		a.how = "write"
	case cpu.OpCall, cpu.OpJump:
		if insn.Flags&cpu.FlagMemory == 0 {
			return a, false
		}
		a.how = "read"
	default:
		return a, false
	}
	a.addr, a.size, a.base = uint64(insn.Imm), insn.Size, insn.Base
	if insn.Base != cpu.NoReg {
		base, known := regs.Lookup(insn.Base)
		if !known {
			return a, false
		}
		a.addr += base
	}
	if insn.Index != cpu.NoReg {
		index, known := regs.Lookup(insn.Index)
		if !known {
			return a, false
		}
		a.addr += index << insn.Scale
	}
	a.addr &= arch.AddrMask()
	return a, true
}
