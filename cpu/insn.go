package cpu

// Insn is the effect of one machine instruction on what matters to a stack:
// the stack and frame pointers, the return address, preserved registers, stack
// slots, constants that may become addresses or frame sizes, and control flow.
// It carries no mnemonic. Each Op states which fields it uses; others are zero
// (register fields: NoReg).
//
// Addresses (Target, constants computed from the PC) are image addresses with
// the ISA mode bit removed. An access "at Base+Imm" uses Base's value before
// the instruction. Where Base is NoReg the address is Imm itself (absolute).
//
// FlagConditional on any Op means that the effect may not happen (ARM
// conditions and IT blocks, cmov, conditional returns): the analysis joins both.
type Insn struct {
	Op   Op
	Len  uint8 // bytes; decoders guarantee Len > 0
	Size uint8 // bytes of one memory element of a load or store; 0 where it does not matter
	Dst  Reg
	Dst2 Reg // second register of a pair, at the higher address
	Src  Reg
	Src2 Reg
	Base Reg
	// Index is the index register of a memory operand, scaled by 1<<Scale.
	Index Reg
	Scale uint8
	Flags Flags
	// WB is added to Base after the access (write-back): push, pop, stp …!,
	// ldm rN!, post-index. It is added with Base's old value as the start.
	WB   int32
	List RegSet
	Imm  int64
	// Target of a direct call, jump or branch. TargetMode is its ISA mode.
	Target     uint64
	TargetMode Mode
}

// Op is the kind of an effect.
type Op uint8

const (
	// OpNop changes nothing that a backtrace cares about (compare, cache hint,
	// floating point, conditional trap). Flags may still hold FlagPadding.
	OpNop Op = iota
	// OpUnknown: not a known instruction. Len is the least the ISA can step.
	// List holds what it may write as far as the encoding class tells.
	OpUnknown
	// OpClobber: every register in List gets a value that nothing is known of.
	// All arithmetic without a better Op is this.
	OpClobber
	// OpConst: Dst = Imm. lui, li, movz, adr/adrp (PC-relative ones already
	// added up to an image address: FlagAddress), lea rip+x, literal loads are OpLoad.
	OpConst
	// OpInsert: Dst = Dst &^ (mask<<Scale) | Imm<<Scale with a 16-bit mask: movk, movt.
	OpInsert
	// OpMove: Dst = Src. As a source, PC is where the code was interrupted that an exception
	// left, as Dst where an exception return will go on: ELR_EL1, EPC, sepc, mepc.
	OpMove
	// OpAddImm: Dst = Src + Imm (subtract: negative Imm). FlagWord32: the result
	// is truncated to 32 bits (and sign-extended on MIPS64 and RV64).
	OpAddImm
	// OpAdd: Dst = Src + Src2<<Scale. OpSub: Dst = Src - Src2<<Scale. FlagSigned:
	// of Src2 the low Size bytes, sign-extended.
	OpAdd
	OpSub
	// OpOrImm, OpAndImm, OpShlImm, OpShrImm: Dst = Src |, &, <<, >> Imm, with zeros from
	// above. The alignment masks (and rsp,-16; bic sp,sp,#7; ins sp,zero,0,3) are OpAndImm
	// with the full 64-bit mask in Imm.
	OpOrImm
	OpAndImm
	OpShlImm
	OpShrImm
	// OpOr: Dst = Src | Src2.
	OpOr
	// OpLoad: Dst = mem[Base+Index<<Scale+Imm], and Dst2, if any, = mem[…+Size].
	// Dst == PC is a jump through memory (ldr pc; FlagReturn where the ISA's
	// convention says return). Literal (PC-relative) loads have Base NoReg and
	// the image address in Imm. FlagSigned: sign-extended.
	OpLoad
	// OpStore: mem[Base+Index<<Scale+Imm] = Src, and mem[…+Size] = Src2 if any.
	// Src NoReg: stores something of no interest (push imm, FP register).
	OpStore
	// OpLoadMulti, OpStoreMulti: the registers of List, ascending by number, at
	// Base+Imm, +Size, +2·Size, … (ldm/stm, push/pop, cm.push, lwm/swm, MIPS16
	// save/restore). PC in a load's List makes it a jump (a return when Base is
	// the stack pointer). A load with FlagReturn goes on at the link register
	// that it has just loaded (cm.popret).
	OpLoadMulti
	OpStoreMulti
	// OpLeave: SP = FP; FP = mem[SP]; SP += word (x86 leave). OpLeave uses no fields.
	OpLeave
	// OpCall: a call. Direct: Target. Indirect: Src + Imm is the target, or the
	// target is mem[Base+Index<<Scale+Imm] with FlagMemory. Dst is the link
	// register (NoReg where the return address is pushed). The ABI's clobbers
	// are implied.
	OpCall
	// OpJump: a jump that does not come back. Direct: Target. Indirect: Src + Imm
	// (RISC-V's jalr has an offset, elsewhere Imm is 0), or FlagMemory with
	// Base/Index/Scale/Imm. Table jumps relative to the PC (tbb, tbh) are
	// FlagTable: mem[Base+Index<<Scale+Imm] of Size bytes, times 2, added to
	// Target. With FlagConditional it is a branch; Src and Src2 may then hold the
	// compared registers, Imm is IfEqual or 0.
	OpJump
	// OpReturn: return to Src (jr ra, bx lr, ret). Where the return address is
	// on the stack (x86) Src is NoReg: PC = mem[SP], SP += word + Imm.
	// MIPS16/microMIPS jraddiusp: SP += Imm as part of it. An exception return
	// (eret, iret, mret) has FlagException, and Src PC where OpMove has set that.
	OpReturn
	// OpTrap: never goes on (ud2, udf, break with a noreturn meaning, hlt).
	OpTrap
	// OpSyscall: a system call; Imm is its immediate. List is what it clobbers.
	OpSyscall
	// OpCompareImm: compares Src with Imm, for the bounds of jump tables. Dst,
	// if any, gets the outcome (sltiu) and is otherwise clobbered.
	OpCompareImm
	// OpAddLoad: Dst = Src + mem[Base+Index<<Scale+Imm], of Size bytes.
	OpAddLoad
)

// IfEqual as a branch's Imm: the flags of a comparison decide by nothing but whether both sides were equal
// (b.eq, bne). Told on ARM and AArch64.
const IfEqual = 1

// Flags refine an Op.
type Flags uint16

const (
	// FlagConditional: the effect (or the transfer) may not happen.
	FlagConditional Flags = 1 << iota
	// FlagDelaySlot: the next instruction executes before the transfer.
	FlagDelaySlot
	// FlagLikely: with FlagDelaySlot, the slot is skipped when not taken.
	FlagLikely
	// FlagMemory: the target of a call or jump is read from memory.
	FlagMemory
	// FlagTable: jump through a table of PC-relative halves or bytes.
	FlagTable
	// FlagReturn: a jump or load of PC that is a return by the ISA's hint.
	FlagReturn
	// FlagException: exception return (eret, iret, mret, rfe).
	FlagException
	// FlagPadding: filler between functions (nop, int3, zero word).
	FlagPadding
	// FlagEntry: compilers put it first in a function (endbr64, bti c,
	// paciasp). Strong but not certain: bti j and landing pads exist.
	FlagEntry
	// FlagSigned: a load that sign-extends.
	FlagSigned
	// FlagWord32: the result is 32 bits wide on a 64-bit register.
	FlagWord32
	// FlagAddress: an OpConst formed from the PC (adr, adrp, auipc, lea rip).
	FlagAddress
	// FlagGetPC: a call to the next instruction, used to read the PC: bal .+8,
	// call +0. It is no call of a function. ReadsPC tells where the code behind decides.
	FlagGetPC
	// FlagSign: signs (paciasp) or authenticates the return address in Dst.
	FlagSign
	// FlagFrameSetup: the encoding exists only to set up or tear down a frame
	// (push/pop multiple, save/restore, enter, cm.push).
	FlagFrameSetup
	// FlagBankedSP: an exception return to code that may have a stack pointer of its own,
	// which the instruction does not load (ARM's movs pc,lr; ldm {…,pc}^).
	FlagBankedSP
)

// Raises is what the instruction adds to the stack pointer sp, as an addition of a constant or
// by writing back an address; 0 for all else that it may do to sp.
func (i *Insn) Raises(sp Reg) int64 {
	switch {
	case i.Op == OpAddImm && i.Dst == sp && i.Src == sp:
		return i.Imm
	case i.Base == sp:
		return int64(i.WB)
	}
	return 0
}

// Writes tells whether the instruction may write register r, what it calls aside.
func (i *Insn) Writes(r Reg) bool {
	return i.Dst == r && i.Op != OpJump || i.Dst2 == r || i.WB != 0 && i.Base == r || i.Op != OpStoreMulti && i.List.Has(r)
}

// Ends tells whether execution never goes on behind the instruction (and its
// delay slot): unconditional jump, return, trap. A call does go on.
func (i *Insn) Ends(pc Reg) bool {
	if i.Flags&FlagConditional != 0 {
		return false
	}
	switch i.Op {
	case OpJump, OpReturn, OpTrap:
		return true
	case OpLoad:
		return i.Dst == pc
	case OpLoadMulti:
		return i.List.Has(pc) || i.Flags&FlagReturn != 0
	}
	return false
}

// Mode is the instruction-set mode of a code address: 0 the CPU's ordinary one,
// 1 the one that code addresses mark in bit 0 (Thumb, MIPS16e, microMIPS).
type Mode uint8

// CallSite is what the code before a return address says.
type CallSite struct {
	Addr       uint64 // image address of the call instruction
	Target     uint64 // of a direct call; else the word that the target is loaded from, if the instruction has the word's address
	TargetMode Mode
	Direct     bool
}

// CallRef is a direct call or tail jump found in a scan over code.
type CallRef struct {
	Site, Target uint64
	TargetMode   Mode
	// Absolute: the instruction holds the target itself, not the distance (MIPS jal).
	// Code that runs wherever it is loaded has no such calls.
	Absolute bool
}

// CallBlock has a bit for each byte of a block of code, see Decoder.InStep.
type CallBlock [CallBlockSize / 64]uint64

// CallBlockSize is the size of a block in bytes.
const CallBlockSize = 256

// AllCalls is the block all of whose bits are set.
func AllCalls() (b CallBlock) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	return b
}

// Decoder knows the instructions of one processor variant. Implementations are
// stateless values, safe for concurrent use. code may lie in every byte.
type Decoder interface {
	// Decode fills out with the effects of the consecutive instructions at
	// image address pc whose bytes start code, and returns how many it filled:
	// until out is full or the next instruction is not whole in code. It never
	// stops early at a transfer; a delay slot follows its branch in out. It
	// allocates nothing.
	Decode(code []byte, pc uint64, mode Mode, out []Insn) int
	// CallBefore tells whether ra, a return address, follows a call instruction
	// (delay slots, compressed calls and variable lengths included). before
	// holds the bytes that end at ra, at least 16 where there are so many.
	CallBefore(before []byte, ra uint64, mode Mode) (CallSite, bool)
	// Calls appends what reads as a direct call in code to dst: one fast linear
	// pass, for the discovery of functions. Data among code may yield wrong ones,
	// and bytes inside of other instructions where these have any length: the
	// caller filters by plausibility, and asks InStep.
	Calls(code []byte, pc uint64, mode Mode, dst []CallRef) []CallRef
	// InStep decodes the block of code that begins at an index, from some
	// instructions before on, and marks the bytes of the block where what Calls
	// finds is a call in step with the code before. clean: no instruction of the
	// block is undefined. Tables and strings hold an undefined one all few dozens
	// of bytes, code none.
	InStep(code []byte, from int, mode Mode, calls *CallBlock) (clean bool)
}

// JumpFinder is implemented by decoders of which a pass over the bytes finds the jumps that may
// leave a function much faster than decoding does.
type JumpFinder interface {
	// Jumps appends what reads as a direct jump in code to dst, as Decoder.Calls does calls.
	Jumps(code []byte, pc uint64, dst []CallRef) []CallRef
}
