package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Function is the control flow from one entry with the state at each block: what is true
// at every instruction that can run as part of a call to the entry. A Function does not
// change once analysed.
type Function struct {
	Entry disasm.Addr
	Facts
	// Followed: the function is complete but for jumps through words that may change while the
	// program runs, if these go where the file has it: tail calls through MIPS's GOT.
	Followed bool
	// Tails are jumps to other functions with the frame gone.
	Tails []disasm.Addr
	// BehindCalls is what holds behind every call: what a landing pad starts with; empty
	// where the function calls nobody that returns. AtLastCalls is the same for calls that never
	// return, of a function that makes no others: what they call may throw.
	BehindCalls, AtLastCalls absint.Encoded
	exits

	an      *Analysis
	interp  absint.Interp // frozen
	blocks  blocks
	targets callTargets
	data    map[uint64]uint64 // sizes of literals and jump tables among the code, by address
	steps   int               // instructions executed
}

// exits are where a function leaves otherwise than by a return.
type exits struct {
	outwards places // with SP unknown
	undone   places // by a jump, with its frame undone, to where no function is known to begin
	framed   places // by a jump to an unknown place, with its frame in place
}

// Facts are what an analysis concludes of a function as a whole.
type Facts struct {
	// Complete: every path was followed to its end.
	Complete bool
	// BrokenOff: there were more blocks, or more to execute, than an analysis may cost. Where
	// the function ends is unknown.
	BrokenOff bool
	// Returns: some path returns to the caller. Balanced: some path ends in a return
	// instruction with SP and RA as on entry.
	Returns, Balanced bool
	// LeavesByPointer: a path ends in a jump through a pointer with SP and RA as on entry: a tail call.
	LeavesByPointer bool
	// Unbalanced: a path returns with SP elsewhere than on entry, so that no function
	// begins at the entry (or a path does not exist).
	Unbalanced bool
	// ReadsPreserved: the code uses a preserved register that it did not set, as no
	// function does at its beginning: the entry is a label or a landing pad.
	ReadsPreserved bool
	// LandingPad: the code reads such a register before the first branch.
	LandingPad bool
	// SavesRA: the code saves the return address, as functions do that call others.
	SavesRA bool
	// CallsBare: a call is made with SP as on entry. On x86-64 no function does that: the ABI
	// aligns SP to 16 bytes at calls (System V ABI, 3.2.2), and the return address is there.
	// (i386's alignment is younger than much of its code, and GCC's alone.)
	CallsBare bool
	// Calls: the function calls another one. CallsAt are the places of SP there, of i386 only.
	Calls   bool
	CallsAt alignments
	// Resumes: the code calls what landing pads alone call.
	Resumes bool
	// ClearsRA: the code begins by clearing the return address, as the outermost functions
	// of threads do.
	ClearsRA bool
	// SPDiffers: two paths come to one place with SP at different places. One of the paths
	// does not exist (a call on the way never returns), or SP moves in a loop (alloca).
	SPDiffers bool
}

// alignments are how often SP was n words above a multiple of 16 below the entry's.
type alignments [4]int

// mostly tells whether nearly all were at n words: now and then what a callee pops is not known.
func (a *alignments) mostly(n int) bool { return a[n] > 4*(a[0]+a[1]+a[2]+a[3]-a[n]) }

// only tells whether there were some, and all at n words.
func (a *alignments) only(n int) bool { return a[n] > 0 && a[0]+a[1]+a[2]+a[3] == a[n] }

// Contradicted: every return of the function has SP elsewhere than on entry.
func (f *Facts) Contradicted() bool { return f.Unbalanced && !f.Balanced }

// Blocks is how many basic blocks were reached.
func (f *Function) Blocks() int { return len(f.blocks) }

// Steps is how many instructions the analysis of the function executed. The number is the same for
// a caller that finds the analysis done.
func (f *Function) Steps() int { return f.steps }

// Contains tells whether control from the entry comes to an address.
func (f *Function) Contains(pc uint64) bool {
	b, _ := f.blocks.at(pc)
	return b != nil
}

// RunsAt tells whether control from a function's entry comes to a place, in the place's mode.
func RunsAt(f *Function, at disasm.Addr) bool {
	b, _ := f.blocks.at(at.PC)
	return b != nil && b.mode == at.Mode
}

// ByGuess tells whether only a guess leads to an address: code behind a jump that was
// not resolved.
func (f *Function) ByGuess(pc uint64) bool {
	b, _ := f.blocks.at(pc)
	return b != nil && b.via == edgeGap
}

// Doubts tells whether the way to an address leads over a call, which may not return, or
// over a guess.
func (f *Function) Doubts(pc uint64) bool {
	b, _ := f.blocks.at(pc)
	return b == nil || b.via > edgeJump
}

// Straight tells whether nothing but instructions in a line lies between the entry and
// an address.
func (f *Function) Straight(pc uint64) bool {
	b, _ := f.blocks.at(pc)
	return b != nil && b.start == f.Entry.PC
}

// FramedAt tells whether the function runs through an address with SP other than on
// entry. What falls through a call may be another function's beginning.
func (f *Function) FramedAt(pc uint64) bool {
	b, _ := f.blocks.at(pc)
	var st absint.State
	return b != nil && b.afterCall == 0 && b.via <= edgeTable &&
		f.StateAt(disasm.Addr{PC: pc, Mode: b.mode}, &st) && !st.Regs[f.an.Arch.SP].IsStartOf(f.an.Arch.SP)
}

// LosesRA tells whether the function calls and keeps the return address nowhere, or, on
// x86-64, calls as no function does.
func (f *Function) LosesRA() bool {
	return f.CallsBare || f.BehindCalls != "" && keepsNoRA(f)
}

// keepsNoRA tells whether the code does not return as a function does, and keeps nowhere the return address
// that it was called with.
func keepsNoRA(f *Function) bool { return !f.an.conv.pushes() && !f.SavesRA && !f.Balanced }

// ContiguousEnd is the end of the run of blocks around the entry, padding in front of
// the targets of jumps included.
func (f *Function) ContiguousEnd() uint64 { return EndFrom(f, f.Entry.PC) }

// SkipData returns the first address from a place on that is neither filler between
// functions nor data that the function is known to read.
func (f *Function) SkipData(at disasm.Addr) uint64 {
	for {
		next := at.PC + f.data[at.PC]
		next += -next & (f.an.Arch.InsnAlign - 1)
		if next == at.PC {
			next = f.an.SkipFiller(at)
		}
		if next == at.PC {
			return next
		}
		at.PC = next
	}
}

// CallTarget is where the indirect call at a site goes, where constants tell: on every way to the
// call if sure, else on one of them.
func (f *Function) CallTarget(site uint64) (to disasm.Addr, sure bool) {
	t := f.targets[site]
	return t.to, t.to != (disasm.Addr{}) && !t.unsure
}

// Enters tells whether the function has code in the range of entries around an address: a
// part that was split off, with landing pads of its own.
func (f *Function) Enters(pc uint64) bool {
	hi := f.an.Entries.Next(pc, pc)
	b, i := f.blocks.at(pc)
	if b != nil || i < len(f.blocks) && f.blocks[i].start < hi {
		return true
	}
	return i > 0 && f.an.Entries.Next(f.blocks[i-1].start, f.blocks[i-1].start) == hi
}

// maxSweep bounds the bytes of a function that are looked through line by line.
const maxSweep = 1 << 16

// JumpsCost is what JumpsTo costs, in instructions that an analysis executes meanwhile.
const JumpsCost = maxSweep / 8

// JumpsTo tells whether a tail call of the function goes to the beginning of the one that
// has pc, or a direct jump that its flow did not come to. Big switches of tail calls
// (clang's RecursiveASTVisitor::TraverseStmt) are often not followed to all cases; a landing
// pad's jump into the cold part is in no flow.
func (f *Function) JumpsTo(pc uint64) bool {
	has := func(entry uint64) bool { return entry <= pc && f.an.Entries.Next(entry, entry) > pc }
	for _, t := range f.Tails {
		if has(t.PC) {
			return true
		}
	}
	entry := f.Entry.PC
	end := min(f.an.Entries.Next(entry, entry), entry+maxSweep)
	var buf [32]cpu.Insn
	for at := f.Entry; at.PC-entry < end-entry; { // distances: an address behind the last of 2⁶⁴ is 0
		n := f.an.Decode(at, buf[:])
		for i := 0; i < n && at.PC-entry < end-entry; i++ {
			in := &buf[i]
			if t := in.Target; in.Op == cpu.OpJump && t != 0 && (t < entry || t >= end) && has(t) && !(f.Complete && f.Contains(at.PC)) {
				return true
			}
			at.PC += uint64(in.Len)
		}
		if n == 0 {
			at.PC += max(f.an.Arch.InsnAlign, 1)
		}
	}
	return false
}
