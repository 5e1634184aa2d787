package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/disassemble"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// instructionText is the instruction at a frame's PC as assemblers write it, "" where the code or
// a disassembler for it is missing.
func instructionText(snap *target.Snapshot, f *report.Frame) string {
	return disassemble.Text(snap.Arch, codeAt(snap, f), f.PC, f.Mode)
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

// originOf says where the instruction at frame f's PC got a register's value, as a sentence; "" where the code does not tell.
func originOf(snap *target.Snapshot, f *report.Frame, regs *cpu.Registers, reg cpu.Reg) string {
	from := cameFrom(snap, f, regs, reg)
	if from == "" {
		return ""
	}
	return snap.Arch.RegName(reg) + " came from " + from
}

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
	if o.kind == wordBy {
		if _, changed := from[o.base]; changed {
			return ""
		}
		if v, ok := regs.Lookup(o.base); ok {
			o = origin{kind: wordAt, val: (v + o.val) & arch.AddrMask()}
		}
	}
	switch {
	case o.kind == constant:
		return fmt.Sprintf("the code: %#x is a constant there", o.val)
	case o.kind == wordAt:
		return fmt.Sprintf("the word at %#x%s", o.val, within(snap, o.val))
	case o.kind == wordBy:
		return fmt.Sprintf("the word at %s%+d", arch.RegName(o.base), int64(o.val))
	case written:
		return ""
	case atEntry && isArgument(snap, reg), !atEntry && call != "" && isResult(snap, reg):
		return call
	}
	return ""
}

// within says behind an address what lies there.
func within(snap *target.Snapshot, addr uint64) string {
	if block := heapBlock(snap, addr); block != "" {
		return ", in " + block
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
		if v, ok := m.Image.Word(m.ToImage(uint64(in.Imm))); ok {
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
	code, entry := img.Segments.Code(f.Entry), f.Module.ToTarget(f.Entry)
	insns := make([]cpu.Insn, min(len(code), 2*maxBefore)/int(snap.Arch.InsnAlign))
	insns = insns[:img.Arch.Decoder.Decode(code, entry, f.Mode, insns)]
	at, first, begin, last := entry, 0, entry, -1
	for i := range insns {
		if at == f.PC {
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
		if in := &insns[i]; in.Op == cpu.OpJump && in.Target > begin && in.Target <= f.PC {
			return nil, false
		}
	}
	return insns[first:last], first == 0
}

// nameAt is the function at a target address.
func nameAt(m *target.Module, addr uint64) string {
	s, _ := m.Image.Symbols.At(m.ToImage(addr))
	return s.Name
}

// isArgument tells whether calls pass an argument in a register, isResult whether a call returns its
// result there, by the processors' own conventions: Windows' is another one.
func isArgument(snap *target.Snapshot, r cpu.Reg) bool {
	switch name := snap.Arch.RegName(r); snap.Arch.Name {
	case "x86_64":
		return snap.OS != "Windows" && slices.Contains([]string{"rdi", "rsi", "rdx", "rcx", "r8", "r9"}, name)
	case "aarch64":
		return len(name) == 2 && "x0" <= name && name <= "x7"
	case "arm":
		return len(name) == 2 && "r0" <= name && name <= "r3"
	case "i386":
		return false // on the stack
	default: // MIPS and RISC-V
		return len(name) == 2 && "a0" <= name && name <= "a7"
	}
}

func isResult(snap *target.Snapshot, r cpu.Reg) bool {
	switch name := snap.Arch.RegName(r); snap.Arch.Name {
	case "x86_64", "i386":
		return name == "rax" || name == "eax"
	case "aarch64":
		return name == "x0"
	case "arm":
		return name == "r0"
	default:
		return name == "v0" || name == "a0" && strings.HasPrefix(snap.Arch.Name, "riscv")
	}
}
