package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// findShadow sets the frame's place on the shadow stack by the thread's registers. A register counts where a word
// beside the place that it points to leads to code.
func (s *State) findShadow() {
	s.shadow = shadow{shadowPlace: s.shadowBy(s.Regs)}
	if top := s.Thread.Shadow; top != 0 {
		s.shadow.shadowPlace = shadowPlace{top: top, by: cpu.NoReg}
	}
}

// shadowBy is the place on a shadow stack that functions push to, by a set of registers: the last that
// will do, which is the processor's own pointer if known.
func (s *State) shadowBy(regs *cpu.Registers) (place shadowPlace) {
	arch := s.Snapshot.Arch
	word := uint64(arch.AddrSize)
	for set := arch.Platform & regs.Known; set != 0; set = set.Without(set.First()) {
		top := regs.Val[set.First()]
		for _, at := range [...]uint64{top - word, top} {
			if ra, ok := s.Snapshot.Memory.Uint(at, int(word)); ok && top%word == 0 && leadsToCode(s.Snapshot, ra) {
				place = shadowPlace{top: top, by: set.First()}
			}
		}
	}
	return place
}

func leadsToCode(snap *target.Snapshot, ra uint64) bool {
	pc := plainCode(snap, ra)
	m, _ := snap.ModuleAt(pc)
	return pc != 0 && executable(snap, pc, m)&unwind.Executable != 0
}

// plainCode is the address in a code pointer.
func plainCode(snap *target.Snapshot, p uint64) uint64 {
	pc, _ := snap.Arch.SplitCode(p)
	if snap.CodeMask != 0 {
		pc = target.Unsigned(pc, snap.CodeMask)
	}
	return pc
}

// ShadowReturn is where the frame returns to by its thread's shadow stack; ok is false where none is known, or where the
// frame's function has not pushed that.
func (s *State) ShadowReturn(graph CallGraph) (ra uint64, ok bool) {
	e := s.askShadow(graph)
	return e.ra, e.pushed
}

// askShadow looks the frame's entry up, once.
func (s *State) askShadow(graph CallGraph) *shadow {
	e := &s.shadow
	if e.asked || e.top == 0 {
		return e
	}
	word := int64(s.Snapshot.Arch.AddrSize)
	moved, told := -word, true
	if e.by != cpu.NoReg {
		moved, told = 0, false
		if graph != nil {
			moved, told = graph.Shadows(s.Module, s.PC, s.Mode, s.Exact, e.by)
		}
	}
	e.asked = true
	e.rest = shadowPlace{top: e.top - uint64(moved), by: e.by, doubtful: e.doubtful || !told}
	if !told || moved == 0 {
		return e
	}
	ra, ok := s.Snapshot.Memory.Uint(min(e.top, e.rest.top), int(word))
	if !ok {
		e.rest = shadowPlace{}
		return e
	}
	e.ra, e.pushed = plainCode(s.Snapshot, ra), true
	return e
}

// compareShadow notes what the shadow stack says of c, the caller of s, and where c stands on it.
func (v *verifier) compareShadow(s *State, c *candidate) {
	if c.Exact {
		c.shadow = s.interruptedShadow(&c.Regs)
		return
	}
	e := s.askShadow(v.graph)
	c.shadow = e.rest
	switch {
	case !e.pushed || c.shadow.doubtful && (c.method == unwind.MethodShadow || e.ra != c.pc):
	case e.ra == c.pc:
		c.checks |= unwind.ShadowMatches
		c.shadow.doubtful = false
	default:
		c.checks |= unwind.ShadowDiffers | unwind.Disputed
	}
}

// interruptedShadow is the place of an interrupted frame, whose registers are known. Linux pushes a word before the handler is
// called: the pointer as it was, on x86 with bit 63 (arch/x86/kernel/shstk.c, shstk_push_sigframe), on AArch64 the word's own
// page (GCS_SIGNAL_CAP).
func (s *State) interruptedShadow(regs *cpu.Registers) shadowPlace {
	old := s.shadow.shadowPlace
	switch {
	case old.top == 0:
		return s.shadowBy(regs)
	case old.by != cpu.NoReg:
		top, ok := regs.Lookup(old.by)
		if !ok {
			return shadowPlace{}
		}
		old.top = top
		return old
	}
	word := uint64(s.Snapshot.Arch.AddrSize)
	token, ok := s.Snapshot.Memory.Uint(old.top, int(word))
	const bit63, page = 1 << 63, 1<<12 - 1
	if !ok || token&^bit63 != old.top+word && token != old.top&^page {
		return shadowPlace{}
	}
	old.top += word
	return old
}
