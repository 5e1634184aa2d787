//go:build !small

package symbol

import (
	"debug/dwarf"
	"math"

	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/die"
)

// function is a subprogram with the calls that were inlined in it, at any of its addresses.
//
//	subprogram f ──┬─ inlined a ─── inlined b        calls:  0 a, end 2 ┐
//	               └─ inlined c                              1 b, end 2 ┘ in a
//	                                                         2 c, end 3
//
// An address is looked for in the calls, which takes a hundredth of the time of reading entries.
type function struct {
	at     dwarf.Offset
	name   string
	entry  uint64
	calls  []call // in the order of their entries: what was inlined in a call follows the call
	ranges [][2]uint64
	size   int  // of calls and ranges, in bytes
	cut    bool // calls are missing
}

// call is a call that was inlined. Its code lies within lo and hi, in ranges[first:last] of the
// function where there is more than one range.
type call struct {
	lo, hi      uint64
	first, last uint32
	end         uint32 // the index of what follows what was inlined in the call
	at          dwarf.Offset
	file, line  uint32
	known       bool // name is
	name        string
}

// What calls and ranges are charged with, in bytes of memory.
const (
	callSize  = 72
	rangeSize = 16
)

// function reads the subprogram at an offset.
func (u unitReader) function(at dwarf.Offset) *function {
	if f := u.kept().functions[at]; f != nil {
		return f
	}
	f, w := &function{at: at}, u.walker(at)
	if e := w.next(); e != nil {
		f.name = u.name(die.Entry{Entry: e})
		if r, err := u.data.Ranges(e); err == nil && len(r) > 0 {
			f.entry = entryOf(e, r)
		}
		u.readCalls(f, w)
	}
	if u.d.room(callSize+len(f.name), f.size) {
		u.kept().functions[at] = f
	}
	return f
}

// inside is an entry that readCalls is in: a call, or the function. blocks counts the lexical blocks
// around what comes next, in the entry.
type inside struct{ call, blocks int }

// readCalls reads the calls that were inlined in a function.
func (u unitReader) readCalls(f *function, w *walker) {
	o := u.outline(w)
	o.r.Seek(uint64(f.at))
	if !o.next() || !o.shape.children {
		return
	}
	open := []inside{{call: -1}}
	for len(open) > 0 && o.next() {
		open = u.readEntry(f, o, open)
	}
	for _, i := range open { // damaged: the entries do not end
		f.close(i.call)
	}
	f.cut = f.cut || w.cut
}

// readEntry reads the entry that an outline has come to, within those that are open.
func (u unitReader) readEntry(f *function, o *outline, open []inside) []inside {
	top := &open[len(open)-1]
	switch {
	case o.shape.tag == 0 && top.blocks > 0:
		top.blocks--
	case o.shape.tag == 0:
		f.close(top.call)
		return open[:len(open)-1]
	case o.shape.tag == dwarf.TagLexDwarfBlock && o.shape.children:
		top.blocks++
	case o.shape.tag == dwarf.TagLexDwarfBlock:
	case o.shape.tag != dwarf.TagInlinedSubroutine || !o.shape.placed || !u.addCall(f, o.w, o.at):
		o.skipChildren()
	case o.shape.children && len(open) <= maxInlined:
		return append(open, inside{call: len(f.calls) - 1})
	default:
		o.skipChildren()
	}
	return open
}

// close ends a call, unless it is none: -1.
func (f *function) close(call int) {
	if call >= 0 {
		f.calls[call].end = uint32(len(f.calls))
	}
}

// addCall adds the call at an offset, and tells whether it has code.
func (u unitReader) addCall(f *function, w *walker, at dwarf.Offset) bool {
	w.Seek(at)
	e, err := w.Next()
	if err != nil || e == nil || f.cut {
		return false
	}
	ranges, err := u.data.Ranges(e)
	if err != nil || len(ranges) == 0 || !w.draw(len(ranges), at) {
		return false
	}
	size := callSize + rangeSize*len(ranges)
	if !u.d.room(size, f.size) {
		u.d.leaveOut(".debug_info", uint64(at), u.d.tables.Err())
		f.cut = true
		return false
	}
	f.size += size
	file, _ := e.Val(dwarf.AttrCallFile).(int64)
	line, _ := e.Val(dwarf.AttrCallLine).(int64)
	f.add(call{at: at, file: clip(file), line: clip(line)}, ranges)
	return true
}

// add adds a call with code.
func (f *function) add(c call, ranges [][2]uint64) {
	c.lo, c.end = math.MaxUint64, uint32(len(f.calls)+1)
	for _, r := range ranges {
		c.lo, c.hi = min(c.lo, r[0]), max(c.hi, r[1])
	}
	if len(ranges) > 1 {
		c.first = uint32(len(f.ranges))
		f.ranges = append(f.ranges, ranges...)
		c.last = uint32(len(f.ranges))
	}
	f.calls = append(f.calls, c)
}

// clip is a number of a file or a line in 32 bits, which no compiler's exceeds.
func clip(n int64) uint32 { return uint32(max(0, min(n, math.MaxUint32))) }

// covers tells whether an address is in the code of a call.
func (f *function) covers(c *call, addr uint64) bool {
	if addr < c.lo || addr >= c.hi || c.last == 0 {
		return addr >= c.lo && addr < c.hi
	}
	for _, r := range f.ranges[c.first:c.last] {
		if r[0] <= addr && addr < r[1] {
			return true
		}
	}
	return false
}

// maxInlined bounds the calls that are inlined in one another at an address. Rust's
// iterators and C++'s templates nest some fifty.
const maxInlined = 256

var errInlined = &budget.Exceeded{Unit: "calls inlined in one another", Limit: maxInlined}

// callsPerStep is how many calls are looked at in the time that it takes to read an entry.
const callsPerStep = 64

// callsAt finds the calls that were inlined at an address, outermost first; they are valid until the
// next call of this. cut: the innermost are missing.
func (u unitReader) callsAt(f *function, addr uint64) (path []*call, cut bool) {
	path, seen := u.d.path[:0], 0
	for i, end := 0, len(f.calls); i < end && len(path) < maxInlined; seen++ {
		if c := &f.calls[i]; f.covers(c, addr) {
			path = append(path, c)
			i, end = i+1, int(c.end)
		} else {
			i = int(c.end)
		}
	}
	u.d.path = path
	switch {
	case len(path) == maxInlined:
		u.d.leaveOut(".debug_info", uint64(path[maxInlined-1].at), errInlined)
	case !u.d.work.Draw(seen / callsPerStep):
		u.d.leaveOut(".debug_info", uint64(f.at), u.d.work.Err())
	default:
		return path, f.cut
	}
	return path, true
}

// called is the name of the function that a call calls.
func (u unitReader) called(c *call) string {
	if c.known {
		return c.name
	}
	r := u.data.Reader()
	r.Seek(c.at)
	if e, err := r.Next(); err == nil && e != nil {
		c.name = u.instance(die.Entry{Entry: e})
	}
	c.known = true
	return c.name
}

// instance is the name of what an entry is an instance of: of many, there is one name.
func (u unitReader) instance(e die.Entry) string {
	at, ok := e.Origin()
	if !ok || e.AttrField(dwarf.AttrName) != nil || e.AttrField(dwarf.AttrLinkageName) != nil || e.AttrField(attrMIPSLinkageName) != nil {
		return u.d.names.readable(u.name(e))
	}
	if name, known := u.kept().names[at]; known {
		return name
	}
	name := u.d.names.readable(u.name(e))
	if u.d.room(callSize+len(name), 0) {
		u.kept().names[at] = name
	}
	return name
}
