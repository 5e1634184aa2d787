// Package dataflow finds out what is true at a place of the code, by executing the code
// abstractly in two directions:
//
//	entry ──Function──► PC       what the function did to SP, RA and the preserved
//	                             registers so far: states are joined where ways meet
//	PC ──ReturnPaths──► return   what the function will do to undo that: states fork
//	                             where ways part
//
// Both step through basic blocks alike (transfer.go). Nothing here is locked while an
// analysis runs: what is finished does not change and is kept within bounds.
package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/memo"
)

// Analysis analyses the functions of one image, on demand. Any goroutine may ask.
type Analysis struct {
	disasm.Code
	Entries *discover.Entries
	Callees *callee.Effects
	Heights *heights.Tables

	functions   memo.Table[disasm.Addr, *Function]
	landingPads memo.Table[landingPadsKey, *Function]
	paths       memo.Table[pathKey, waysOut]
	conv        convention
}

const (
	// keptKB bounds the memory of a generation of analysed functions, in kilobytes: a
	// thousand functions of 100 blocks.
	keptKB = 8 << 10
	// keptPaths bounds a generation of places whose return paths are kept.
	keptPaths = 1024
)

// New returns the analysis of an image's code.
func New(c disasm.Code, entries *discover.Entries, callees *callee.Effects, tables *heights.Tables) *Analysis {
	an := &Analysis{Code: c, Entries: entries, Callees: callees, Heights: tables, conv: conventionOf(c.Arch)}
	an.functions.Bound, an.landingPads.Bound, an.paths.Bound = keptKB, keptKB/8, keptPaths
	an.functions.Weigh = func(f *Function) int { return f.blocks.kilobytes() }
	an.landingPads.Weigh = an.functions.Weigh
	return an
}

// Function returns the analysis of the function that begins at entry.
func (an *Analysis) Function(entry disasm.Addr) *Function {
	if f, ok := an.functions.Find(entry); ok { // first, because Get's function is allocated
		return f
	}
	return an.functions.Get(entry, func() *Function { return an.analyze(entry, nil) })
}

// pathKey is a place whose ways out are asked for.
type pathKey struct {
	at        disasm.Addr
	afterCall bool
}

// ReturnPaths follows the code from a place to returns. afterCall: the place is where a
// call returns to, so that only preserved registers are as the frame left them.
func (an *Analysis) ReturnPaths(at disasm.Addr, afterCall bool) []ReturnPath {
	return an.waysOut(at, afterCall).returns
}

// waysOut are the ways from a place out of its function.
func (an *Analysis) waysOut(at disasm.Addr, afterCall bool) waysOut {
	return an.paths.Get(pathKey{at, afterCall}, func() waysOut { return an.findReturns(at, afterCall) })
}

// applyCall makes st what holds behind a call that returned to next: the ABI's clobbers,
// or less where the callee is i386's way to read the PC (__x86.get_pc_thunk.bx), around
// which compilers keep values in registers that a call would clobber: the caller's SP in
// ecx, in a function that realigns its stack; or touches the pages of a large frame.
func (an *Analysis) applyCall(m *absint.Interp, st *absint.State, c *transfer, target disasm.Addr, known bool) {
	if !an.conv.pushes() {
		m.Exec(st, c.In, c.pc)
		if known && an.Img.System == "windows" {
			st.Set(an.Arch.SP, st.Get(an.Arch.SP).Plus(an.Callees.Of(target).Pops), an.Arch)
		}
		return
	}
	site := callee.Site{Start: c.start, PC: c.pc, Next: c.Next}
	if sp := st.Regs[an.Arch.SP]; sp.RelativeTo(an.Arch.SP) {
		site.Depth = an.Arch.EntryCFA - sp.Off
	}
	effect := an.Callees.At(site, target, known)
	if effect.PC != cpu.NoReg {
		m.Assign(st, effect.PC, absint.Const(int64(c.Next)), c.pc)
		return
	}
	size, bytes := an.probed(st, c.Next)
	m.Exec(st, c.In, c.pc)
	sp := st.Get(an.Arch.SP).Plus(effect.Pops)
	if effect.Unsaid {
		sp = absint.Value{}
	}
	st.Set(an.Arch.SP, sp, an.Arch)
	st.Set(size, bytes, an.Arch)
}

// probed is the register with the size of a frame, and the size, where code behind a call
// allocates what the register held before: the callee touched the stack's pages and left the
// register alone. Rust for x86-64 calls __rust_probestack so, compilers for Windows __chkstk.
// No function returns what is subtracted from SP at once: alloca rounds up first.
//
//	mov  $0xaaf8,%eax
//	call __rust_probestack
//	sub  %rax,%rsp
func (an *Analysis) probed(st *absint.State, next uint64) (size cpu.Reg, bytes absint.Value) {
	var in cpu.Insn
	if an.One(disasm.Addr{PC: next}, &in) && in.Op == cpu.OpSub && in.Dst == an.Arch.SP && in.Src == an.Arch.SP {
		if v := st.Get(in.Src2); v.Kind == absint.Constant {
			return in.Src2, v
		}
	}
	return cpu.NoReg, absint.Value{}
}
