package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
)

// maxVeneer is the size of a veneer that changes the mode, in bytes.
const maxVeneer = 16

// fromCold derives rules for code that the compiler moved away from its function (.text.unlikely):
// a jump in the function, perhaps megabytes away, leads there. Such a jump keeps the mode, except
// into a linker's veneer, which Thumb code jumps to and which goes on in A32: bx pc; nop; ldr ip,[pc]; …
// No other function begins between where a jump leads and the point. The nearest such place is returned,
// 0 if there is none.
func (s *search) fromCold(entries []uint64) (part uint64) {
	jumps := s.prog.Entries.FarJumpsBelow(s.at.Site)
	for _, j := range jumps {
		if len(entries) > 0 && j.Target < entries[0] {
			break
		}
		if j.TargetMode != s.at.Mode && s.at.Site-j.Target > maxVeneer {
			continue
		}
		s.fromJump(j, j.Target == jumps[0].Target)
		if flowsThrough(s.tried, disasm.Addr{PC: j.Site, Mode: j.TargetMode}) {
			part = max(part, j.Target)
		}
		if s.sound() {
			break
		}
	}
	return part
}

// fromJump derives rules from the function that a jump stands in. GCC leaves the first two
// instructions of a landing pad in the function (mov %rax,%rbx; jmp f.cold) and puts the rest of
// the pad into the cold part, so that only the runtime comes to the jump. Looking for such pads
// walks through many functions, and is done for the nearest jumps only.
func (s *search) fromJump(j cpu.CallRef, nearest bool) {
	site := disasm.Addr{PC: j.Site, Mode: j.TargetMode}
	entries := s.prog.Entries.Below(site)
	for _, e := range entries {
		at := disasm.Addr{PC: e, Mode: site.Mode}
		if s.from(at, fromCold) {
			return
		}
		if comesTo(s.tried, at, site.PC) { // a jump in plain flow
			if nearest && e == entries[0] {
				s.fromColdLandingPads(at, disasm.Addr{PC: j.Target, Mode: j.TargetMode})
			}
			return
		}
	}
	if nearest && len(entries) > 0 {
		s.fromGaps(entries[0], 0, site.PC)
	}
}

// fromPointedCold is fromCold for the nearest place alone, and for functions that only data or code points to, of which there
// are many. So libgfortran's matmul functions go to their cold parts when an argument has no memory.
func (s *search) fromPointedCold(entries []uint64) {
	jumps := s.prog.Entries.FarJumpsBelow(s.at.Site)
	for _, j := range jumps {
		if j.Target != jumps[0].Target || j.TargetMode != s.at.Mode || len(entries) > 0 && j.Target < entries[0] {
			return
		}
		for _, e := range s.prog.Entries.CandidatesBelow(disasm.Addr{PC: j.Site, Mode: j.TargetMode}) {
			if s.from(disasm.Addr{PC: e, Mode: j.TargetMode}, fromCold) && s.sound() {
				return
			}
		}
	}
}

// flowsThrough tells whether a function that was tried has a place in its flow: what reads as a jump may
// be data, or an instruction of the other mode. In Debian's busybox for armel, two A32 instructions of
// the unwinder read as a Thumb jump into the middle of another function's landing pad.
func flowsThrough(tried []attempt, at disasm.Addr) bool {
	return slices.ContainsFunc(tried, func(a attempt) bool { return a.fn.Complete && dataflow.RunsAt(a.fn, at) })
}

// comesTo tells whether control comes from an entry to an address; true as well for an entry that
// was not tried, of which nothing is known.
func comesTo(tried []attempt, entry disasm.Addr, pc uint64) bool {
	i := slices.IndexFunc(tried, func(a attempt) bool { return a.fn.Entry == entry })
	return i < 0 || tried[i].fn.Contains(pc)
}
