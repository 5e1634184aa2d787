package riscv

import "github.com/backsight/backsight/cpu"

// Major opcodes, bits 6..0 (unprivileged manual, "RISC-V base opcode map").
const (
	opLoad    = 0x03
	opLoadFP  = 0x07
	opMiscMem = 0x0f
	opOpImm   = 0x13
	opAUIPC   = 0x17
	opOpImm32 = 0x1b
	opStore   = 0x23
	opStoreFP = 0x27
	opAMO     = 0x2f
	opOp      = 0x33
	opLUI     = 0x37
	opOp32    = 0x3b
	opMADD    = 0x43
	opMSUB    = 0x47
	opNMSUB   = 0x4b
	opNMADD   = 0x4f
	opOpFP    = 0x53
	opOpV     = 0x57
	opBranch  = 0x63
	opJALR    = 0x67
	opJAL     = 0x6f
	opSystem  = 0x73
	opOpVE    = 0x77
)

// Whole instructions.
const (
	insnNop    = 0x00000013
	insnEcall  = 0x00000073
	insnEbreak = 0x00100073
	insnUret   = 0x00200073
	insnSret   = 0x10200073
	insnMret   = 0x30200073
	insnMnret  = 0x70200073
	insnDret   = 0x7b200073
	// insnUnimp is what assemblers make of unimp: a write to a read-only CSR.
	insnUnimp = 0xc0001073

	// Zicfiss, of ra and of t0.
	insnSSPushRA   = 0xce104073
	insnSSPushT0   = 0xce504073
	insnSSPopChkRA = 0xcdc0c073
	insnSSPopChkT0 = 0xcdc2c073
	insnCSSPush    = 0x6081 // ra
	insnCSSPopChk  = 0x6281 // t0
)

// Immediates by instruction format.

func immI(w uint32) int64 { return int64(int32(w) >> 20) }
func immS(w uint32) int64 { return int64(int32(w)>>25<<5 | int32(w>>7&31)) }
func immU(w uint32) int64 { return int64(int32(w & 0xffff_f000)) }

func immB(w uint32) int64 {
	return int64(int32(w)>>31<<12 | int32(w>>7&1<<11|w>>25&0x3f<<5|w>>8&0xf<<1))
}

func immJ(w uint32) int64 {
	return int64(int32(w)>>31<<20 | int32(w&0xff000|w>>20&1<<11|w>>21&0x3ff<<1))
}

// wordDecoder decodes the operands of instructions of 32 bits.
type wordDecoder struct{ isa }

// loadWord decodes LOAD. On RV32, funct3 3 is Zilsd's load of a register pair.
func (d wordDecoder) loadWord(w uint32, in *cpu.Insn) {
	rd, funct3 := reg(w, 7), w>>12&7
	switch {
	case funct3 == 7, funct3 == 6 && !d.rv64:
		unknown(in, rd)
	case funct3 == 3 && !d.rv64:
		d.load(in, rd, reg(w, 15), immI(w), 4, false)
		if rd != Zero && rd&1 == 0 {
			in.Dst2 = rd + 1
		}
	default:
		d.load(in, rd, reg(w, 15), immI(w), 1<<(funct3&3), funct3 < 4)
	}
}

// storeWord decodes STORE; the pair of Zilsd as in loadWord.
func (d wordDecoder) storeWord(w uint32, in *cpu.Insn) {
	rs2, funct3 := reg(w, 20), w>>12&7
	switch {
	case funct3 > 3:
		unknown(in, cpu.NoReg)
	case funct3 == 3 && !d.rv64:
		store(in, rs2, reg(w, 15), immS(w), 4)
		in.Src2 = rs2 | 1
		if rs2 == Zero {
			in.Src2 = Zero
		}
	default:
		store(in, rs2, reg(w, 15), immS(w), 1<<funct3)
	}
}

// storeFloating decodes STORE-FP. Widths 1..4 are scalars of 2..16 bytes; the others
// are vector stores, whose size is not in the code. A vector spill lies apart from
// saved registers (the psABI leaves no vector register to the callee).
func storeFloating(w uint32, in *cpu.Insn) {
	if funct3 := w >> 12 & 7; funct3 >= 1 && funct3 <= 4 {
		store(in, cpu.NoReg, reg(w, 15), immS(w), 1<<funct3)
	}
}

// opImm decodes OP-IMM. With rd = x0 all of it is nop and hints.
func (d wordDecoder) opImm(w uint32, in *cpu.Insn) {
	rd, rs1, imm := reg(w, 7), reg(w, 15), immI(w)
	if rd == Zero {
		if w == insnNop {
			in.Flags = cpu.FlagPadding
		}
		return
	}
	switch w >> 12 & 7 {
	case 0:
		addImm(in, rd, rs1, imm)
	case 1:
		d.shift(cpu.OpShlImm, w, rd, rs1, in)
	case 3:
		unary(in, cpu.OpCompareImm, rd, rs1, imm)
	case 5:
		d.shift(cpu.OpShrImm, w, rd, rs1, in)
	case 6:
		unary(in, cpu.OpOrImm, rd, rs1, imm)
	case 7:
		unary(in, cpu.OpAndImm, rd, rs1, imm)
	default: // slti, xori
		clobber(in, rd)
	}
}

// shift decodes slli and srli; the same funct3 hold clz, bseti, srai, rori and their like, told apart by
// the bits above the shift amount.
func (d isa) shift(op cpu.Op, w uint32, rd, rs1 cpu.Reg, in *cpu.Insn) {
	amount := w >> 20
	if amount >= uint32(8*d.wordSize()) {
		clobber(in, rd)
		return
	}
	unary(in, op, rd, rs1, int64(amount))
}

// funct7 and funct3 of OP and OP-32 where they are not those of add.
const (
	sub   = 0x20 << 3
	shadd = 0x10 << 3
)

// op decodes OP: I, M, Zb*, Zicond. All of them write rd.
func (d wordDecoder) op(w uint32, in *cpu.Insn) {
	rd, rs1, rs2 := reg(w, 7), reg(w, 15), reg(w, 20)
	if rd == Zero {
		return
	}
	switch w>>25<<3 | w>>12&7 {
	case 0: // add
		add(in, rd, rs1, rs2)
	case sub:
		binary3(in, cpu.OpSub, rd, rs1, rs2, 0)
	case 6: // or
		or(in, rd, rs1, rs2)
	case shadd | 2, shadd | 4, shadd | 6: // sh1add, sh2add, sh3add
		binary3(in, cpu.OpAdd, rd, rs2, rs1, uint8(w>>13&3))
	default:
		clobber(in, rd)
	}
}

// add and or with x0 are the old ways to write mv; c.mv means add rd,x0,rs2.
func add(in *cpu.Insn, rd, rs1, rs2 cpu.Reg) {
	if !move(in, rd, rs1, rs2) {
		binary3(in, cpu.OpAdd, rd, rs1, rs2, 0)
	}
}

func or(in *cpu.Insn, rd, rs1, rs2 cpu.Reg) {
	if !move(in, rd, rs1, rs2) {
		binary3(in, cpu.OpOr, rd, rs1, rs2, 0)
	}
}

// move is rd = rs1 + rs2 where one of them is x0.
func move(in *cpu.Insn, rd, rs1, rs2 cpu.Reg) bool {
	if rs1 != Zero && rs2 != Zero {
		return false
	}
	addImm(in, rd, rs1|rs2, 0)
	return true
}

// opImm32 decodes OP-IMM-32, which only RV64 has.
func (d wordDecoder) opImm32(w uint32, in *cpu.Insn) {
	rd, rs1 := reg(w, 7), reg(w, 15)
	switch funct3, funct7 := w>>12&7, w>>25; {
	case !d.rv64:
		unknown(in, rd)
	case rd == Zero:
	case funct3 == 0 && rs1 == Zero:
		constant(in, rd, immI(w))
	case funct3 == 0:
		unary(in, cpu.OpAddImm, rd, rs1, immI(w))
		in.Flags = cpu.FlagWord32
	case funct3 == 1 && funct7 == 0:
		unary(in, cpu.OpShlImm, rd, rs1, int64(w>>20&31))
		in.Flags = cpu.FlagWord32
	case funct3 == 5 && funct7 == 0:
		unary(in, cpu.OpShrImm, rd, rs1, int64(w>>20&31))
		in.Flags = cpu.FlagWord32
	default:
		clobber(in, rd)
	}
}

// op32 decodes OP-32, which only RV64 has.
func (d wordDecoder) op32(w uint32, in *cpu.Insn) {
	rd, rs1, rs2 := reg(w, 7), reg(w, 15), reg(w, 20)
	switch which := w>>25<<3 | w>>12&7; {
	case !d.rv64:
		unknown(in, rd)
	case rd == Zero:
	case which == 0:
		binary3(in, cpu.OpAdd, rd, rs1, rs2, 0)
		in.Flags = cpu.FlagWord32
	case which == sub:
		binary3(in, cpu.OpSub, rd, rs1, rs2, 0)
		in.Flags = cpu.FlagWord32
	default:
		clobber(in, rd)
	}
}

// auipc with rd = x0 is lpad, the landing pad of Zicfilp.
func (d wordDecoder) auipc(w uint32, pc uint64, in *cpu.Insn) {
	rd := reg(w, 7)
	if rd == Zero {
		in.Flags = cpu.FlagEntry
		return
	}
	constant(in, rd, int64(d.addr(pc+uint64(immU(w)))))
	in.Flags = cpu.FlagAddress
}

// system decodes SYSTEM: environment calls, exception returns, CSR accesses.
func (d wordDecoder) system(w uint32, in *cpu.Insn) {
	if w>>12&7 != 0 {
		if w == insnUnimp {
			in.Op = cpu.OpTrap
			return
		}
		d.controlStatus(w, in)
		return
	}
	switch w {
	case insnEcall:
		// Linux returns in a0; an SBI call returns an error in a0, a value in a1.
		in.Op, in.List = cpu.OpSyscall, cpu.SetOf(A0, A0+1)
	case insnEbreak:
		// __builtin_trap.
		in.Op = cpu.OpTrap
	case insnUret, insnSret, insnMret, insnMnret, insnDret:
		in.Op, in.Src, in.Flags = cpu.OpReturn, PC, cpu.FlagException
	}
}

// The CSRs that an exception return goes to (privileged manual, "CSR Address Mapping").
const (
	csrUepc = 0x041
	csrSepc = 0x141
	csrMepc = 0x341
)

// controlStatus decodes csrr*, hlv, Zimop and Zicfiss, which takes some of Zimop's encodings. Moves from and to an exception program counter
// tell where the interrupted code goes on.
func (d wordDecoder) controlStatus(w uint32, in *cpu.Insn) {
	const csrrw, csrrs, csrrc = 1, 2, 3
	rd, rs, kind := reg(w, 7), reg(w, 15), w>>12&7
	switch csr := w >> 20; {
	case w == insnSSPushRA, w == insnSSPushT0:
		d.pushShadow(in, reg(w, 20))
		return
	case w == insnSSPopChkRA, w == insnSSPopChkT0:
		d.popShadow(in)
		return
	case csr != csrUepc && csr != csrSepc && csr != csrMepc:
	case kind == csrrw && rd == Zero:
		in.Op, in.Dst, in.Src = cpu.OpMove, PC, rs
		return
	case (kind == csrrs || kind == csrrc) && rs == Zero && rd != Zero:
		in.Op, in.Dst, in.Src = cpu.OpMove, rd, PC
		return
	}
	clobber(in, rd)
}

// atomic decodes AMO: lr, sc, amo*. Zacas's double-width compare-and-swap
// (amocas.d on RV32, amocas.q on RV64) writes a pair.
func (d wordDecoder) atomic(w uint32, in *cpu.Insn) {
	rd := reg(w, 7)
	clobber(in, rd)
	const amocas = 5
	wide := uint32(3)
	if d.rv64 {
		wide = 4
	}
	if w>>27 == amocas && w>>12&7 == wide && rd != Zero {
		in.List = in.List.With(rd | 1)
	}
}

// floating decodes OP-FP by funct5, of which three groups write a general
// register: comparisons, conversions to integer, and fmv.x/fclass.
func floating(w uint32, in *cpu.Insn) {
	switch w >> 27 {
	case 0x14, 0x18, 0x1c:
		clobber(in, reg(w, 7))
	}
}

// vector decodes OP-V: vsetvl* (funct3 7), and of OPMVV the funct6 that reads
// out a mask or an element: vmv.x.s, vcpop.m, vfirst.m.
func vector(w uint32, in *cpu.Insn) {
	const opMVV, readOut = 2, 0x10
	funct3 := w >> 12 & 7
	if funct3 == 7 || funct3 == opMVV && w>>26 == readOut {
		clobber(in, reg(w, 7))
	}
}
