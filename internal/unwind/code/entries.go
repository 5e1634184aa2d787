package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Function entries, in order of trust. The strong ones (the image's entry point,
// symbols, table ranges, targets of direct calls) bound functions and start
// derivations. The weak ones (words of data and constants in code that look like
// code pointers) only start derivations: jump tables hold such words as well.

// key packs a code address and its mode as the CPU's code pointers do, so that a
// sorted list of keys is sorted by address. Mode 1 exists only where bit 0 of an
// address is free.
func key(addr uint64, mode cpu.Mode) uint64 { return addr | uint64(mode) }

// unkey takes a key apart.
func (an *analysis) unkey(k uint64) (uint64, cpu.Mode) {
	if an.arch.ISABit {
		return k &^ 1, cpu.Mode(k & 1)
	}
	return k, 0
}

func sortKeys(ks []uint64) []uint64 {
	slices.Sort(ks)
	return slices.Compact(ks)
}

// strongEntries builds the strong list on first use.
func (an *analysis) strongEntries() []uint64 {
	an.strongOnce.Do(func() {
		c := collector{an: an}
		switch listed := c.declared(); {
		case an.listsText(listed):
			an.listed = true
			// Compilers' tables have every function of theirs: a pass through
			// 70 MB of libLLVM finds no more.
		case an.arch.ISABit && !an.arch.ModeOnly && !an.img.OneMode:
			c.selfEntries()
			c.traverse()
		default:
			c.selfEntries()
			c.scanCalls()
			c.settleSingles()
		}
		an.strong = sortKeys(c.keys)
	})
	return an.strong
}

// isEntry tells whether a function certainly begins at addr.
func (an *analysis) isEntry(addr uint64, mode cpu.Mode) bool {
	_, ok := slices.BinarySearch(an.strongEntries(), key(addr, mode))
	return ok
}

// nextEntry is the first strong entry above addr, self left out, or the end of
// the segment.
func (an *analysis) nextEntry(addr, self uint64) uint64 {
	es := an.strongEntries()
	i, _ := slices.BinarySearch(es, addr+1)
	for ; i < len(es); i++ {
		if a, _ := an.unkey(es[i]); a != self && a > addr {
			return a
		}
	}
	if s, ok := an.img.Segment(addr); ok {
		return s.Addr + s.Size
	}
	return addr
}

// near is how many entries below a place are tried: the nearest can be a false
// one inside the function.
const near = 4

// nearPointers is the same for pointers, many of which are to labels.
const nearPointers = 24

// entriesBelow returns the nearest strong entries at or below addr, nearest first.
func (an *analysis) entriesBelow(addr uint64, mode cpu.Mode) []uint64 {
	return an.below(an.strongEntries(), addr, mode, near)
}

// pointersBelow does the same for the weak entries above the nearest strong one.
func (an *analysis) pointersBelow(addr uint64, mode cpu.Mode) []uint64 {
	return an.below(an.weakEntries(), addr, mode, nearPointers)
}

// weakEntries builds the weak list, and that of addresses taken, on first use.
func (an *analysis) weakEntries() []uint64 {
	an.weakOnce.Do(func() {
		c := collector{an: an}
		c.pointers()
		an.weak = sortKeys(c.keys)
	})
	return an.weak
}

// dataPointers are the words of data that point to code, on first use.
func (an *analysis) dataPointers() []uint64 {
	an.dataOnce.Do(func() {
		an.strongEntries() // notes literals
		an.data = sortKeys(append(an.pointerWords(false, nil), an.pointerWords(true, an.literals)...))
	})
	return an.data
}

// pointerWords are the addresses of code that data holds: those that relocations list,
// else the aligned words that look like one, of the executable segments or the others,
// literals left out.
func (an *analysis) pointerWords(exec bool, literals *marks) (keys []uint64) {
	lo, hi := an.codeBounds()
	listed := an.img.Rebased(func(v uint64) bool {
		if v-lo < hi-lo && !exec {
			keys = append(keys, v)
		}
		return !exec // else only whether they are listed counts
	})
	for i := range an.img.Segments {
		s := &an.img.Segments[i]
		if listed || s.Exec != exec {
			continue
		}
		an.words(s, func(at, v uint64) {
			if v-lo < hi-lo && !(literals != nil && exec && literals.has(at, 0)) {
				keys = append(keys, v)
			}
		})
	}
	return slices.DeleteFunc(sortKeys(keys), func(k uint64) bool { return !an.pointsToCode(k) })
}

// words calls visit for every aligned word of a segment.
func (an *analysis) words(s *image.Segment, visit func(at, v uint64)) {
	size := uint64(an.arch.AddrSize)
	for off := (-s.Addr) & (size - 1); off+size <= uint64(len(s.Data)); off += size {
		visit(s.Addr+off, bin.Uint(s.Data[off:off+size], an.arch.BigEndian))
	}
}

// codeBounds is the range of addresses that hold code.
func (an *analysis) codeBounds() (lo, hi uint64) {
	lo = ^uint64(0)
	an.text(func(addr uint64, code []byte) { lo, hi = min(lo, addr), max(hi, addr+uint64(len(code))) })
	return lo, hi
}

// pointsToCode tells whether a word of data looks like a pointer to a function.
func (an *analysis) pointsToCode(v uint64) bool {
	a, mode := an.arch.SplitCode(v)
	if a&(an.arch.InsnAlign-1) != 0 || an.img.Code(a) == nil {
		return false
	}
	if an.arch.ISABit && !an.arch.ModeOnly && mode == 0 && a&3 != 0 {
		return false
	}
	return an.plausible(a, mode)
}

// nextPointer is the first of them above addr, the highest address if there is none or
// where tables list all functions.
func (an *analysis) nextPointer(addr uint64) uint64 {
	if an.listed {
		return ^uint64(0)
	}
	es := an.dataPointers()
	i, _ := slices.BinarySearch(es, addr+2)
	if i == len(es) {
		return ^uint64(0)
	}
	a, _ := an.unkey(es[i])
	return a
}

// loaded tells whether code alone forms the address: that of a function to call (the
// choices of glibc's IFUNC resolvers), where data points at labels of gotos, too.
func (an *analysis) loaded(addr uint64, mode cpu.Mode) bool {
	if _, ok := slices.BinarySearch(an.weakEntries(), key(addr, mode)); !ok {
		return false
	}
	_, data := slices.BinarySearch(an.dataPointers(), key(addr, mode))
	return !data
}

// addressTaken tells whether data or code holds a pointer to the function.
func (an *analysis) addressTaken(addr uint64, mode cpu.Mode) bool {
	an.weakEntries()
	_, ok := slices.BinarySearch(an.taken, key(addr, mode))
	return ok
}

func (an *analysis) below(es []uint64, addr uint64, mode cpu.Mode, n int) []uint64 {
	i, found := slices.BinarySearch(es, key(addr, mode))
	if found {
		i++
	}
	var out []uint64
	for i--; i >= 0 && len(out) < n; i-- {
		if a, m := an.unkey(es[i]); m == mode {
			out = append(out, a)
		}
	}
	return out
}

// startsImage tells whether the program begins at entry: nothing called it.
func (an *analysis) startsImage(entry uint64, mode cpu.Mode) bool {
	if an.img.Entry == 0 {
		return false
	}
	a, m := an.arch.SplitCode(an.img.Entry)
	return a == entry && m == mode
}

// collector gathers entries of one image.
type collector struct {
	an     *analysis
	keys   []uint64
	added  *marks   // places in keys, made when the first is
	single []uint64 // keys of call targets that may be misread
}

func (c *collector) add(addr uint64, mode cpu.Mode) {
	if c.added == nil {
		c.added = newMarks(c.an)
	}
	if addr&(c.an.arch.InsnAlign-1) == 0 && c.added.add(addr, mode) {
		c.keys = append(c.keys, key(addr, mode))
	}
}

// declared adds what the file says: entry point, symbols, table ranges. It returns
// how many bytes the tables cover.
func (c *collector) declared() (listed uint64) {
	an := c.an
	if an.img.Entry != 0 {
		c.add(an.arch.SplitCode(an.img.Entry))
	}
	an.img.Functions(func(addr uint64, mode cpu.Mode, _ uint64) bool {
		c.add(addr, mode)
		return true
	})
	if an.src.ranges != nil {
		an.src.ranges(an.img, func(lo, hi uint64) bool {
			c.add(an.arch.SplitCode(lo))
			an.tables = true
			listed += hi - lo
			return true
		})
	}
	return listed
}

// listsText tells whether tables that cover so many bytes are those of the whole
// text: what lies between functions is padding and stubs. Old linkers put constants
// into the executable segment, so the section counts where there is one.
func (an *analysis) listsText(bytes uint64) bool {
	size := uint64(0)
	if s, ok := an.img.Section(".text"); ok {
		size = uint64(len(s.Data))
	} else {
		an.text(func(_ uint64, code []byte) { size += uint64(len(code)) })
	}
	return bytes >= size-size/8 && size > 0
}

// text calls visit for every run of executable bytes: the executable sections
// where the file has section headers, else the executable segments.
func (an *analysis) text(visit func(addr uint64, code []byte)) {
	for i := range an.img.Segments {
		if s := &an.img.Segments[i]; s.Exec {
			visit(s.Addr, s.Data)
		}
	}
}

// scanCalls adds the targets of direct calls found by one linear pass.
func (c *collector) scanCalls() {
	arch := c.an.arch
	mode := cpu.Mode(0)
	if arch.ModeOnly {
		mode = 1
	}
	const chunk = 1 << 20
	var refs []cpu.CallRef
	c.an.text(func(addr uint64, code []byte) {
		for len(code) > 0 {
			n := min(chunk, len(code))
			refs = arch.Decoder.Calls(code[:n], addr, mode, refs[:0])
			for _, r := range refs {
				c.call(r)
			}
			addr, code = addr+uint64(n), code[n:]
		}
	})
}

// call adds the target of a call that a linear pass found. Where instructions
// have any length, the pass can read a call out of the middle of others (a
// displacement that holds e8), or out of data: such targets go to c.single, unless
// they look like the beginning of a function, and count when two calls name them.
func (c *collector) call(r cpu.CallRef) {
	arch := c.an.arch
	if arch.InsnAlign > 1 || r.Target%16 == 0 && !r.Doubt || c.marked(r.Target) {
		c.add(r.Target, r.TargetMode)
		return
	}
	c.single = append(c.single, key(r.Target, r.TargetMode))
}

// marked tells whether an instruction that compilers put first in functions
// stands at addr.
func (c *collector) marked(addr uint64) bool {
	var buf [1]cpu.Insn
	return c.an.arch.Decoder.Decode(c.an.img.Code(addr), addr, 0, buf[:]) == 1 && buf[0].Flags&cpu.FlagEntry != 0
}

// settleSingles adds the targets that more than one call names, and leaves the
// others to the weak list.
func (c *collector) settleSingles() {
	slices.Sort(c.single)
	left := c.single[:0]
	for i := 0; i < len(c.single); {
		j := i + 1
		for j < len(c.single) && c.single[j] == c.single[i] {
			j++
		}
		if a, mode := c.an.unkey(c.single[i]); j > i+1 {
			c.add(a, mode)
		} else if c.an.img.Code(a) != nil {
			left = append(left, c.single[i])
		}
		i = j
	}
	c.an.singles = slices.Clone(left)
}

// maxVisited bounds a traversal's instructions.
const maxVisited = 8 << 20

// traverse adds the targets of direct calls found by following control flow from
// what is declared: on CPUs with two instruction sets a linear pass cannot know
// which one it looks at.
func (c *collector) traverse() {
	w := newTraversal(c.an)
	for _, k := range c.keys {
		a, mode := c.an.unkey(k)
		w.push(a, mode, true)
	}
	if len(c.keys) < 8 {
		w.runPointers()
	}
	w.run()
	c.keys = append(c.keys, w.calls...)
	c.an.literals = w.words
}

// pointers adds words of data, and constants in code, that point into the text.
func (c *collector) pointers() {
	w := newTraversal(c.an)
	for _, k := range c.an.strongEntries() {
		a, mode := c.an.unkey(k)
		w.push(a, mode, true)
	}
	w.runPointers()
	an := c.an
	an.taken = sortKeys(w.pointers)
	c.keys = append(c.keys, an.taken...)
	c.keys = append(c.keys, an.singles...)
	c.keys = append(c.keys, w.calls...)
	an.weak = sortKeys(slices.Clone(c.keys))
	c.keys = append(c.keys, w.tailTargets()...)
	an.crossings = w.crossings()
}
