package arm

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
)

// decoder decodes A32 (mode 0) and T32 (mode 1). bigCode tells instructions
// fetched big-endian (BE32); micro tells the M profile, which gives encodings of
// its own to BLX (immediate) and to the coprocessors 14 and 15.
type decoder struct {
	bigCode, micro bool
}

// blank is what every instruction starts from.
var blank = cpu.Insn{
	Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
	Base: cpu.NoReg, Index: cpu.NoReg,
}

// Decode implements cpu.Decoder.
//
// Two facts cross instructions, and are known only from a call that starts
// early enough: an IT instruction makes up to four followers conditional, and
// "mov lr,pc" makes the jump behind it a call. A call that starts between the
// two halves takes an IT block's rest as unconditional and the jump as a jump.
func (d decoder) Decode(code []byte, pc uint64, mode cpu.Mode, out []cpu.Insn) int {
	n, at := d.decode(code, pc, mode, out), uint64(0)
	for i := range out[:n] {
		if out[i].Op == cpu.OpCall && out[i].Target-(pc+at) <= stepping.LongestCall && d.readsPC(code[at:], pc+at, mode) {
			out[i].Flags |= cpu.FlagGetPC
		}
		at += uint64(out[i].Len)
	}
	return n
}

// readsPC tells whether code at pc begins with a call that only reads the PC.
func (d decoder) readsPC(code []byte, pc uint64, mode cpu.Mode) bool {
	var next [stepping.ReadsPCSpan]cpu.Insn
	n := d.decode(code, pc, mode, next[:])
	return n > 0 && stepping.ReadsPC(next[:n], pc, mode)
}

// decode is Decode without what the code behind a call says of the call.
func (d decoder) decode(code []byte, pc uint64, mode cpu.Mode, out []cpu.Insn) int {
	if mode != 0 {
		return d.decodeT32(code, uint32(pc), out)
	}
	return d.decodeA32(code, uint32(pc), out)
}

func (d decoder) word(b []byte) uint32 {
	if d.bigCode {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (d decoder) half(b []byte) uint32 {
	if d.bigCode {
		return uint32(binary.BigEndian.Uint16(b))
	}
	return uint32(binary.LittleEndian.Uint16(b))
}

// field extracts the register number at bit position shift.
func field(w uint32, shift uint) cpu.Reg { return cpu.Reg(w >> shift & 15) }

// bit tells whether bit n of w is set.
func bit(w uint32, n uint) bool { return w>>n&1 != 0 }

// signed extends the lowest n bits of v.
func signed(v uint32, n uint) uint32 { return uint32(int32(v<<(32-n)) >> (32 - n)) }

// clobber makes o lose the registers of set. The PC in it is an UNPREDICTABLE
// encoding or means the flags (mrc … APSR_nzcv), and is left out.
func clobber(o *cpu.Insn, set cpu.RegSet) {
	set = set.Without(PC)
	if set == 0 {
		return
	}
	o.Op, o.List = cpu.OpClobber, set
}

// clobberOne is clobber of one register.
func clobberOne(o *cpu.Insn, r cpu.Reg) { clobber(o, cpu.SetOf(r)) }

// unknown marks an encoding that the architecture leaves undefined, or
// UNPREDICTABLE with the PC as an operand where it makes no sense.
func unknown(o *cpu.Insn) {
	size, cond := o.Len, o.Flags&cpu.FlagConditional
	*o = blank
	o.Op, o.Len, o.Flags = cpu.OpUnknown, size, cond
}

func constant(o *cpu.Insn, rd cpu.Reg, v uint32) {
	o.Op, o.Dst, o.Imm = cpu.OpConst, rd, int64(v)
}

// address is a constant formed from the PC.
func address(o *cpu.Insn, rd cpu.Reg, v uint32) {
	constant(o, rd, v)
	o.Flags |= cpu.FlagAddress
}

func move(o *cpu.Insn, rd, rm cpu.Reg) { o.Op, o.Dst, o.Src = cpu.OpMove, rd, rm }

// withImm is an operation of a register and a sign-extended immediate.
func withImm(o *cpu.Insn, op cpu.Op, rd, rn cpu.Reg, imm int32) {
	o.Op, o.Dst, o.Src, o.Imm = op, rd, rn, int64(imm)
}

// branch is a direct jump.
func branch(o *cpu.Insn, target uint32, mode cpu.Mode) {
	o.Op, o.Target, o.TargetMode = cpu.OpJump, uint64(target), mode
}

// branchIf is a branch on a condition, be that always.
func branchIf(o *cpu.Insn, target uint32, mode cpu.Mode, cond uint32) {
	branch(o, target, mode)
	if cond>>1 == 0 { // eq, ne
		o.Imm = cpu.IfEqual
	}
}

// call is a direct call.
func call(o *cpu.Insn, target uint32, mode cpu.Mode) {
	branch(o, target, mode)
	o.Op, o.Dst = cpu.OpCall, LR
}

// callReg is BLX (register).
func callReg(o *cpu.Insn, rm cpu.Reg) { o.Op, o.Src, o.Dst = cpu.OpCall, rm, LR }

// jumpReg is BX and MOV PC: through LR it is the return (AAPCS32 6.1).
func jumpReg(o *cpu.Insn, rm cpu.Reg) {
	o.Op, o.Src = cpu.OpJump, rm
	if rm == LR {
		o.Op = cpu.OpReturn
	}
}

// exceptionReturn is a return that restores the CPSR too.
func exceptionReturn(o *cpu.Insn) {
	o.Op, o.Src = cpu.OpReturn, LR
	o.Flags |= cpu.FlagException | cpu.FlagBankedSP
}

// jumpSum is a jump to base + index<<scale + offset: "add pc,pc,r3,lsl #2"
// into a table of branch instructions. It is OpJump with FlagTable and Size 0,
// for no memory is read; Target holds the offset.
func jumpSum(o *cpu.Insn, base, index cpu.Reg, scale uint8, offset uint32, mode cpu.Mode) {
	branch(o, offset, mode)
	o.Flags |= cpu.FlagTable
	o.Base, o.Index, o.Scale = base, index, scale
}

// jumpUnknown is a jump to what no register holds (orr pc,r1,r2).
func jumpUnknown(o *cpu.Insn) { o.Op, o.Src = cpu.OpJump, PC }

// supervisor is a call of the system: Linux returns in r0, RTOS and semihosting
// also in the other argument registers.
func supervisor(o *cpu.Insn, imm uint32) {
	o.Op, o.Imm, o.List = cpu.OpSyscall, int64(imm), cpu.SetOf(R0, R1, R2, R3)
}
