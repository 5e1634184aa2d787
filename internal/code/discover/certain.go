package discover

import (
	"slices"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// certain are the certain entries of an image, and what was learned on the way to them.
type certain struct {
	entries *places
	// handedOn are the functions whose addresses the program's start hands on: main.
	handedOn keys
	// known are the entries that need no look at calls, and calls the rest: nil where none are.
	known  keys
	calls  *calls
	tables bool // unwind tables list functions
	all    bool // and all of them
	// gaps are, in order, what lies between the functions that tables list.
	gaps []span
	// gp is what the registers of Arch.Globals hold, where that is known.
	gp constants
	// literals are the words of the text that code is known to read relative to the
	// PC, nil where none are.
	literals *disasm.Set
}

// findListed finds the certain entries that the file declares.
func findListed(code disasm.Code, tables *Tables) *certain {
	c, found := collector{code: code}, &certain{handedOn: handedOn(code)}
	linked := c.linked()
	c.declared(linked == 0)
	for _, key := range found.handedOn {
		c.add(code.Addr(key))
	}
	c.arrays()
	declared := len(c.keys)
	covered, gaps := c.listed(tables)
	found.tables, found.gaps = gaps != nil || linked > 0, gaps
	found.all = listsText(code, max(covered, linked))
	found.known = merged(c.keys, declared)
	found.entries = allOf(code, found.known)
	return found
}

// findUndeclared adds the entries that nothing in the file declares.
func findUndeclared(code disasm.Code, listed *certain) *certain {
	c, found := collector{code: code, keys: slices.Clone(listed.known)}, *listed
	found.all = false
	c.undeclared(&found)
	found.known = sorted(c.keys)
	if found.entries = allOf(code, found.known); found.calls != nil {
		found.entries = found.calls.places(found.known)
	}
	return &found
}

// lists tells whether tables list the function of a place, if it is of one.
func (c *certain) lists(pc uint64) bool {
	i := sort.Search(len(c.gaps), func(i int) bool { return c.gaps[i].hi > pc })
	return c.all && (i == len(c.gaps) || pc < c.gaps[i].lo)
}

// undeclared finds the entries that nothing in the file declares.
func (c *collector) undeclared(found *certain) {
	found.gp = c.gpPrologues()
	if !twoSets(c.code) {
		found.calls = findCalls(c.code)
		return
	}
	if c.code.Arch.SelfRegs != 0 {
		c.gpPrologues16()
	}
	found.literals = c.descend(&found.gp)
}

// twoSets tells whether code of an image may be of two instruction sets.
func twoSets(code disasm.Code) bool {
	return code.Arch.ISABit && !code.Arch.ModeOnly && !code.Img.OneMode
}

// whole are all certain entries, and single, what calls name that may come of a misread byte.
func (c *certain) whole() (entries, single keys) {
	if c.calls == nil {
		return c.known, nil
	}
	l := newLook(c.calls)
	if c.calls.code.Arch.InsnAlign == 1 {
		l.steps.Keep()
	}
	return c.onPages(0, c.calls.pages.n, l)
}

// between is whole for the pages of a range.
func (c *certain) between(in span) (entries, single keys) {
	if c.calls == nil {
		return c.entries.between(in), nil
	}
	first, _ := c.calls.pages.index(in.lo)
	last, _ := c.calls.pages.index(in.hi)
	return c.onPages(first, last, newLook(c.calls))
}

func (c *certain) onPages(first, last int, l *look) (entries, single keys) {
	if first >= last {
		return nil, nil
	}
	lo, hi := c.calls.pages.start(first), c.calls.pages.start(last)
	most := int(c.calls.first[last]-c.calls.first[first]) + len(c.known.from(lo)) - len(c.known.from(hi))
	entries = make(keys, 0, most)
	for i := first; i < last; i++ {
		page, one := c.calls.entries(i, c.known, l)
		entries, single = append(entries, page...), append(single, one...)
	}
	if len(single) > someSingle+(last-first)*pageSize/64 {
		single = nil
	}
	if len(entries) < most/2 { // hostile: most of what reads as calls is none
		entries = slices.Clone(entries)
	}
	return entries, single
}

// collector gathers entries.
type collector struct {
	code disasm.Code
	keys []uint64 // of the places found, in the order in which they were
}

func (c *collector) add(at disasm.Addr) {
	if at.PC&(c.code.Arch.InsnAlign-1) == 0 && c.code.Has(at.PC) {
		c.keys = append(c.keys, at.Key())
	}
}

// addPointer adds what a code pointer points to.
func (c *collector) addPointer(p uint64) {
	pc, mode := c.code.Arch.SplitCode(p)
	c.add(disasm.Addr{PC: pc, Mode: mode})
}

// declared adds the image's entry point and, unless they are known already, its symbols of
// functions.
func (c *collector) declared(symbols bool) {
	img := c.code.Img
	if img.Entry != 0 {
		c.addPointer(img.Entry)
	}
	if !symbols {
		return
	}
	lo, hi := ^uint64(0), uint64(0) // where there is code: of a binary that is not at hand a minidump has some bytes
	for i := range img.Segments {
		if s := &img.Segments[i]; s.Exec && len(s.Data) > 0 {
			lo, hi = min(lo, s.Addr), max(hi, s.Addr+uint64(len(s.Data)))
		}
	}
	img.Symbols.Functions(func(pc uint64, mode cpu.Mode, _ uint64) bool {
		if pc-lo < hi-lo {
			c.add(disasm.Addr{PC: pc, Mode: mode})
		}
		return true
	})
}

// linked adds the functions that the linker listed and returns how many bytes lie behind the
// first of them: the linker lists all.
func (c *collector) linked() (covered uint64) {
	c.code.Img.Symbols.FunctionStarts(func(pc uint64, mode cpu.Mode) bool {
		if s, ok := c.code.Img.Segments.At(pc); ok && covered == 0 {
			covered = s.Addr + s.Size - pc
		}
		c.add(disasm.Addr{PC: pc, Mode: mode})
		return true
	})
	return covered
}

// leastGap is how many bytes between the functions of tables may be one that they lack. Up to 15
// are padding.
const leastGap = 16

// listed adds the functions that unwind tables list, and returns how many bytes the tables cover and
// what lies between; no gaps where there are no such functions. Tables name no instruction set: GAS leaves it out of the
// addresses in .debug_frame, so that a symbol at a place tells more.
func (c *collector) listed(tables *Tables) (covered uint64, gaps []span) {
	if tables == nil {
		return 0, nil
	}
	var all []span
	known := c.thumb()
	tables.Functions(c.code.Img, func(lo, hi uint64) bool {
		pc, _ := c.code.Arch.SplitCode(lo)
		if lo != pc || !known[pc] {
			c.addPointer(lo)
		}
		all = append(all, span{pc, hi})
		return true
	})
	sort.Slice(all, func(i, j int) bool { return all[i].lo < all[j].lo })
	end := uint64(0)
	for _, s := range all {
		covered += s.hi - s.lo
		if s.lo >= end+leastGap {
			gaps = append(gaps, span{end, s.lo})
		}
		end = max(end, s.hi)
	}
	if all != nil {
		gaps = append(gaps, span{end, ^uint64(0)})
	}
	return covered, gaps
}

// thumb are the places so far whose instruction set is the second one, where an image may have two.
func (c *collector) thumb() map[uint64]bool {
	places := map[uint64]bool{}
	if twoSets(c.code) {
		for _, key := range c.keys {
			if at := c.code.Addr(key); at.Mode != 0 {
				places[at.PC] = true
			}
		}
	}
	return places
}

// listsText tells whether tables that cover so many bytes list the whole text: what
// lies between functions is padding and stubs, an eighth at most. Old linkers put
// constants into the executable segment, so the section .text counts where there is one.
func listsText(code disasm.Code, covered uint64) bool {
	size := uint64(0)
	if text, ok := code.Img.Sections.Named(".text"); ok {
		size = uint64(len(text.Data))
	} else {
		code.Text(func(_ uint64, text []byte) { size += uint64(len(text)) })
	}
	return covered >= size-size/8 && size > 0
}

// fewDeclared is how many declared entries are too few to start from: a program without
// symbols declares its entry point and hardly more.
const fewDeclared = 8

// descend adds the targets of direct calls that recursive descent finds from the entries
// so far, and returns the literals that the descent met. On CPUs with two instruction
// sets a linear pass cannot know which of them a byte is of.
func (c *collector) descend(gp *constants) *disasm.Set {
	s := newSweep(c.code, gp, nil, everywhere)
	if len(sorted(slices.Clone(c.keys))) < fewDeclared {
		s.fromPointers(c.keys)
	} else {
		s.from(c.keys)
	}
	for _, key := range s.calls.Keys() {
		c.add(c.code.Addr(key))
	}
	return s.literals
}
