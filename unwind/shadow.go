package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// shadow is where a frame stands on its thread's shadow stack, which holds return addresses and nothing else. What
// overwrites the stack does not reach there: an entry is a witness for the caller, and names the caller where the
// stack is lost.
//
//	the processor's    x86 SHSTK, AArch64 GCS: each call pushes     ▲ top ─► return address of this frame
//	                   RISC-V Zicfiss: sspush ra                      top+8  that of the caller
//	a register's       ShadowCallStack: str x30,[x18],#8              top-8  return address of this frame
//	                                    addi gp,gp,8; sd ra,-8(gp)  ▼ top
//
// Which register that is, and whether a function has pushed its return address, its code says: no register is taken
// for a shadow stack's pointer otherwise.
type shadow struct {
	shadowPlace
	asked, pushed bool
	ra            uint64      // what the frame has pushed, without mode bit or signature; where pushed
	rest          shadowPlace // the caller's place; where asked
}

// shadowPlace is a place on a shadow stack.
type shadowPlace struct {
	top      uint64  // 0: none is known
	by       cpu.Reg // that functions move; NoReg: calls push
	doubtful bool    // whether a frame further in has pushed is not known
}

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
	return pc != 0 && executable(snap, pc, m)&Executable != 0
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
	case !e.pushed || c.shadow.doubtful && (c.method == MethodShadow || e.ra != c.pc):
	case e.ra == c.pc:
		c.checks |= ShadowMatches
		c.shadow.doubtful = false
	default:
		c.checks |= ShadowDiffers | Disputed
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

// tryShadow offers the caller that the shadow stack names, where the word that a rule has for the return address is another:
// it was overwritten, and with it perhaps all that lies there. The CFA is the rule's if no word was read for it.
func (f *finder) tryShadow(c candidate, m Method, rule *Rule, r *search) {
	s := r.frame
	ra, ok := s.ShadowReturn(f.verifier.graph)
	if !ok || rule.Flags&(SignalFrame|ExceptionFrame) != 0 || !isSound(m, rule) || rule.CFA.Kind != RegPlus || plainCode(s.Snapshot, c.raw) == ra {
		return
	}
	for i := range rule.N {
		switch rr := &rule.Regs[i]; rr.Kind {
		case AtCFA, AtReg, Expression:
			c.Regs.Forget(rr.Reg)
		}
	}
	c.method, c.raw, c.flags = MethodShadow, ra, 0
	f.verify(&c, nil, r)
}
