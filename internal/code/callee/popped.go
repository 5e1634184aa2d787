package callee

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Site is where a call stands: at PC, at the end of a run of instructions that begins at Start.
// The callee returns to Next. Depth is how far below the CFA SP is at the call, 0 if nobody knows.
type Site struct {
	Start, PC, Next uint64
	Depth           int64
}

// At is the effect of the call at site once the call has returned. to is where the callee begins,
// if that is known.
func (f *Effects) At(site Site, to disasm.Addr, known bool) Effect {
	e := perhaps()
	if known {
		e = f.Of(to)
	}
	if e = f.takenBackAt(e, site.Next); f.pops && e.Guess && e.Pops == 0 {
		a := arguments{f.code, site}
		behind := a.follow()
		e.Pops, e.Unsaid = a.notTakenBack(&behind), behind.resets
	}
	return e
}

// alignment is the multiple of bytes that compilers for i386 reserve for the arguments of a call, so
// that SP is aligned at the call. Behind a function that pops no arguments all of that is released.
const alignment = 16

// maxArguments bounds the instructions that are looked at in front of a call, and behind it.
const maxArguments = 128

// arguments are what a caller puts on the stack for a call.
type arguments struct {
	code disasm.Code
	Site
}

// notTakenBack is the word that a caller for i386 leaves on the stack of the bytes that it put there
// for a call: what the callee popped, of which nothing else is known. So methods return structures
// that Rust and C++ call through pointers, and PHP's interpreter calls functions of three arguments:
//
//	sub  $0x4,%esp        16 bytes for the call
//	push %edx
//	push %eax
//	push %esi             where to put what is returned
//	call *%ecx
//	add  $0xc,%esp        12 of them back
//
// In front of a function's first call the frame is among what aligns SP, and more is taken back than was pushed: a
// function of cmake for i386 that begins at 0x31d030 pushes 8 bytes behind a frame of 456, calls, and takes 12 back.
//
// Callers also leave words for the next call, as bc leaves two, or all of them: astyle calls substr, which pops a
// word, behind 16 bytes, puts 20 more for compare, and takes 32 back. At the next call SP is aligned again, which
// tells whether the word was popped.
func (a arguments) notTakenBack(behind *afterwards) int64 {
	word := int64(a.code.Arch.AddrSize)
	put, pushed := a.put()
	aligned, framed := put > 0 && put%alignment == 0, a.Depth > 0 && a.Depth%alignment == 0
	if !aligned && a.Depth <= 0 {
		return 0
	}
	if a.Depth > 0 && behind.returns && a.Depth-behind.all == 2*word { // the return address, and what was popped
		return word
	}
	if aligned && behind.fits(put-word, true) {
		return word
	}
	if !framed {
		return 0
	}
	if behind.fits(a.Depth-word, false) {
		return word
	}
	if behind.block%alignment == alignment-word && (behind.block > pushed || put == pushed) && a.Depth-behind.block > mostSaved*word {
		return word
	}
	return 0
}

// mostSaved is how many words at most a function for i386 leaves when it takes back all that it put on the stack but
// the registers that it saved: these and its return address.
const mostSaved = 5

// put is how many bytes the run of instructions in front of a call allocates: the run begins where SP was
// raised last, or control went elsewhere. pushed is how many of these bytes are pushed behind the last
// subtraction from SP.
func (a arguments) put() (put, pushed int64) {
	cur := disasm.NewCursor(a.code)
	cur.Seek(disasm.Addr{PC: a.Start})
	n := 0
	for pc := a.Start; pc < a.PC; n++ {
		in := cur.Next(pc)
		if in == nil {
			return 0, 0
		}
		by, known := movesSP(in, a.code.Arch)
		if !known || n > maxArguments && by != 0 {
			return 0, 0
		}
		put, pushed = put-by, pushed-by
		switch {
		case by > 0, disasm.Transfers(in, a.code.Arch):
			put, pushed, n = 0, 0, 0
		case by < 0 && in.Dst == a.code.Arch.SP:
			pushed = 0
		case put == 0:
			n = 0
		}
		pc += uint64(in.Len)
	}
	return put, pushed
}

// afterwards is how many bytes the code behind a call takes back: at most, before the next call, up to the first branch or call that
// it comes to with some of them taken back and nothing put there since, and in all, to where control leaves the code or as far as
// maxArguments. returns: it leaves by a return, behind no call. resets: SP is set to what another register holds, before anything is
// taken back or called. What follows is not counted. So GCC 14 calls functions that return structures (libssl's SSL_clear_options):
//
//	mov %esp,%edi; sub $4,%esp; push …; push …; push %edi; call ossl_quic_clear_options; …; mov %edi,%esp
type afterwards struct {
	most, toCall, block, all int64
	calls, returns, resets   bool
}

// follow follows the code behind a call. A call of a function that reads the PC may come while the frame is made.
func (a arguments) follow() (w afterwards) {
	a.behind(func(in *cpu.Insn, by int64, known bool) bool {
		w.all += by
		w.most = max(w.most, w.all)
		if disasm.Transfers(in, a.code.Arch) && w.block == 0 && !w.calls && w.all == w.most {
			w.block = w.all
		}
		if in.Op == cpu.OpCall && !w.calls && !disasm.CallReadsPC(a.code, in) {
			w.calls, w.toCall = true, w.all
		}
		w.returns = in.Op == cpu.OpReturn && !w.calls
		w.resets = !known && !w.calls && w.all == 0
		return known && (in.Op == cpu.OpCall || named(in) || !disasm.Transfers(in, a.code.Arch))
	})
	return w
}

// behind calls visit for the instructions behind a call, until visit returns false or one cannot be decoded. It goes on behind
// branches, which SP passes unchanged, and where jumps lead.
func (a arguments) behind(visit func(in *cpu.Insn, by int64, known bool) bool) {
	cur := disasm.NewCursor(a.code)
	cur.Seek(disasm.Addr{PC: a.Next})
	for pc, n := a.Next, 0; n < maxArguments; n++ {
		in := cur.Next(pc)
		if in == nil {
			return
		}
		if by, known := movesSP(in, a.code.Arch); !visit(in, by, known) {
			return
		}
		if pc += uint64(in.Len); named(in) && in.Flags&cpu.FlagConditional == 0 {
			pc = in.Target
			cur.Seek(disasm.Addr{PC: pc})
		}
	}
}

// named tells whether an instruction is a branch or a jump to a place that it names.
func named(in *cpu.Insn) bool {
	return in.Op == cpu.OpJump && in.Target != 0 && in.Flags&(cpu.FlagTable|cpu.FlagMemory) == 0
}

// fits tells whether the code goes on as if so many bytes were left on the stack: no more is taken back, SP is
// aligned at the next call, and where none is found nothing is left at the end of the block, if all of them are arguments: GCC
// takes back what is pending before each branch (do_pending_stack_adjust).
// Calls may pop some as well, or never return.
func (w afterwards) fits(left int64, arguments bool) bool {
	if w.calls {
		return left >= w.most && (left-w.toCall)%alignment == 0
	}
	return arguments && left == w.block
}

// movesSP is how far an instruction that is no call or return moves SP.
func movesSP(in *cpu.Insn, arch *cpu.Arch) (by int64, known bool) {
	switch {
	case disasm.Transfers(in, arch):
		return 0, true
	case in.Dst == arch.SP:
		return in.Imm, in.Op == cpu.OpAddImm && in.Src == arch.SP
	case in.Base == arch.SP:
		return int64(in.WB), true
	}
	return 0, in.Op != cpu.OpLeave
}
