// Package stackmap says of every word of a captured stack what it is: a return address, a
// saved register, text, a pointer and to where. People see by it how a backtrace was
// found, and what overwrote a stack.
package stackmap

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// Kind is what a word is.
type Kind string

// The kinds of words. Those from Code on are told by the value alone: a word may have been
// left there by a function that has returned long since.
const (
	Plain         Kind = ""
	ReturnAddress Kind = "return" // a frame of the backtrace was found by it
	SavedRegister Kind = "saved"  // a rule says that a register was saved here
	Overwritten   Kind = "overwritten"
	Code          Kind = "code"   // points into code
	Module        Kind = "module" // points into a binary's data
	Stack         Kind = "stack"  // points into this stack
	Memory        Kind = "memory" // points into other captured memory
	Text          Kind = "text"   // is printable
)

// Word is one word of a stack.
type Word struct {
	Addr, Value uint64 // target address, and what stands there
	Kind        Kind
	// Frame is the number of the frame that the word belongs to, -1 outside all frames.
	Frame int
	// Note says more in words, "" for nothing.
	Note string
}

// Extent is which words Of looks at: from SP to a little beyond the last known CFA, at
// most so many words as the last parameter says.
func Extent(arch *cpu.Arch, th *report.Thread, most int) target.Range {
	sp, ok := th.Regs.Lookup(arch.SP)
	sp &= arch.AddrMask() &^ uint64(arch.AddrSize-1)
	if !ok {
		return target.Range{}
	}
	end := sp
	for i := range th.Frames {
		if cfa := th.Frames[i].CFA; th.Frames[i].HasCFA && cfa > end && cfa-sp < 1<<30 {
			end = cfa
		}
	}
	const beyond = 8 // words behind the outermost frame: arguments, and why the walk ended there
	size := min((end-sp)/uint64(arch.AddrSize)+beyond, uint64(most)) * uint64(arch.AddrSize)
	return target.RangeOf(sp, size)
}

// Of maps the words of a thread's stack, from SP on, at most so many as the last parameter says;
// fewer where memory is missing.
// Return addresses and saved registers are known where th.Tried has what was tried.
func Of(snap *target.Snapshot, th *report.Thread, most int) []Word {
	snap = snap.Of(th.Thread)
	extent, size := Extent(snap.Arch, th, most), uint64(snap.Arch.AddrSize)
	known, frame := slots(th), 0
	var out []Word
	for at := range extent.Words(size) {
		v, ok := snap.Memory.Word(at)
		if !ok {
			break
		}
		for frame < th.Count() && !beyond(th, frame, at) {
			frame++
		}
		w := Word{Addr: at, Value: v, Frame: frame}
		if frame >= th.Count() {
			w.Frame = -1
		}
		if k, ok := known[at]; ok {
			w.Kind, w.Note = k.Kind, k.Note
		} else {
			w.Kind, w.Note = byValue(snap, extent, v)
		}
		out = append(out, w)
	}
	return out
}

// beyond tells whether the frame with a number ends beyond an address.
func beyond(th *report.Thread, number int, at uint64) bool {
	i, further := th.Repeats.Index(number)
	return th.Frames[i].HasCFA && th.Frames[i].CFA+further > at
}

// slots are the words that the backtrace's own rules name.
func slots(th *report.Thread) map[uint64]Word {
	out := make(map[uint64]Word)
	for i := range th.Tried {
		for k := range th.Tried[i] {
			a := &th.Tried[i][k]
			if !a.Taken || i >= len(th.Frames) || a.PC != th.Frames[i].PC {
				continue
			}
			for _, s := range a.Saved {
				out[s.Slot] = Word{Kind: SavedRegister, Note: s.Name}
			}
			if a.RASlot != 0 {
				out[a.RASlot] = Word{Kind: ReturnAddress, Note: fmt.Sprintf("#%d returns to #%d %s", th.Repeats.Number(i)-1, th.Repeats.Number(i), th.Frames[i].Function)}
			}
		}
	}
	if o := th.Overwritten; o != nil && o.Slot != 0 {
		out[o.Slot] = Word{Kind: Overwritten, Note: "was a return address " + o.Text}
	}
	return out
}

// byValue tells by its value what a word may be.
func byValue(snap *target.Snapshot, stack target.Range, v uint64) (Kind, string) {
	addr := v & snap.Arch.AddrMask()
	if s := report.WordText(snap.Arch, v); s != "" {
		return Text, fmt.Sprintf("%q", s)
	}
	if m, ok := snap.ModuleAt(addr); ok && v != 0 {
		where := fmt.Sprintf("%s+%#x", m.Base(), addr-m.Lo)
		if m.Image != nil && m.Image.Segments.Executable(m.ToImage(addr)) {
			return Code, where
		}
		return Module, where
	}
	if stack.Contains(addr) {
		return Stack, fmt.Sprintf("SP%+#x", addr-stack.Lo)
	}
	if _, ok := snap.Memory.PermAt(addr); ok && v != 0 {
		return Memory, ""
	}
	return Plain, ""
}
