package cpu

// Convention is the ABI's calling convention: what a function finds on entry and must leave
// behind.
type Convention struct {
	// StackAlign is the alignment of SP at a call.
	StackAlign uint64
	// CallPushesRA: a call instruction pushes the return address (x86), so that SP
	// points at the return address on entry and a return pops it. Elsewhere the call
	// leaves the return address in LR and SP as it was.
	CallPushesRA bool
	// EntryCFA is CFA − SP on entry to a function: 0, or the word that a call
	// pushed (x86). The CFA is SP in the caller at the call instruction.
	EntryCFA int64
	// FPChain describes the conventional frame record: the saved FP and return
	// address at these offsets from FP, and the CFA at FP+CFA. Nil: no convention.
	FPChain *FPChain

	// Preserved are the registers that a callee must restore, FP included, SP,
	// PC and LR not.
	Preserved RegSet
	// SelfRegs hold the function's own address on entry by the ABI's convention
	// (t9 in MIPS abicalls code).
	SelfRegs RegSet
	// Globals hold one value throughout an image's code (gp).
	Globals RegSet
	// GPBias is by how many bytes the value of Globals lies behind the start of the
	// image's GOT (MIPS: 0x7ff0, so that signed 16-bit offsets reach all of the first
	// 64 KiB; System V ABI MIPS supplement, chapter 5); 0 where Globals is empty.
	GPBias uint64
	// Platform are registers that the platform may reserve, which a call leaves as they were
	// then: the pointer of the shadow call stack (x18 of AArch64, AAPCS64 6.1.1; gp of RISC-V).
	// Elsewhere nobody reads behind a call what they held.
	Platform RegSet
	// PCThunk: no operand can be relative to the PC (i386). Position-independent code
	// reads the PC through a call of a function that returns its own return address
	// (__x86.get_pc_thunk.bx), and its PLT stubs find the GOT through the register in
	// which the caller keeps what it computed from that (jmp *12(%ebx)).
	PCThunk bool
}

// FPChain is the layout of a conventional frame record.
type FPChain struct {
	SavedFP, SavedRA, CFA int64
}
