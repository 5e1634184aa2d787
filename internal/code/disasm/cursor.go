package disasm

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
)

// window is how many instructions a cursor decodes at a time: as many as lie between
// two transfers for the most part, so that few are decoded in vain.
const window = 16

// sought is how many instructions a cursor decodes first at a place that it was sent to: the
// code there may be a few instructions up to a jump.
const sought = window / 2

// Cursor reads the instructions of an image one after another, with their delay slots.
// What was decoded is kept, so that going back a few instructions costs nothing.
type Cursor struct {
	code Code
	mode cpu.Mode
	skip stepping.Skipper // the decoder, nil where it is none
	text []byte           // that Skip reads, from the address lo on
	lo   uint64
	base uint64 // the address of buf[0]
	size int    // so many instructions are decoded at a time
	i, n int    // buf[:n] is decoded, buf[i] comes next
	buf  [window]cpu.Insn
}

// NewCursor returns a cursor that stands nowhere: Seek comes first.
func NewCursor(c Code) Cursor {
	skip, _ := c.Arch.Decoder.(stepping.Skipper)
	return Cursor{code: c, skip: skip, size: sought}
}

// Seek goes to a place.
func (c *Cursor) Seek(at Addr) {
	pc := c.base
	for c.i = 0; c.i < c.n && pc < at.PC; c.i++ {
		pc += uint64(c.buf[c.i].Len)
	}
	if pc != at.PC || c.mode != at.Mode || c.i > 0 && c.code.governs(&c.buf[c.i-1], c.mode) {
		c.i, c.n, c.size = 0, 0, sought
	}
	c.mode = at.Mode
}

// Next is the instruction at pc, where the cursor stands, and goes behind it; nil where
// no instruction is whole. The instruction may move at the next call.
func (c *Cursor) Next(pc uint64) *cpu.Insn {
	if c.i == c.n {
		return c.fetch(pc)
	}
	c.i++
	return &c.buf[c.i-1]
}

func (c *Cursor) fetch(pc uint64) *cpu.Insn {
	c.i, c.n, c.base = 0, c.code.decodeRun(Addr{pc, c.mode}, c.buf[:c.size]), pc
	c.size = window
	if c.n == 0 {
		return nil
	}
	c.i = 1
	return &c.buf[0]
}

// Skip goes behind the idle instructions at pc, where the cursor stands, as far as they begin within limit and
// stepping.SkipSpan bytes. They take n bytes, and starts has a bit for each of these where one begins. in is the
// instruction behind them, as from Next; nil where they go on, or, with n 0, where no instruction is whole.
func (c *Cursor) Skip(pc uint64, limit uint32, w *stepping.Watch) (starts uint64, n uint32, in *cpu.Insn) {
	if c.skip != nil {
		if pc-c.lo >= uint64(len(c.text)) {
			c.text, c.lo = c.code.Img.Segments.Code(pc), pc
		}
		starts, n := c.skip.Skip(c.text[pc-c.lo:], uint(limit), pc, w, &c.buf[0])
		if c.i, c.n = 0, 0; c.buf[0].Len != 0 {
			return starts, uint32(n), &c.buf[0]
		}
		if n > 0 {
			return starts, uint32(n), nil
		}
	}
	for limit = min(limit, stepping.SkipSpan); n < limit; n += uint32(in.Len) {
		if in = c.Next(pc + uint64(n)); in == nil || !w.Idle(in) {
			return starts, n, in
		}
		starts |= 1 << n
	}
	return starts, n, nil
}

// maxPadding bounds the instructions of filler that are skipped at a time. Linkers align functions to at most a few
// hundred bytes.
const maxPadding = 512

// SkipPadding goes to the first address from a place on that is not filler between functions.
func (c *Cursor) SkipPadding(at Addr) uint64 {
	if c.Seek(at); c.skip != nil {
		c.size = 1 // nobody asks for those behind: they are skipped
	}
	for range maxPadding {
		in := c.Next(at.PC)
		if in == nil || in.Flags&cpu.FlagPadding == 0 {
			break
		}
		at.PC += uint64(in.Len)
	}
	return at.PC
}

// Step is the step of the instruction at pc, which Next gave last: with what stands in its delay slot,
// behind which the cursor goes.
func (c *Cursor) Step(in *cpu.Insn, pc uint64) stepping.Step {
	if in.Flags&cpu.FlagDelaySlot != 0 {
		return c.stepWithSlot(pc)
	}
	return stepping.Step{In: in, Next: pc + uint64(in.Len)}
}

func (c *Cursor) stepWithSlot(pc uint64) stepping.Step {
	if c.i == c.n {
		c.fetch(pc)
	}
	step := stepping.StepOf(c.buf[c.i-1:c.n], pc)
	if step.Slot != nil {
		c.i++
	}
	return step
}

// Ahead are the instruction at pc, which Next gave last, and those behind it. There are at least half as many
// as a cursor decodes at a time, unless the code ends. Within an IT block, which is read as a whole, there
// are only those that were read. The instruction at pc may move; Next goes on behind it.
func (c *Cursor) Ahead(pc uint64) []cpu.Insn {
	if c.n-c.i < window/2 && c.i > 1 && !c.code.governs(&c.buf[c.i-2], c.mode) {
		c.fetch(pc)
	}
	return c.buf[c.i-1 : c.n]
}

// Last is the instruction that Next gave last.
func (c *Cursor) Last() *cpu.Insn { return &c.buf[c.i-1] }
