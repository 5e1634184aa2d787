package stackwalk

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/unwind"
)

// startRules asks for the rule of a function's first instruction, where a table states
// which that is.
type startRules struct {
	lists   *sourceLists
	scratch *ruleScratch
}

// ruleScratch is space for a question and its answer.
type ruleScratch struct {
	query Query
	rule  Rule
}

// space is the scratch space, made when it is first needed.
func (a *startRules) space() *ruleScratch {
	if a.scratch == nil {
		a.scratch = new(ruleScratch)
	}
	return a.scratch
}

// of is the rule that the source which found c has for the start of the function that s
// runs in; nil where the source states none.
func (a *startRules) of(s *State, c *candidate) *Rule {
	if c.flags&StartStated == 0 {
		return nil
	}
	r := a.asOf(s, c, c.start)
	if r == nil || r.Flags&Fallback != 0 {
		return nil // none, or one that holds where the function calls others (compact unwind)
	}
	return r
}

// asOf is the rule that a source of the kind which found c has for an image address in s's module; nil where there is none.
func (a *startRules) asOf(s *State, c *candidate, pc uint64) *Rule {
	q, ok := queryOf(s)
	if !ok {
		return nil
	}
	q.PC, q.Resume, q.Exact = pc, pc, true
	scratch := a.space()
	for _, src := range a.lists.of(s.Module.Image).tables {
		if src.Method() != c.method {
			continue
		}
		scratch.query = q
		scratch.rule.Reset()
		if src.Rule(&scratch.query, &scratch.rule) == unwind.Found {
			return &scratch.rule
		}
	}
	return nil
}

// at tells whether a function begins at c's return address, as the table has it that lists
// the place; known is false where none does.
func (a *startRules) at(c *candidate) (begins, known bool) {
	m := c.module
	if m == nil || m.Image == nil {
		return false, false
	}
	pc := m.ToImage(c.pc) & m.Image.Arch.AddrMask()
	q, r := &a.space().query, &a.scratch.rule
	for _, src := range a.lists.of(m.Image).tables {
		*q = Query{Image: m.Image, Arch: m.Image.Arch, PC: pc, Resume: pc, Mode: c.mode, Exact: true}
		r.Reset()
		if src.Rule(q, r) == unwind.Found && r.Flags&StartStated != 0 {
			return r.Start == pc, true
		}
	}
	return false, false
}

// begunBy tells whether c's return address is where a thread was begun as if from there: right behind
// the first instruction of a function that a table knows to be the outermost of its stack. No call
// stands there. Go's newproc stores the address of goexit's second instruction.
func (a *startRules) begunBy(c *candidate) bool {
	const instruction = 4 // bytes, at most: a NOP
	img := c.module.Image
	at := c.module.ToImage(c.pc) & img.Arch.AddrMask()
	if lo, _, _, ok := img.Symbols.FunctionAt(at - 1); ok && at-lo > instruction {
		return false // as most places, without a string of the name
	}
	if f, ok := img.Symbols.At(at - 1); !ok || at-f.Addr > instruction {
		return false
	}
	q, r := &a.space().query, &a.scratch.rule
	return slices.ContainsFunc(a.lists.of(img).tables, func(src RuleSource) bool {
		*q = Query{Image: img, Arch: img.Arch, PC: at - 1, Resume: at, Mode: c.mode}
		r.Reset()
		return src.Rule(q, r) == unwind.EndOfStack
	})
}

// splitOff tells whether s runs in a part of a function that stands elsewhere: what the
// table says of the part's first instruction is not what holds where a call goes.
// Landing pads in GCC's f.cold are reached by the runtime alone.
func (a *startRules) splitOff(s *State, c *candidate) bool {
	r := a.of(s, c)
	return r != nil && !r.AtEntry(s.Snapshot.Arch)
}

// ofSeveral tells whether the table has one description for so much code that this is of several functions, and says of their
// prologues and stubs what holds where they call. Example: Dart has one for all of its text.
func (a *startRules) ofSeveral(s *State, c *candidate) bool {
	const most = 4 << 10 // bytes of a part that was split off a function
	return c.flags&StartStated != 0 && s.Module != nil && s.Module.ToImage(s.PC)-c.start > most && a.splitOff(s, c)
}

// plain tells whether the table's function begins as the ABI has it: where a call leads
// to. A part that was split off begins with a frame, millicode with the return address in
// another register.
func (a *startRules) plain(s *State, c *candidate) bool {
	r, arch := a.of(s, c), s.Snapshot.Arch
	if r == nil || !r.AtEntry(arch) {
		return false
	}
	if arch.CallPushesRA {
		return r.RA.Kind == AtCFA && r.RA.Off == -arch.EntryCFA
	}
	return byLink(arch, r)
}

// linked is the entry of a function that a table takes for a piece of a larger one: where the
// direct call goes that left the link register. LuaJIT has one frame description entry for its
// whole interpreter, helpers included, which the interpreter calls with nothing saved:
//
//	6b870  bl   6eb4c          ◄─ x30 is 6b874; the table says CFA=x29+16 RA=[CFA-8]
//	…
//	6eb4c  eor  w3,w0,w1       a leaf, which returns by x30
func (a *startRules) linked(s *State, table *candidate) (entry uint64, ok bool) {
	ra, mode, known := linkOf(s)
	if !known || s.Module == nil || s.Module.Image == nil {
		return 0, false
	}
	site, kind := callsite.BeforeIn(s.Snapshot, s.Module, ra, mode)
	if kind != callsite.Call || !site.Direct || !s.Module.Contains(site.Target) {
		return 0, false
	}
	entry = s.Module.ToImage(site.Target) & s.Module.Image.Arch.AddrMask()
	return entry, entry != table.start && a.covers(s, table, entry)
}

// covers tells whether the source which found c takes the code at an image address for the
// function that s runs in.
func (a *startRules) covers(s *State, c *candidate, pc uint64) bool {
	if c.flags&StartStated == 0 {
		return false
	}
	r := a.asOf(s, c, pc)
	return r != nil && r.Flags&StartStated != 0 && r.Start == c.start
}

// linkOf is the address in the link register; false where the processor has none, or its value is
// not known.
func linkOf(s *State) (ra uint64, mode cpu.Mode, ok bool) {
	arch := s.Snapshot.Arch
	lr, ok := s.Regs.Lookup(arch.LR)
	if arch.CallPushesRA || !ok {
		return 0, 0, false
	}
	ra, mode = arch.SplitCode(lr & arch.AddrMask())
	return ra, mode, true
}

// longestCall is the size of the longest call that links, on MIPS with its delay slot.
const longestCall = 8

// LinkSpent tells whether the link register holds where the frame stands itself: the call before has returned and left that. Only
// a function that this call goes to, placed right behind its caller, begins so. Or the frame stands at that call, which
// has been executed in a loop or by another activation: alloc_tramp of SBCL for ARM, whose caller lies in no file.
func (s *State) LinkSpent() bool {
	ra, _, ok := linkOf(s)
	if !ok || ra-s.PC > longestCall {
		return false
	}
	site, kind := callsite.BeforeIn(s.Snapshot, s.Module, ra, s.Mode)
	return kind == callsite.Call && (ra == s.PC || site.Addr == s.PC) && !(site.Direct && site.Target == s.PC)
}

// returnsByLink tells whether the frame stands at an instruction that returns by the link
// register, to elsewhere than c. The same interpreter's epilogue has x29 back when it returns, and
// the table takes the caller's x29 for its own.
func (f *finder) returnsByLink(s *State, c *candidate) bool {
	ra, _, ok := linkOf(s)
	arch := s.Snapshot.Arch
	if !ok || arch.Decoder == nil {
		return false
	}
	in := &f.insns[0]
	return arch.Decoder.Decode(s.Code(s.PC), s.PC, s.Mode, f.insns[:]) > 0 &&
		in.Op == cpu.OpReturn && in.Src == arch.LR && in.Flags&(cpu.FlagConditional|cpu.FlagException) == 0 && c.pc != ra
}

// byLink tells whether a rule takes the return address out of the link register.
func byLink(arch *cpu.Arch, rule *Rule) bool {
	return rule.RA.Kind == RegPlus && rule.RA.Base == arch.LR && rule.RA.Off == 0 || rule.RA.Kind == SameValue && rule.RA.Reg == arch.LR
}

// withinStart tells whether a rule by which the stack ends means another function than the one that s runs in, which begins
// within the code that the rule is for: a call led there from that code, or its address is what the program's start hands
// on. glibc's crt1.o has one description for _start and what stands behind:
//
//	AArch64   __wrap_main:  bti c; b main               handed on as main
//	i386                    mov (%esp),%ebx; ret        called for the PC
func (v *verifier) withinStart(s *State, rule *Rule) bool {
	m := s.Module
	if !s.Exact || v.graph == nil || m == nil || rule.Flags&StartStated == 0 {
		return false
	}
	start, site, kind := m.ToTarget(rule.Start), cpu.CallSite{}, callsite.Missing
	if raw, ok := s.pushed(); ok {
		ra, mode := s.Snapshot.Arch.SplitCode(raw)
		site, kind = callsite.Before(s.Snapshot, ra, mode)
	}
	switch {
	case kind != callsite.Call:
		return false
	case site.Direct:
		return m.Contains(site.Addr) && site.Addr >= start && site.Target > start && site.Target <= s.PC
	}
	return v.graph.StartHandsOn(m, start, 0, s.PC, s.Mode) && !v.graph.StartHandsOn(m, start, 0, start, s.Mode)
}

// pushed is the word that a call would have left if s were the first instruction that it led to.
func (s *State) pushed() (raw uint64, ok bool) {
	arch := s.Snapshot.Arch
	if !arch.CallPushesRA {
		return s.Regs.Lookup(arch.LR)
	}
	sp, ok := s.Regs.Lookup(arch.SP)
	if !ok {
		return 0, false
	}
	return s.Snapshot.Memory.Word(sp & arch.AddrMask())
}
