package kernellog

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// A report that no exception raised has no lines of registers: a warning, a lockup, dump_stack. MIPS's show_stack takes
// registers itself to unwind by them, into a struct pt_regs in its own frame (arch/mips/include/asm/stacktrace.h,
// prepare_frametrace), and prints the stack from its own SP on, so that they are among the words:
//
//	Stack : 000000000000000a 0000000000000000 0000000000000018 9000000003883aa8     0 8 16 24, from SP on
//	        …
//	        ffffffff82690000 9000000003880000 9000000003883aa0 000000012a072e30     $27 $28 $29 $30
//	[<ffffffff8153c190>] show_stack+0x70/0x168
//
// Which word is which register tell the instructions that store them, the first at the PC:
//
//	8153c190: lui at,…; daddiu at,at,…; sd at,304(sp)    epc, the last field: the registers begin at 8(sp)
//	8153c19c: sd v0,16(v1)                               v1 is 8(sp)
//	8153c1a0: sd v1,24(v1)                               the word at 32(sp) says where 8(sp) is
type ownFrame struct {
	arch  *cpu.Arch
	words []stackWord
	regs  cpu.Registers
	first int64 // where the registers are, from SP on, 0 unknown
	base  cpu.Reg
}

// The fields of struct pt_regs from $0 on (arch/mips/include/asm/ptrace.h): 32 registers, status, hi, lo, badvaddr, cause, epc.
const fieldEPC = 37

// maxTaken bounds the instructions that take the registers.
const maxTaken = 64

// ownRegisters are the registers of show_stack, where a chain begins there and the words of the stack have them.
func ownRegisters(r *record, listed []target.Listed, b *binaries) (regs cpu.Registers, ok bool) {
	if len(listed) == 0 || !listed[0].Exact || listed[0].PC == 0 || !b.machine.listsItself(&listed[0]) || r.stack.twice ||
		b.kernel == nil || b.arch.Decoder == nil {
		return regs, false
	}
	pc := listed[0].PC
	f := ownFrame{arch: b.arch, words: r.stack.words, base: cpu.NoReg}
	var code [maxTaken]cpu.Insn
	at := b.kernel.ToImage(pc) & b.arch.AddrMask()
	n := b.arch.Decoder.Decode(b.kernel.Image.Segments.Code(at), at, 0, code[:])
	for i := range n {
		if !f.take(&code[i], pc) {
			break
		}
	}
	sp, known := f.regs.Lookup(b.arch.SP)
	if v, has := f.regs.Lookup(f.base); has {
		if v -= uint64(f.first); known && v != sp {
			return regs, false
		}
		sp, known = v, true
	}
	if !known || sp == 0 || sp%b.arch.StackAlign != 0 {
		return regs, false
	}
	if ra, has := f.regs.Lookup(b.arch.LR); has && ra-(pc-listed[0].Offset) < listed[0].Size { // left over from a call that came back
		f.regs.Known = f.regs.Known.Without(b.arch.LR)
	}
	f.regs.Set(b.arch.SP, sp)
	f.regs.Set(b.arch.PC, pc)
	return f.regs, true
}

// take follows an instruction; false: it is none of those that take the registers, or the words are not those that it stored.
func (f *ownFrame) take(in *cpu.Insn, pc uint64) bool {
	scratch, _ := f.arch.RegByName("at")
	if in.Op != cpu.OpStore {
		return in.Dst == scratch && in.Op != cpu.OpLoad
	}
	at := in.Imm
	switch {
	case in.Base == f.arch.SP && in.Src == scratch:
		f.first = at - int64(fieldEPC*f.arch.RegSize)
		v, known := f.word(at)
		return !known || v == pc
	case in.Base != f.arch.SP && f.first == 0:
		return false
	case in.Base != f.arch.SP:
		at, f.base = at+f.first, in.Base
	}
	if v, known := f.word(at); known && in.Src < cpu.MaxRegs {
		f.regs.Set(in.Src, v)
	}
	return true
}

// word is the word at a distance from SP.
func (f *ownFrame) word(at int64) (v uint64, known bool) {
	i := at / int64(f.arch.RegSize)
	if at < 0 || i >= int64(len(f.words)) {
		return 0, false
	}
	return f.words[i].value & f.arch.AddrMask(), f.words[i].known
}

// keptFree is how many bytes at the end of a stack are free (arch/mips/include/asm/stackframe.h, set_saved_sp).
const keptFree = 32

// enteredAt is where the registers of user space lie on the stack that SP of MIPS points to, 0 where the registers do
// not tell. gp ($28) is where the stack begins.
func enteredAt(m *machine, arch *cpu.Arch, regs *cpu.Registers) uint64 {
	gp, known := arch.RegByName("gp")
	if m.savedRegisters == 0 || !known {
		return 0
	}
	sp, has := regs.Lookup(arch.SP)
	base, ok := regs.Lookup(gp)
	if !ok {
		base = sp &^ (m.stackSize - 1) // pages of a stack are allocated together, of that alignment
	}
	if !has || base == 0 || base%minPage != 0 || sp-base >= m.stackSize {
		return 0
	}
	return base + m.stackSize - keptFree - m.savedRegisters
}
