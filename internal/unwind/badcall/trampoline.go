package badcall

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
)

const (
	// maxTrampoline bounds the instructions of a trampoline; Thumb-1's has six.
	maxTrampoline = 8
	// maxPushed bounds the words that a trampoline has on the stack.
	maxPushed = 2
)

// trampoline tells whether a thread runs code on the stack: a function that takes the address of a nested
// function puts code into its frame that passes the frame's address to the nested function (GCC
// Internals, "Support for Nested Functions"). up is how far SP rises
// until the code jumps to the nested function: Thumb-1 has too few registers to load the PC
// without a slot on the stack.
//
//	push {r0, r1}; ldr r0,[pc,#8]; mov ip,r0; ldr r0,[pc,#8]; str r0,[sp,#4]; pop {r0, pc}
func trampoline(s *stackwalk.State, sp uint64) (up int64, ok bool) {
	snap := s.Snapshot
	if _, inModule := snap.ModuleAt(s.PC); inModule || s.PC < sp || snap.Arch.Decoder == nil {
		return 0, false
	}
	code := snap.Memory.Bytes(s.PC)
	if stack := snap.Memory.Bytes(sp); len(stack)-len(code) != int(s.PC-sp) {
		return 0, false // other memory than the stack
	}
	var list [maxTrampoline]cpu.Insn
	n := snap.Arch.Decoder.Decode(code, s.PC, s.Mode, list[:])
	for i := range n {
		in := &list[i]
		if !plain(in) {
			return 0, false
		}
		up += in.Raises(snap.Arch.SP)
		if in.Ends(snap.Arch.PC) {
			return up, up >= 0 && up <= maxPushed*int64(snap.Arch.RegSize)
		}
	}
	return 0, false
}

// plain tells whether trampolines have such instructions: they load two constants, and jump.
func plain(in *cpu.Insn) bool {
	switch in.Op {
	case cpu.OpNop, cpu.OpConst, cpu.OpInsert, cpu.OpMove, cpu.OpAddImm, cpu.OpShlImm,
		cpu.OpLoad, cpu.OpStore, cpu.OpLoadMulti, cpu.OpStoreMulti, cpu.OpJump:
		return in.Flags&(cpu.FlagConditional|cpu.FlagException) == 0
	}
	return false
}
