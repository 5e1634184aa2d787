package callee

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Site is where a call stands: at PC, at the end of a run of instructions that begins at Start.
// The callee returns to Next.
type Site struct{ Start, PC, Next uint64 }

// At is the effect of the call at site once the call has returned. to is where the callee begins,
// if that is known.
func (f *Effects) At(site Site, to disasm.Addr, known bool) Effect {
	e := perhaps()
	if known {
		e = f.Behind(to, site.Next)
	}
	if !f.pops || !e.Returns || e.Pops != 0 || e.PC != cpu.NoReg {
		return e
	}
	if known {
		if _, stub := f.StubSlot(to); !stub {
			return e
		}
	}
	e.Pops = arguments{f.code, site}.notTakenBack()
	return e
}

// alignment is the multiple of bytes that compilers for i386 reserve for the arguments of a call, so
// that SP is aligned at the call. Behind a function that pops no arguments all of that is released.
const alignment = 16

// maxArguments bounds the instructions that are looked at in front of a call, and behind it.
const maxArguments = 32

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
// Where the caller pushes again before it leaves its block, it may have left the word for the next
// call, as bc leaves two.
func (a arguments) notTakenBack() int64 {
	back, ok := a.takenBack()
	if !ok || back <= 0 || back%alignment == 0 {
		return 0
	}
	put, word := a.put(), int64(a.code.Arch.AddrSize)
	if put%alignment == 0 && put-back == word {
		return word
	}
	return 0
}

// put is how many bytes the run of instructions in front of a call allocates, since SP was
// raised last.
func (a arguments) put() (put int64) {
	cur := disasm.NewCursor(a.code)
	cur.Seek(disasm.Addr{PC: a.Start})
	n := 0
	for pc := a.Start; pc < a.PC; n++ {
		in := cur.Next(pc)
		if in == nil {
			return 0
		}
		by, known := movesSP(in, a.code.Arch)
		if !known || n > maxArguments && by != 0 {
			return 0
		}
		if put -= by; by > 0 {
			put, n = 0, 0
		}
		pc += uint64(in.Len)
	}
	return put
}

// takenBack is how many bytes the code behind a call frees at once; false where the code goes on to
// push, or frees more.
func (a arguments) takenBack() (back int64, ok bool) {
	cur := disasm.NewCursor(a.code)
	cur.Seek(disasm.Addr{PC: a.Next})
	for pc, n := a.Next, 0; n < maxArguments; n++ {
		in := cur.Next(pc)
		if in == nil {
			return 0, false
		}
		by, known := movesSP(in, a.code.Arch)
		switch {
		case !known, by != 0 && back != 0, by < 0:
			return 0, false
		case disasm.Transfers(in, a.code.Arch):
			return back, true
		}
		back += by
		pc += uint64(in.Len)
	}
	return back, true
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
