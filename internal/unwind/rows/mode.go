package rows

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/stepping"
)

// moded is where a function begins or may begin, and its mode.
type moded struct {
	pc      uint64
	mode    cpu.Mode
	certain bool
}

func modedStarts(img *image.Image, code Code) (list []moded) {
	if code.Modes == nil {
		return nil
	}
	code.Modes(img, func(addr uint64, mode cpu.Mode) bool {
		list = append(list, moded{pc: addr, mode: mode})
		return true
	})
	if code.Entries == nil || len(list) == 0 {
		return list
	}
	code.Entries(img, func(addr uint64, mode cpu.Mode) bool {
		if i, found := slices.BinarySearchFunc(list, moded{pc: addr, mode: mode}, compareModed); found {
			list[i].certain = true
		}
		return true
	})
	return list
}

// believed tells whether a rule for code that no compiled row has is more than a hint. Where a
// program may have code of two modes, that of the last row is not surely the code's: glibc's
// memcpy for ARM is ARM code in a Thumb program, and read as Thumb code has some rule, too. Where
// control does not come from that row, nor from the beginning of a function of the same mode, the
// entry has to be known, or two derivations agree.
func (l *lister) believed(flags stackwalk.RuleFlags) bool {
	if len(l.moded) > 0 && !l.reached && flags&(stackwalk.FromEntry|stackwalk.Agreed) == 0 {
		return false
	}
	return flags&hints == 0
}

// enter changes the mode at an address, if the code from there on is of the other mode than the code before:
//
//   - a function certainly begins there in the other mode, and none in the same mode;
//   - or a jump leads there in the other mode;
//   - or a function may begin there in the other mode, control does not come from the code before, and only
//     the other mode has a rule. An even address of Thumb code, as tables of addresses have, is no ARM code.
//
// The ARM code of glibc's memcpy lies behind Thumb functions; the ARM part of a PLT entry lies behind
// the Thumb instructions that change the mode. memcpy has vector instructions behind a computed jump
// (add pc, pc, r3), which look like Thumb code to which some data points: where its other jumps lead
// to, the code is ARM code all the same.
func (l *lister) enter(at uint64) {
	same, other := l.beginning(at, l.mode), l.beginning(at, l.mode^1)
	mode, jumped := l.jumps[at]
	switch {
	case other != nil && other.certain && (same == nil || !same.certain):
		l.mode, l.reached = other.mode, true
	case jumped:
		l.mode, l.reached = mode, true
	case same != nil:
		l.reached = true
	case other != nil && !l.reached:
		l.tryMode(at, other.mode)
	}
}

// beginning is the function of a mode that begins at an address or may do so, nil if none.
func (l *lister) beginning(at uint64, mode cpu.Mode) *moded {
	i, found := slices.BinarySearchFunc(l.moded, moded{pc: at, mode: mode}, compareModed)
	if !found {
		return nil
	}
	return &l.moded[i]
}

// tryMode changes to another mode if an instruction has a rule in that one only.
func (l *lister) tryMode(at uint64, mode cpu.Mode) {
	before := stackwalk.Query{PC: at, Resume: at, Exact: true}
	if _, found := l.rule(before); found {
		return
	}
	was := l.mode
	l.mode = mode
	if _, l.reached = l.rule(before); !l.reached {
		l.mode = was
	}
}

// jump notes where an instruction that control comes to jumps on to, and the mode there.
func (l *lister) jump(in *cpu.Insn) {
	if in.Op == cpu.OpJump && in.Target != 0 && len(l.moded) > 0 {
		l.jumps[in.Target] = in.TargetMode
	}
}

// clamp is next, or the beginning of a function of the mode at hand, or the target of a jump,
// between at and there: data, read as code, may end within the first instruction of what follows.
func (l *lister) clamp(at, next uint64) uint64 {
	for pc := at + 1; !l.reached && pc < next; pc++ {
		if _, jumped := l.jumps[pc]; jumped {
			return pc
		}
	}
	i, _ := slices.BinarySearchFunc(l.moded, moded{pc: at + 1}, compareModed)
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

// fallsTo tells whether control goes on at an address from the last row, which ends there, and
// notes where its jumps lead to.
func (l *lister) fallsTo(addr uint64) bool {
	n := len(l.spans)
	if n == 0 || l.spans[n-1].hi != addr {
		return false
	}
	s := &l.spans[n-1]
	goesOn := true
	// A row that holds while a call is running begins behind the call's first byte.
	for at := s.lo &^ (l.img.Arch.InsnAlignIn(s.mode) - 1); at < addr; {
		var buf [2]cpu.Insn
		n := l.img.Arch.Decoder.Decode(l.img.Segments.Code(at), at, s.mode, buf[:])
		if n == 0 {
			return false
		}
		step := stepping.StepOf(buf[:n], at)
		goesOn = !step.In.Ends(l.img.Arch.PC)
		l.jump(step.In)
		at = step.Next
	}
	return goesOn
}
