package seh

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/pdata"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// sequence is unwind codes of ARM64, one for each instruction: of a prologue the last instruction first, of an epilogue in order.
type sequence []step

// step is an unwind code.
type step struct {
	op    op
	first uint8 // the number of the first register that is saved; those of floating point count from numberD or numberQ
	count uint8 // of registers
	off   int64 // bytes: where the registers are, or what the stack pointer moves by
}

// op is what an instruction does, named as in a prologue.
type op uint8

const (
	opEnd        op = iota
	opEndChained    // the prologue ends, and what the function's other part did follows
	opAlloc         // sub sp,sp,#off
	opSave          // stp first,…,[sp,#off]
	opSavePush      // stp first,…,[sp,#-off]!
	opSaveNext      // stp of the pair behind that of the next step but opSaveNext
	opSaveLRPair    // stp first,lr,[sp,#off]
	opSetFP         // mov x29,sp
	opAddFP         // add x29,sp,#off
	opNop
	opSign         // pacibsp
	opMachineFrame // no instruction: the processor's own frame
	opContext      // no instruction: a CONTEXT lies at the stack pointer
	opNoCall       // no instruction: the place was not called
	opUnsupported
)

// length is how many instructions a sequence has up to its end, that not counted.
func (s sequence) length() (n int) {
	for i := range s {
		switch s[i].op {
		case opEnd, opEndChained:
			return n
		case opMachineFrame, opContext, opNoCall:
		default:
			n++
		}
	}
	return n
}

// skip is what is left of a sequence without its first n instructions.
func (s sequence) skip(n int) sequence {
	for i := range s {
		switch s[i].op {
		case opMachineFrame, opContext, opNoCall:
			continue
		}
		if n == 0 {
			return s[i:]
		}
		n--
	}
	return nil
}

// frame is what an entry says: what the prologue did, and the epilogues.
type frame struct {
	words     int // of the function
	prologue  sequence
	epilogues []scope
	handler   uint32 // of exceptions, 0 for none
}

// scope is an epilogue: which instruction it begins with.
type scope struct {
	start int
	steps sequence
}

// arm64 makes the rule of a place in an entry.
func (u *undoing) arm64(f *pdata.Function) unwind.Verdict {
	fr, _, v := readFrame(u.q.Image, f.Info)
	if v != unwind.Found {
		return v
	}
	return u.undo(fr.left(int(u.place()-f.Lo) / 4))
}

// readFrame reads what an entry says, and names the form.
func readFrame(img *image.Image, info uint32) (fr frame, kind string, v unwind.Verdict) {
	switch info & 3 {
	case 0:
		fr, v = readXdata(img, info)
		return fr, ".xdata", v
	case packedWhole, packedFragment:
		return unpack(info), "packed", unwind.Found
	}
	return fr, "of a form that is reserved", unwind.Unsupported
}

// place is the instruction that runs next.
func (u *undoing) place() uint64 {
	if u.q.Exact {
		return u.q.PC
	}
	return max(u.q.Resume, u.q.PC) // never in an epilogue, which calls nothing
}

// left is what is left to undo at an instruction.
func (fr *frame) left(at int) sequence {
	for _, e := range fr.epilogues {
		if n := e.steps.length(); at >= e.start && at <= e.start+n && at < fr.words {
			return e.steps.skip(at - e.start)
		}
	}
	return fr.prologue.skip(max(0, fr.prologue.length()-at))
}

// undo makes the rule that undoes a sequence.
func (u *undoing) undo(s sequence) unwind.Verdict {
	arch := u.q.Arch
	next := uint8(0) // pairs whose place the step behind tells
	u.out.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: arch.LR}
	for i := range s {
		t := &s[i]
		switch t.op {
		case opEnd:
			u.finish(0)
			return unwind.Found
		case opAlloc:
			u.off += t.off
		case opSetFP, opAddFP:
			u.base, u.off = arch.FP, -t.off
		case opSaveNext:
			next++
		case opSave:
			u.saved(t.first, t.count+2*next, t.off)
			next = 0
		case opSavePush:
			u.saved(t.first, t.count+2*next, 0)
			u.off, next = u.off+t.off, 0
		case opSaveLRPair:
			u.saved(t.first, 1, t.off)
			u.saved(numberLR, 1, t.off+8)
		case opSign:
			u.out.Flags |= stackwalk.SignedRA
		case opMachineFrame:
			u.interrupted(0, 8)
			return unwind.Found
		case opContext:
			u.context()
			return unwind.Found
		case opUnsupported:
			return unwind.Unsupported
		}
	}
	return unwind.Malformed // no end
}

// Numbers of registers.
const numberFP, numberLR, numberD, numberQ = 29, 30, 64, 96

// saved says that registers with ascending numbers lie from bytes above the stack pointer on. Those of arguments are stored, but not the
// caller's; those of floating point do not matter.
func (u *undoing) saved(first, count uint8, at int64) {
	for n := first; n < first+count; n++ {
		switch r, _ := u.q.Arch.RegByDWARF(uint64(n)); {
		case n == numberLR:
			u.out.RA = stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: cpu.NoReg, Base: u.base, Off: u.off + at}
		case n >= firstSaved && n < numberLR:
			u.restore(r, at)
		}
		at += 8
	}
}

// interrupted is a frame out of which the interrupted stack pointer and PC are read.
func (u *undoing) interrupted(sp, pc int64) {
	at := func(off int64) stackwalk.RegRule {
		return stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: cpu.NoReg, Base: u.base, Off: u.off + off}
	}
	u.out.Flags |= stackwalk.SignalFrame
	u.out.CFA, u.out.RA = at(sp), at(pc)
}

// context is a CONTEXT of ARM64 (winnt.h): flags and CPSR, X0 to X28, FP, LR, SP, PC.
func (u *undoing) context() {
	const x0, sp, pc = 8, 256, 264
	for n := range uint8(numberLR + 1) {
		r, _ := u.q.Arch.RegByDWARF(uint64(n))
		u.restore(r, x0+int64(n)*8)
	}
	u.interrupted(sp, pc)
}

// readXdata reads an .xdata record.
func readXdata(img *image.Image, rva uint32) (fr frame, v unwind.Verdict) {
	base := img.Table(image.RuntimeFunctions).Base
	r := bin.New(img.Segments.Bytes(base+uint64(rva)), false)
	head := r.U32()
	fr.words = int(head & 0x3ffff)
	version, handled, one := head>>18&3, head>>20&1 != 0, head>>21&1 != 0
	epilogues, words := int(head>>22&0x1f), head>>27
	if epilogues == 0 && words == 0 {
		more := r.U32()
		epilogues, words, one = int(more&0xffff), more>>16&0xff, false
	}
	if version != 0 {
		return fr, unwind.Unsupported
	}
	scopes := r
	if !one {
		r.Skip(uint64(epilogues) * 4)
	}
	codes := r.Bytes(uint64(words) * 4)
	if r.Err() != nil {
		return fr, unwind.Malformed
	}
	if handled {
		fr.handler = r.U32()
	}
	fr.prologue = readSteps(codes, true)
	if one { // the number is where the only epilogue's codes begin, and the function ends with it
		s := readSteps(codes[min(epilogues, len(codes)):], false)
		fr.epilogues = []scope{{max(0, fr.words-s.length()-1), s}}
		return fr, unwind.Found
	}
	for range epilogues {
		s := scopes.U32()
		fr.epilogues = append(fr.epilogues, scope{int(s & 0x3ffff), readSteps(codes[min(int(s>>22), len(codes)):], false)})
	}
	return fr, unwind.Found
}
