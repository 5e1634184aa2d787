// Package disasm reads the instructions of one image: where they are, what kind each
// one is, sets of their addresses, and the few idioms that several analyses know.
//
// The analyses of code build on one another in this order:
//
//	disasm ← absint ← callee, discover ← heights ← dataflow ← rules ← unwind/code
package disasm

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stepping"
)

// Addr is the image address of an instruction and the instruction set that it is of.
type Addr struct {
	PC   uint64
	Mode cpu.Mode
}

// Key packs an address as the CPU's code pointers do, so that sorted keys are sorted
// by address. Mode 1 exists only where bit 0 of an address is free.
func (a Addr) Key() uint64 { return a.PC | uint64(a.Mode) }

// Code is the code of one image. All addresses are image addresses.
type Code struct {
	Img  *image.Image
	Arch *cpu.Arch
}

// Of returns the code of an image whose CPU has a decoder.
func Of(img *image.Image) Code { return Code{img, img.Arch} }

// Addr takes a key apart.
func (c Code) Addr(key uint64) Addr {
	if c.Arch.ISABit {
		return Addr{key &^ 1, cpu.Mode(key & 1)}
	}
	return Addr{key, 0}
}

// Pointer is the address that a code pointer means; false where the image has no code, or none of
// the ISA mode.
func (c Code) Pointer(p uint64) (Addr, bool) {
	pc, mode := c.Arch.SplitCode(p)
	return Addr{pc, mode}, c.Has(pc) && (mode == 0 || !c.Img.OneMode)
}

// Has tells whether the image has code at an address.
func (c Code) Has(pc uint64) bool { return c.Img.Segments.Code(pc) != nil }

// Decode fills buf with the instructions from an address on and returns how many there
// are: fewer than len(buf) only where the code ends. Calls of a profiler's hook are not
// among them, see withoutHooks and withoutTracers, nor those of lazy binding stubs, see withoutBindingCalls.
func (c Code) Decode(at Addr, buf []cpu.Insn) int {
	n := c.decode(at, buf)
	if c.Arch.HookPops != 0 {
		withoutHooks(c, at, buf[:n])
	}
	if c.Arch.HookKeeps != 0 {
		withoutTracers(c, at, buf[:n])
	}
	if c.Arch.SelfRegs != 0 {
		withoutBindingCalls(c, at, buf[:n])
	}
	return n
}

func (c Code) decode(at Addr, buf []cpu.Insn) int {
	return c.Arch.Decoder.Decode(c.Img.Segments.Code(at.PC), at.PC, at.Mode, buf)
}

// Each calls visit for the instructions from a place to an address, by address, until visit returns false or an
// instruction cannot be decoded.
func Each(c Code, from Addr, end uint64, visit func(at Addr, in *cpu.Insn) bool) {
	var insns [64]cpu.Insn
	for at := from; at.PC < end; {
		n := c.Decode(at, insns[:])
		if n == 0 {
			return
		}
		for i := 0; i < n && at.PC < end; i++ {
			if !visit(at, &insns[i]) {
				return
			}
			at.PC += uint64(max(insns[i].Len, 1))
		}
	}
}

// One decodes the instruction at an address; false where none is whole.
func (c Code) One(at Addr, in *cpu.Insn) bool {
	var buf [1]cpu.Insn
	if c.Decode(at, buf[:]) == 0 {
		return false
	}
	*in = buf[0]
	return true
}

// StepAt decodes the instruction at an address into buf, with what stands in its delay slot; false where none
// is whole.
func StepAt(c Code, at Addr, buf *[2]cpu.Insn) (stepping.Step, bool) {
	return stepOf(at, buf, c.Decode(at, buf[:]))
}

// CallAt is StepAt for a place where something was called, as the code stands there: while a profiler's hook runs, its
// caller's stack is as the call left it.
func CallAt(c Code, at Addr, buf *[2]cpu.Insn) (stepping.Step, bool) {
	return stepOf(at, buf, c.decode(at, buf[:]))
}

func stepOf(at Addr, buf *[2]cpu.Insn, n int) (stepping.Step, bool) {
	if n == 0 {
		return stepping.Step{In: &buf[0], Next: at.PC}, false
	}
	return stepping.StepOf(buf[:n], at.PC), true
}

// decodeRun fills buf like Decode. From a full buffer it gives instructions back where
// the first one behind the buffer would be read differently without them.
func (c Code) decodeRun(at Addr, buf []cpu.Insn) int {
	n := c.Decode(at, buf)
	if n < len(buf) {
		return n
	}
	for i := n; i > n-6 && i > 1; i-- {
		if !c.governs(&buf[i-1], at.Mode) {
			return i
		}
	}
	return n
}

// governs tells whether how the next instruction is read may depend on this one: the
// condition of Thumb's IT block is read with the first instruction of the block, and
// behind ARM's "mov lr,pc" a jump is a call.
func (c Code) governs(in *cpu.Insn, mode cpu.Mode) bool {
	if mode == 0 {
		return in.Op == cpu.OpConst && in.Dst == c.Arch.LR
	}
	return in.Flags&cpu.FlagConditional != 0 || in.Op == cpu.OpNop
}

// SkipFiller returns the address behind the instruction at an address if that is filler
// between functions, else the address itself.
func (c Code) SkipFiller(at Addr) uint64 {
	var in cpu.Insn
	if c.One(at, &in) && in.Flags&cpu.FlagPadding != 0 {
		return at.PC + uint64(in.Len)
	}
	if c.Arch.InsnAlign == 1 {
		return c.skipZeros(at.PC)
	}
	return at.PC
}

// functionAlign is how compilers align functions where instructions have any length, in bytes.
const functionAlign = 16

// skipZeros returns the next address that functions are aligned to, if there are only zeros up
// to there, else the address itself. In libLLVM-14 zeros fill what a nop of the longest kind
// left; as instructions they would hide the first of the next function:
//
//	66 66 66 66 66 66 2e 0f 1f 84 00 00 00 00 00  nop of 15 bytes
//	00                                            37bbb8f
//	55                                            37bbb90: push %rbp
func (c Code) skipZeros(pc uint64) uint64 {
	end := pc
	for ; end%functionAlign != 0; end++ {
		if b := c.Img.Segments.Code(end); len(b) == 0 || b[0] != 0 {
			return pc
		}
	}
	return end
}

// SkipPadding returns the first address from at on that is not filler between functions.
func (c Code) SkipPadding(at Addr) uint64 {
	cur := NewCursor(c)
	return cur.SkipPadding(at)
}

// ReturnAddress is where the call at a site returns to; false where no call stands.
func (c Code) ReturnAddress(site Addr) (uint64, bool) {
	var buf [2]cpu.Insn
	call, ok := StepAt(c, site, &buf)
	if !ok || call.In.Op != cpu.OpCall {
		return 0, false
	}
	return call.Next, true
}

// InsnSize is the size of all instructions of a mode in bytes, 0 where sizes differ:
// RISC-V has compressed ones, Thumb and MIPS16e two sizes, x86 many.
func (c Code) InsnSize(mode cpu.Mode) uint64 {
	a := c.Arch
	if !a.CallPushesRA && mode == 0 && a.InsnAlignIn(mode) == 4 {
		return 4
	}
	return 0
}

// CallerSaved are the registers that a call clobbers by the ABI.
func (c Code) CallerSaved() cpu.RegSet {
	all := cpu.RegSet(1)<<len(c.Arch.Regs) - 1
	return all &^ c.Arch.Platform &^ c.Arch.Preserved.With(c.Arch.SP).With(c.Arch.Zero).With(c.Arch.PC)
}

// Text calls visit for the bytes of every executable segment.
func (c Code) Text(visit func(addr uint64, code []byte)) {
	for i := range c.Img.Segments {
		if s := &c.Img.Segments[i]; s.Exec {
			visit(s.Addr, s.Data)
		}
	}
}

// Bounds is the range of addresses that hold code, lo > hi where there is none.
func (c Code) Bounds() (lo, hi uint64) {
	lo = ^uint64(0)
	c.Text(func(addr uint64, code []byte) { lo, hi = min(lo, addr), max(hi, addr+uint64(len(code))) })
	return lo, hi
}

// scanChunk is how many bytes are searched for calls or jumps at a time, which bounds the memory
// for those found; longestCall, how many more it takes to judge one that begins there (cpu.ReadsPC).
const (
	scanChunk   = 1 << 18
	longestCall = 4 * stepping.ReadsPCSpan
)

// Finder appends what reads as direct calls, or as jumps, in the text at an address, by address.
type Finder func(text []byte, addr uint64, dst []cpu.CallRef) []cpu.CallRef

// Calls finds what reads as direct calls of code of one mode.
func (c Code) Calls(mode cpu.Mode) Finder {
	return func(text []byte, addr uint64, dst []cpu.CallRef) []cpu.CallRef {
		return c.Arch.Decoder.Calls(text, addr, mode, dst)
	}
}

// Jumps is Calls for direct jumps; nil where no pass finds those.
func (c Code) Jumps() Finder {
	if d, ok := c.Arch.Decoder.(cpu.JumpFinder); ok {
		return d.Jumps
	}
	return nil
}

// Part is a part of the text that is searched by itself, and some bytes behind, which the next part has again.
type Part struct {
	Addr   uint64
	Text   []byte
	Begins bool // an executable segment
}

// Parts are the parts of the text.
func (c Code) Parts() (parts []Part) {
	c.Text(func(addr uint64, text []byte) {
		for at := 0; at < len(text); at += scanChunk {
			parts = append(parts, Part{addr + uint64(at), text[at:min(at+scanChunk+longestCall, len(text))], at == 0})
		}
	})
	return parts
}

// EachRef calls visit for all that a finder finds in the text, until visit returns false.
func (c Code) EachRef(find Finder, visit func(r *cpu.CallRef) bool) {
	var refs []cpu.CallRef
	next := uint64(0)
	for _, p := range c.Parts() {
		if p.Begins {
			next = p.Addr
		}
		refs = find(p.Text, p.Addr, refs[:0])
		for i := range refs {
			if r := &refs[i]; r.Site >= next {
				if next = r.Site + 1; !visit(r) {
					return
				}
			}
		}
	}
}
