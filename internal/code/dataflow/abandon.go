package dataflow

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// waysOut are the ways from a place out of its function.
type waysOut struct {
	returns []ReturnPath
	// outwards is where a way leaves that may go on in a frame further out, 0 if none does.
	outwards uint64
}

// maxInstalling is how many calls may lie between the one that writes another frame's registers
// over the saved ones and the jump to that frame: libgcc calls _Unwind_DebugHook there, where
// debuggers stop.
const maxInstalling = 1

// Abandons tells whether the code at a place of f is about to abandon its frame and its callers', and to
// go on in a frame further out. A caught exception does: libgcc's _Unwind_Resume ends in
// __builtin_eh_return (GCC Internals, "Exception Handling"). That adds to SP how far away the frame with the
// landing pad is, and jumps to the landing pad. On MIPS:
//
//	bal  uw_install_context_1    writes the registers of the frame with the landing pad over those saved here
//	bal  _Unwind_DebugHook
//	sw   a1,2052(sp)             the landing pad, over the return address
//	lw   ra,2052(sp); lw s8,2048(sp); …
//	addiu sp,sp,2104
//	jr   ra
//	addu sp,sp,v0
//
// From the first call on, what the frame has saved is no longer the caller's. afterCall is as in
// ReturnPaths.
func (an *Analysis) Abandons(f *Function, at disasm.Addr, afterCall bool) bool {
	if len(f.outwards) == 0 {
		return false
	}
	w := an.waysOut(at, afterCall)
	return len(w.returns) == 0 && w.outwards != 0 && slices.Contains(f.outwards, w.outwards)
}

// leadsOutwards tells whether a return, to v, may be one to a frame further out: SP has been moved by
// what nobody knows, or loaded. A jump through a register may be one only where the epilogue has
// run: a switch may follow an alloca.
func (s *pathSearch) leadsOutwards(st *absint.State, v absint.Value, t *transfer) bool {
	sp := st.Regs[s.an.Arch.SP]
	if s.path.calls > maxInstalling || recoverable(sp) {
		return false
	}
	known := t.In.Op != cpu.OpJump || v != absint.Value{}
	return known || sp.Kind == absint.OtherStack || s.an.conv.reloaded(st)
}

// places are addresses of instructions.
type places []uint64

// note keeps the place of a transfer that leaves a function, if SP is unknown there. From a
// place in an epilogue, SP may be unknown for a constant that was loaded in front:
//
//	li   t0,0x183e0
//	addu sp,s8,t0     ◄─ PC
func (p *places) note(sp absint.Value, pc uint64) {
	if !recoverable(sp) && !slices.Contains(*p, pc) {
		*p = append(*p, pc)
	}
}
