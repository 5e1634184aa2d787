package rows

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind"
)

// moded is where a function begins or may begin, and its mode.
type moded struct {
	pc   uint64
	mode cpu.Mode
}

func modedStarts(img *image.Image, starts Starts) (list []moded) {
	if starts != nil {
		starts(img, func(addr uint64, mode cpu.Mode) bool {
			list = append(list, moded{addr, mode})
			return true
		})
	}
	return list
}

// believed tells whether a rule for code that no compiled row has is more than a hint. Where a
// program may have code of two modes, that of the last row is not surely the code's: glibc's
// memcpy for ARM is ARM code in a Thumb program, and read as Thumb code has some rule, too. Where
// control does not come from that row, nor from the beginning of a function of the same mode, the
// entry has to be known, or two derivations agree.
func (l *lister) believed(flags unwind.RuleFlags) bool {
	if len(l.moded) > 0 && !l.reached && flags&(unwind.FromEntry|unwind.Agreed) == 0 {
		return false
	}
	return flags&hints == 0
}

// enter notes that a function of the mode at hand begins at an address, if one does.
func (l *lister) enter(at uint64) {
	i, found := slices.BinarySearchFunc(l.moded, moded{at, l.mode}, compareModed)
	if found && l.moded[i].mode == l.mode {
		l.reached = true
	}
}

// clamp is next, or the beginning of a function of the mode at hand between at and there: data
// before a function, read as code, may end within the function's first instruction.
func (l *lister) clamp(at, next uint64) uint64 {
	i, _ := slices.BinarySearchFunc(l.moded, moded{at + 1, 0}, compareModed)
	for ; !l.reached && i < len(l.moded) && l.moded[i].pc < next; i++ {
		if l.moded[i].mode == l.mode {
			return l.moded[i].pc
		}
	}
	return next
}

func compareModed(a, b moded) int {
	return cmp.Or(cmp.Compare(a.pc, b.pc), cmp.Compare(a.mode, b.mode))
}

// fallsTo tells whether control goes on at an address from the last row, which ends there.
func (l *lister) fallsTo(addr uint64) bool {
	n := len(l.spans)
	if n == 0 || l.spans[n-1].hi != addr {
		return false
	}
	s := &l.spans[n-1]
	align := l.img.Arch.InsnAlignIn(s.mode)
	goesOn := true
	for at := (s.lo + align - 1) &^ (align - 1); at < addr; {
		var buf [2]cpu.Insn
		n := l.img.Arch.Decoder.Decode(l.img.Code(at), at, s.mode, buf[:])
		if n == 0 {
			return false
		}
		goesOn = !buf[0].Ends(l.img.Arch.PC)
		at += length(buf[:n])
	}
	return goesOn
}

// length is the size of the first of some instructions and of its delay slot.
func length(insns []cpu.Insn) uint64 {
	size := uint64(insns[0].Len)
	if insns[0].Flags&cpu.FlagDelaySlot != 0 && len(insns) > 1 {
		size += uint64(insns[1].Len)
	}
	return size
}
