package diagnose

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/disassemble"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// instructionText is the instruction at a frame's PC as assemblers write it, "" where the code or
// a disassembler for it is missing.
func instructionText(snap *target.Snapshot, f *report.Frame) string {
	code := (&unwind.State{Snapshot: snap, Module: f.Module}).Code(f.PC)
	return disassemble.Text(snap.Arch, code, f.PC, f.Mode)
}

// origin is where a register's value came from, as far as the code in front shows it: a
// number that the code states, or the word at that number, or at an offset from a register.
type origin struct {
	kind originKind
	val  uint64
	base cpu.Reg
}

type originKind uint8

const (
	unknown originKind = iota
	constant
	wordAt
	wordBy // val bytes behind base
)

// maxBefore bounds how many bytes of code in front of an instruction are looked at.
const maxBefore = 4096

// cameFrom says where the instruction at frame f's PC got the value of a register: from a word of
// memory whose address the code states, from memory that another register pointed to, from a call,
// or from the caller of the function. The answer is "" where the code does not tell plainly: only
// instructions that always ran before are looked at, which no jump separates from the PC.
//
//	ldr r3, [pc, #8]     r3 = 0x20000010
//	ldr r3, [r3]         r3 = the word at 0x20000010
//	ldr r3, [r3]         faults: r3 came from the word at 0x20000010
func cameFrom(snap *target.Snapshot, f *report.Frame, regs *cpu.Registers, reg cpu.Reg) string {
	arch := snap.Arch
	run, atEntry := straight(snap, f)
	if run == nil {
		return ""
	}
	from := make(map[cpu.Reg]origin)
	call := ""
	if atEntry {
		call = "an argument of " + f.Function
	}
	for i := range run {
		if in := &run[i]; in.Op == cpu.OpCall {
			clear(from)
			call = "what the call before returned"
			if atEntry = false; in.Target != 0 {
				if name := nameAt(f.Module, in.Target); name != "" {
					call = "what " + name + " returned"
				}
			}
		} else {
			trace(arch, f.Module, in, from)
		}
	}
	o, written := from[reg]
	if v, ok := regs.Lookup(o.base); o.kind == wordBy && ok {
		if _, changed := from[o.base]; !changed {
			o = origin{kind: wordAt, val: (v + o.val) & arch.AddrMask()}
		}
	}
	switch {
	case o.kind == constant:
		return fmt.Sprintf("the code: %#x is a constant there", o.val)
	case o.kind == wordAt:
		return fmt.Sprintf("the word at %#x", o.val)
	case o.kind == wordBy:
		return fmt.Sprintf("the word at %s%+d", arch.RegName(o.base), int64(o.val))
	case written:
		return ""
	case atEntry && isArgument(arch, reg), !atEntry && call != "" && isResult(arch, reg):
		return call
	}
	return ""
}

// trace follows the registers' origins through an instruction.
func trace(arch *cpu.Arch, m *target.Module, in *cpu.Insn, from map[cpu.Reg]origin) {
	var now origin
	switch {
	case in.Flags&cpu.FlagConditional != 0:
	case in.Op == cpu.OpConst:
		now = origin{kind: constant, val: uint64(in.Imm) & arch.AddrMask()}
	case in.Op == cpu.OpMove:
		now = from[in.Src]
	case in.Op == cpu.OpAddImm:
		if o := from[in.Src]; o.kind == constant {
			now = origin{kind: constant, val: (o.val + uint64(in.Imm)) & arch.AddrMask()}
		}
	case in.Op == cpu.OpLoad && int(in.Size) == arch.RegSize && in.Index == cpu.NoReg:
		now = loaded(arch, m, in, from)
	}
	for s := in.List.With(in.Dst2); s != 0; s = s.Without(s.First()) {
		from[s.First()] = origin{}
	}
	if in.WB != 0 {
		from[in.Base] = origin{}
	}
	if in.Dst != cpu.NoReg {
		from[in.Dst] = now
	}
}

// loaded is the origin of a word that is read from memory. A literal lies in the code.
func loaded(arch *cpu.Arch, m *target.Module, in *cpu.Insn, from map[cpu.Reg]origin) origin {
	if in.Base == cpu.NoReg {
		if v, ok := m.Image.Word(uint64(in.Imm)); ok {
			return origin{kind: constant, val: v}
		}
		return origin{}
	}
	if base := from[in.Base]; base.kind == constant {
		return origin{kind: wordAt, val: (base.val + uint64(in.Imm)) & arch.AddrMask()}
	}
	return origin{kind: wordBy, val: uint64(in.Imm), base: in.Base}
}

// straight are the instructions that always run one after the other before the PC of f: calls may be
// among them, jumps are not. atEntry: the run begins with the function's first instruction. run is
// nil where the function is not known, or where some jump leads into the run.
func straight(snap *target.Snapshot, f *report.Frame) (run []cpu.Insn, atEntry bool) {
	if f.Function == "" || f.Module == nil || f.Module.Image == nil {
		return nil, false
	}
	img, pc := f.Module.Image, f.Module.ToImage(f.PC)
	if f.Entry > pc || pc-f.Entry > maxBefore {
		return nil, false
	}
	code := img.Segments.Code(f.Entry)
	insns := make([]cpu.Insn, min(len(code), 2*maxBefore)/int(snap.Arch.InsnAlign))
	insns = insns[:img.Arch.Decoder.Decode(code, f.Entry, f.Mode, insns)]
	at, first, begin, last := f.Entry, 0, f.Entry, -1
	for i := range insns {
		if at == pc {
			last = i
			break
		}
		at += uint64(insns[i].Len)
		if in := &insns[i]; in.Op == cpu.OpJump || in.Ends(img.Arch.PC) {
			first, begin = i+1, at
		}
	}
	if last < 0 {
		return nil, false // the decoding is out of step
	}
	for i := range insns {
		if in := &insns[i]; in.Op == cpu.OpJump && in.Target > begin && in.Target <= pc {
			return nil, false
		}
	}
	return insns[first:last], first == 0
}

// nameAt is the function at an image address.
func nameAt(m *target.Module, addr uint64) string {
	s, _ := m.Image.Symbols.At(addr)
	return s.Name
}

// isArgument tells whether calls pass an argument in a register, isResult whether a call returns its
// result there.
func isArgument(arch *cpu.Arch, r cpu.Reg) bool {
	name := arch.RegName(r)
	return len(name) == 2 && name[1] >= '0' && name[1] <= '7' && (name[0] == 'a' || arch.Name == "arm" && name < "r4")
}

func isResult(arch *cpu.Arch, r cpu.Reg) bool {
	name := arch.RegName(r)
	return name == "v0" || name == "r0" || name == "a0" && strings.HasPrefix(arch.Name, "riscv")
}
