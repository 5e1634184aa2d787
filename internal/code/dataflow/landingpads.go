package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// landingPads are the places where the runtime enters a function with an exception (Itanium C++ ABI, Exception
// Handling, "landing pad").
type landingPads struct {
	owner *Function
	first disasm.Addr
	st    absint.State // at each of them
	steps int          // instructions executed to tell them from functions
}

// maxLandingPadSteps bounds the instructions executed to tell landing pads from functions. Rust programs
// have hundreds of pads in a row, each of which leads through those behind.
const maxLandingPadSteps = 4 * maxSteps

// LandingPads is the code of a function's landing pads, from the first one on, as far as the function's own
// flow does not come there. The runtime enters them with the registers that calls preserve and
// with SP where it is when no arguments of a call lie on the stack.
func (an *Analysis) LandingPads(owner *Function, first disasm.Addr) *Function {
	return an.landingPads.Get(landingPadsKey{owner.Entry, first}, func() *Function {
		p := &landingPads{owner: owner, first: first}
		p.enter()
		return an.analyze(owner.Entry, p)
	})
}

// landingPadsKey is a function and its first landing pad.
type landingPadsKey struct{ owner, first disasm.Addr }

// enter finds the state at the pads.
func (p *landingPads) enter() {
	f := p.owner
	if f.BehindCalls != "" {
		f.BehindCalls.Decode(&p.st)
	} else {
		f.AtLastCalls.Decode(&p.st)
	}
	arch := f.an.Arch
	if !f.an.conv.pushes() {
		return
	}
	if p.st.Get(arch.FP) == absint.StartOf(arch.SP).Plus(-int64(arch.AddrSize)) {
		p.st.Set(arch.SP, absint.Value{}, arch) // the frame pointer tells
	} else if sp, ok := spWithoutArguments(f); ok {
		p.st.Set(arch.SP, sp, arch)
	}
}

// explore explores one landing pad after another: where the code of one ends, the next begins.
func (p *landingPads) explore(e *explorer) {
	e.Facts = p.owner.Facts
	for at := p.first; !e.graph.again; {
		e.st.CopyFrom(&p.st)
		if sp := p.argumentsAt(e, at); sp.RelativeTo(e.an.Arch.SP) {
			e.st.Set(e.an.Arch.SP, sp, e.an.Arch)
		}
		e.graph.propagate(at, &e.st, edgeGap, 0)
		e.drain()
		e.Function.blocks = e.graph.blocks
		next := Behind(at, e.Function, p.owner)
		if next.PC <= at.PC || e.BrokenOff || !p.goesOn(e, next) {
			return
		}
		at = next
	}
}

// argumentsAt is where SP is behind a call that never returns, at code that drops the call's arguments. Such
// code is no landing pad, which the runtime enters without arguments on the stack: compilers drop
// arguments behind any call. Rust for i386:
//
//	call panic_bounds_check
//	add  $0x10,%esp
//	ud2
func (p *landingPads) argumentsAt(e *explorer, at disasm.Addr) (sp absint.Value) {
	arch := e.an.Arch
	var in cpu.Insn
	if !e.an.conv.pushes() || !e.an.One(at, &in) || in.Op != cpu.OpAddImm || in.Dst != arch.SP || in.Src != arch.SP || in.Imm <= 0 {
		return absint.Value{}
	}
	m := p.owner.interp
	b, _ := p.owner.blocks.at(at.PC - 1)
	if b == nil {
		m = e.m.Frozen()
		b, _ = e.graph.blocks.at(at.PC - 1)
	}
	if b == nil || b.end != at.PC {
		return absint.Value{}
	}
	if run := runThrough(p.owner, &m, b); run.calls {
		return run.sp
	}
	return absint.Value{}
}

// Behind is the first address from at on that is neither code of f or owner, nor padding, nor data that
// one of these functions reads.
func Behind(at disasm.Addr, f, owner *Function) disasm.Addr {
	for {
		next := at
		next.PC = EndFrom(owner, EndFrom(f, next.PC))
		next.PC = owner.SkipData(disasm.Addr{PC: f.SkipData(next), Mode: at.Mode})
		if next == at {
			return next
		}
		at = next
	}
}

// EndFrom is the end of the run of a function's blocks around an address, padding in front
// of the targets of jumps included, and the tables and literals among them.
func EndFrom(f *Function, pc uint64) uint64 {
	end := pc
	_, i := f.blocks.at(pc)
	for _, b := range f.blocks[i:] {
		if b.start > end {
			padded := f.SkipData(disasm.Addr{PC: end, Mode: b.mode})
			if b.start > padded {
				break // blocks are sorted: none of those behind closes the gap
			}
			if b.start < padded {
				continue
			}
		}
		end = max(end, b.end)
	}
	return end
}
