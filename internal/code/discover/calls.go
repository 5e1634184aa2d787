package discover

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stepping"
)

// calls are what reads as direct calls; which of them are calls is looked at page by page.
type calls struct {
	*refs
	code disasm.Code
	mode cpu.Mode
}

func findCalls(code disasm.Code) *calls {
	c := &calls{code: code}
	if code.Arch.ModeOnly {
		c.mode = 1
	}
	c.refs = findRefs(code, code.Calls(c.mode))
	return c
}

// look is what calls are looked at closely with, by one goroutine.
type look struct {
	steps disasm.CallSteps
	insns [atOnce + 1]cpu.Insn // the last one may be in a delay slot
}

// atOnce is how many instructions around a call are decoded at a time.
const atOnce = 8

func newLook(c *calls) *look { return &look{steps: disasm.NewCallSteps(c.code, c.mode)} }

// named is what calls tell of the places of a page.
type named struct {
	entry pageSet // a function certainly begins there
	once  pageSet // a call that may come of a misread byte names the place
	twice pageSet // two of them do
}

// entries are the places of a page where functions certainly begin: those that are known
// beforehand and targets of direct calls; and single, what may come of a misread byte.
//
// Where instructions have any length, what reads as a call can lie inside of others (a
// displacement that holds e8), or be data. Of the calls that name a place the first are
// looked at closely, until the place is known. A call in step with the code before counts
//
//   - if an instruction stands at its target that compilers put first in functions (endbr64),
//   - if the target is aligned as functions are, and the call stands far from data,
//   - or if another call has named the target before.
//
// Where instructions have one size all are in step, and what reads as a call may only be data.
func (c *calls) entries(i int, known keys, l *look) (found, single keys) {
	var places named
	start := c.pages.start(i)
	for _, key := range known.from(start) {
		if key-start >= pageSize {
			break
		}
		places.entry.add(key - start)
	}
	for r := range c.to(i) {
		if !places.entry.has(r.to - start) {
			c.name(&places, r.to-start, r, l)
		}
	}
	return places.entry.keys(start, &pageSet{}), places.once.keys(start, &places.twice)
}

// name adds what another call tells of a place.
func (c *calls) name(places *named, off uint64, r jump, l *look) {
	call, sound := c.tells(r, l)
	switch {
	case !call:
	case sound:
		places.entry.add(off)
	case places.once.has(off):
		places.twice.add(off)
		places.entry.add(off)
	default:
		places.once.add(off)
	}
}

// tells whether what reads as a call is one in step with the code before, and whether that
// call alone makes its target a function.
func (c *calls) tells(r jump, l *look) (call, sound bool) {
	if c.code.Arch.InsnAlign > 1 {
		return true, c.sound(r, l)
	}
	if disasm.WithinThunk(c.code, r.from, c.code.Addr(r.to)) {
		return false, false
	}
	call, clean := l.steps.At(r.from)
	return call, call && (clean && r.to%functionAlign == 0 || marked(c.code, r.to))
}

// aroundCall is how many instructions on each side of a call are looked at.
const aroundCall = 16

// sound tells whether a call makes its target a function where instructions have one size: unless
// the code in front leads into the target, and what stands around the call is not all code. The words
// 00000000 0c050000 00000000 in the tables of Debian's python3 for mips64el read as jal 0x120140000,
// which lies in a prologue; words before them read as jumps in the delay slots of jumps.
func (c *calls) sound(r jump, l *look) bool {
	return !leadsInto(c.code, c.code.Addr(r.to), l.insns[:2]) || l.allCode(c.code, disasm.Addr{PC: r.from, Mode: c.mode})
}

// leadsInto tells whether the code in front of a place leads into the place; false where
// instructions differ in size. before is room for two instructions.
func leadsInto(code disasm.Code, at disasm.Addr, before []cpu.Insn) bool {
	size := code.InsnSize(at.Mode)
	if size == 0 || code.Decode(disasm.Addr{PC: at.PC - 2*size, Mode: at.Mode}, before) < len(before) {
		return false
	}
	in := stepping.Deciding(before)
	return !in.Ends(code.Arch.PC) && in.Flags&cpu.FlagPadding == 0
}

// allCode tells whether everything around a place can be code: no undefined instruction, and no
// transfer in the delay slot of another one. What is none shows soon, mostly.
func (l *look) allCode(code disasm.Code, at disasm.Addr) bool {
	size := code.InsnSize(at.Mode)
	from := at.PC - uint64(len(code.Img.Segments.Before(at.PC, aroundCall*int(size))))&^(size-1)
	for left := 2*aroundCall + 1; left > 0; left -= atOnce {
		list := l.insns[:min(left, len(l.insns))]
		list = list[:code.Decode(disasm.Addr{PC: from, Mode: at.Mode}, list)]
		for i := range list[:min(atOnce, len(list))] {
			step := stepping.StepOf(list[i:], at.PC)
			if step.In.Op == cpu.OpUnknown || step.Slot != nil && disasm.Transfers(step.Slot, code.Arch) {
				return false
			}
		}
		if len(list) < atOnce {
			break
		}
		from += atOnce * size
	}
	return true
}

// places are the certain entries, those that are known beforehand among them.
func (c *calls) places(known keys) *places {
	index := func(key uint64) int { i, _ := c.pages.index(key); return i }
	return newPlaces(c.code, c.pages.n, index, func(i int) keys {
		found, _ := c.entries(i, known, newLook(c))
		return found
	})
}

// someSingle, and one for each 64 bytes of code, is how many places that one call each
// names are worth to be kept: more are no functions.
const someSingle = 1 << 12

// functionAlign is how GCC and clang align functions on x86, in bytes.
const functionAlign = 16

// marked tells whether an instruction that compilers put first in functions stands at pc.
func marked(code disasm.Code, pc uint64) bool {
	var in cpu.Insn
	return code.One(disasm.Addr{PC: pc}, &in) && in.Flags&cpu.FlagEntry != 0
}

// maxReturns bounds the calls of one function whose return addresses are worth trying.
const maxReturns = 8

// ReturnsCost is what ReturnsOf costs the first time, in instructions that an analysis
// executes meanwhile: a pass through the text.
func (e *Entries) ReturnsCost() int { return textSize(e.code) / 64 }

// ReturnsOf are the addresses that the direct calls of the function at entry return to;
// none where there are more than 8.
func (e *Entries) ReturnsOf(entry disasm.Addr) []uint64 {
	return e.returns.Get(entry, func() []uint64 { return returnsOf(e.code, entry) })
}

func returnsOf(code disasm.Code, entry disasm.Addr) (returns []uint64) {
	steps := disasm.NewCallSteps(code, entry.Mode)
	code.EachRef(code.Calls(entry.Mode), func(r *cpu.CallRef) bool {
		if r.Target != entry.PC || r.TargetMode != entry.Mode {
			return true
		}
		if call, _ := steps.At(r.Site); call {
			if pc, ok := code.ReturnAddress(disasm.Addr{PC: r.Site, Mode: entry.Mode}); ok {
				returns = append(returns, pc)
			}
		}
		return len(returns) <= maxReturns
	})
	if len(returns) > maxReturns {
		return nil
	}
	return returns
}
