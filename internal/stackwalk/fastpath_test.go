package stackwalk_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestFastPath holds the two interpreters of rules equal: Apply, which any rule goes
// through, and the fast path, which unwinds from packed rules and leaves registers where
// they were saved. Both walk the same stacks of random rules, and must find the same
// frames, and the same registers behind the last of them.
func TestFastPath(t *testing.T) {
	for _, p := range processors() {
		t.Run(p.arch.Name+p.arch.ABI, func(t *testing.T) {
			asked, frames := 0, 0
			for seed := range uint64(300) {
				s := newRandomStack(p.arch, p.call, seed)
				a, n := s.compare(t)
				asked, frames = asked+a, frames+n
			}
			if frames < 1000 || asked*2 > frames {
				t.Errorf("%d of %d frames were found by the sources, not by the fast path", asked, frames)
			}
		})
	}
}

// FuzzFastPath compares them for other random numbers.
func FuzzFastPath(f *testing.F) {
	f.Add(uint8(0), uint64(0))
	f.Fuzz(func(t *testing.T, which uint8, seed uint64) {
		p := processors()[int(which)%len(processors())]
		newRandomStack(p.arch, p.call, seed).compare(t)
	})
}

// processor is an ABI, and a call instruction as it stands before a return address, its
// delay slot included.
type processor struct {
	arch *cpu.Arch
	call []byte
}

// processors have return addresses in a register or on the stack, words of 4 and 8 bytes, both
// byte orders, and signed return addresses.
func processors() []processor {
	return []processor{
		{named(x86.Archs(), "x86_64"), []byte{0xe8, 0, 0, 0, 0}},
		{named(x86.Archs(), "i386"), []byte{0xe8, 0, 0, 0, 0}},
		{named(arm64.Archs(), "aarch64"), []byte{0, 0, 0, 0x94}},
		{named(riscv.Archs(), "riscv64"), []byte{0xef, 0, 0, 0}},
		{o32(), []byte{0x0c, 0, 0, 0, 0, 0, 0, 0}},
		{n64el(), []byte{0, 0, 0, 0x0c, 0, 0, 0, 0}},
	}
}

func n64el() *cpu.Arch {
	for _, a := range mips.Archs() {
		if a.ABI == "n64" && !a.BigEndian {
			return a
		}
	}
	panic("no n64")
}

// randomStack is a stack of frames with random rules. Function i stands at
// codeBase + i*functionSize; its frame resumes in the middle.
type randomStack struct {
	*rand.Rand
	arch  *cpu.Arch
	snap  *target.Snapshot
	data  []byte
	taken map[uint64]bool // words that a rule reads: they do not change any more
	rules map[uint64][]stackwalk.Rule
	last  uint64 // where the outermost frame resumes
}

const (
	codeBase     = 0x40_0000
	functionSize = 0x40
	stackBase    = 0x7ff_0000
	stackSize    = 0x4000
)

func newRandomStack(arch *cpu.Arch, call []byte, seed uint64) *randomStack {
	const depth = 12
	s := &randomStack{Rand: rand.New(rand.NewPCG(seed, 1)), arch: arch, data: make([]byte, stackSize),
		taken: map[uint64]bool{}, rules: map[uint64][]stackwalk.Rule{}}
	for at := uint64(stackBase); at < stackBase+stackSize; at += uint64(arch.RegSize) {
		s.put(at, s.address())
	}
	code := make([]byte, (depth+2)*functionSize)
	for i := range depth + 1 {
		copy(code[i*functionSize+functionSize/2-len(call):], call)
	}
	s.snap = synth.Capture(arch, []*target.Module{synth.Module(arch, codeBase, code)}, synth.Placed{Base: stackBase, Data: s.data})
	if arch.AddrBits != nil {
		s.snap.CodeMask = 1<<48 - 1
	}
	s.snap.Threads = make([]target.Thread, 1)
	regs := s.snap.Threads[0].Regs
	for set := arch.Preserved; set != 0; set = set.Without(set.First()) {
		if s.IntN(4) > 0 {
			regs.Set(set.First(), s.address())
		}
	}
	regs.Set(arch.SP, stackBase)
	regs.Set(arch.PC, s.resume(0))
	if arch.LR != cpu.NoReg {
		regs.Set(arch.LR, s.resume(1))
	}
	s.snap.Threads[0].Regs = regs
	for i := range depth {
		rule := s.rule(i, &regs)
		var caller cpu.Registers
		if _, oc := evaluate.Rule(arch, rule, &regs, s.snap.Memory, s.snap.CodeMask, &caller); oc != evaluate.Applied {
			break
		}
		s.rules[s.resume(i)], regs = []stackwalk.Rule{*rule}, caller
		s.last = s.resume(i + 1)
	}
	return s
}

func (s *randomStack) resume(i int) uint64 { return codeBase + uint64(i)*functionSize + functionSize/2 }

// address is a random word of the stack.
func (s *randomStack) address() uint64 {
	return stackBase + s.Uint64N(stackSize/16)*uint64(s.arch.RegSize)
}

func (s *randomStack) put(at, v uint64) {
	b := s.data[at-stackBase:]
	switch big := s.arch.BigEndian; {
	case s.arch.RegSize == 4 && big:
		binary.BigEndian.PutUint32(b, uint32(v))
	case s.arch.RegSize == 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// take puts v into a word, if the word is not taken.
func (s *randomStack) take(at, v uint64) bool {
	if s.taken[at] || at < stackBase || at >= stackBase+stackSize {
		return false
	}
	s.taken[at] = true
	s.put(at, v)
	return true
}

// rule is a random rule that leads from function i, with these registers, to where
// function i+1 resumes.
func (s *randomStack) rule(i int, regs *cpu.Registers) *stackwalk.Rule {
	size, r := uint64(s.arch.RegSize), new(stackwalk.Rule)
	sp, ra := regs.Val[s.arch.SP], s.resume(i+1)
	r.Reset()
	if s.snap.CodeMask != 0 && s.IntN(2) == 0 {
		r.Flags |= stackwalk.SignedRA
		ra |= s.Uint64() &^ (s.snap.CodeMask | 1<<55) // bit 55 says user space
	}
	cfa := sp + 16 + 16*s.Uint64N(12)
	below := size * (1 + s.Uint64N(2))
	if i == 0 && s.arch.LR != cpu.NoReg && s.IntN(2) == 0 {
		r.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: s.arch.LR}
	} else {
		for !s.take(cfa-below, ra) {
			cfa += 16
		}
		r.RA = stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: -int64(below)}
	}
	s.cfa(r, cfa, regs)
	for set := s.arch.Preserved.Without(s.arch.SP).Without(s.arch.PC); set != 0; set = set.Without(set.First()) {
		off := size * s.Uint64N(13)
		switch reg := set.First(); s.IntN(5) {
		case 0:
			s.taken[cfa-off] = true
			r.Add(stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: reg, Base: cpu.NoReg, Off: -int64(off)})
		case 1:
			r.Add(stackwalk.RegRule{Kind: stackwalk.Undefined, Reg: reg, Base: cpu.NoReg})
		case 2:
			r.Add(stackwalk.RegRule{Kind: stackwalk.SameValue, Reg: reg, Base: cpu.NoReg})
		case 3:
			if at := uint64(int64(regs.Val[r.CFA.Base]) + r.CFA.Off); r.CFA.Kind == stackwalk.AtReg {
				s.taken[at+off] = true
				r.Add(stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: reg, Base: r.CFA.Base, Off: r.CFA.Off + int64(off)})
			}
		}
	}
	return r
}

// cfa makes a rule put the CFA at an address: by SP or another register, plus an offset or
// loaded from there.
func (s *randomStack) cfa(r *stackwalk.Rule, cfa uint64, regs *cpu.Registers) {
	r.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: s.arch.SP}
	for set := regs.Known & s.arch.Preserved.Without(s.arch.PC); set != 0; set = set.Without(set.First()) {
		if s.IntN(6) == 0 {
			r.CFA.Base = set.First()
		}
	}
	at := cfa
	if slot := cfa + uint64(s.arch.RegSize)*s.Uint64N(8); s.IntN(4) == 0 && s.take(slot, cfa) {
		r.CFA.Kind, at = stackwalk.AtReg, slot
	}
	r.CFA.Off = int64(at - regs.Val[r.CFA.Base])
}

// compare walks the stack step by step, and then several times from the caches. It tells
// of how many frames the sources were asked in the last walk, and how many there were.
func (s *randomStack) compare(t *testing.T) (asked, frames int) {
	source := rules{method: unwind.MethodCFI, at: s.rules, asked: &asked}
	var want, got cpu.Registers
	opt := stackwalk.Options{Sources: []stackwalk.Source{source, outermost{s.last, &want}}, Registers: func(int, *cpu.Registers) {}}
	slow, stop := walk(s.snap, opt)
	if stop.Reason != unwind.StopRoot {
		t.Fatalf("%v behind %d frames", stop.Reason, len(slow))
	}
	w := stackwalk.NewWalker(s.snap, stackwalk.Options{Sources: []stackwalk.Source{source, outermost{s.last, &got}}})
	for range 4 {
		asked = 0
		fast, stop := w.Walk(&s.snap.Threads[0], nil)
		if !slices.Equal(fast, slow) || stop.Reason != unwind.StopRoot {
			t.Fatalf("from the caches:\n%v %v\nstep by step:\n%v", fast, stop, slow)
		}
		if a, b := show(s.arch, &got), show(s.arch, &want); a != b {
			t.Fatalf("registers from the caches:\n%s\nstep by step:\n%s", a, b)
		}
	}
	return asked, len(slow)
}

// show writes what is known of the registers that a call keeps.
func show(arch *cpu.Arch, regs *cpu.Registers) (out string) {
	for set := regs.Known & arch.Preserved; set != 0; set = set.Without(set.First()) {
		out += fmt.Sprintf("%s=%#x ", arch.RegName(set.First()), regs.Val[set.First()])
	}
	return out
}

// outermost is a FrameSource that ends the stack in one place, and tells the registers
// there.
type outermost struct {
	at   uint64
	regs *cpu.Registers
}

func (outermost) Method() unwind.Method { return unwind.MethodScan }

func (o outermost) Step(s *stackwalk.State, _ *stackwalk.Caller) unwind.Verdict {
	*o.regs = *s.Regs
	if s.PC == o.at {
		return unwind.EndOfStack
	}
	return unwind.NotCovered
}

func named(archs []*cpu.Arch, name string) *cpu.Arch {
	for _, a := range archs {
		if a.Name == name {
			return a
		}
	}
	panic("no " + name)
}

// TestBeyond: a profile's sample has the innermost part of a stack. Where a table's return address lies beyond that part, the walk
// ends there, from the caches as well as step by step, whatever other sources would find; and no source is asked for
// frames that the caches know.
func TestBeyond(t *testing.T) {
	ended, fromCaches := 0, 0
	for seed := range uint64(40) {
		s := newRandomStack(named(x86.Archs(), "x86_64"), []byte{0xe8, 0, 0, 0, 0}, seed)
		asked := 0
		opt := stackwalk.Options{Unchecked: true, Sources: []stackwalk.Source{rules{method: unwind.MethodCFI, at: s.rules, asked: &asked}, invents{}}}
		w := stackwalk.NewWalker(s.snap, opt)
		for range 4 {
			w.Walk(&s.snap.Threads[0], nil)
		}
		opt.Registers = func(int, *cpu.Registers) {} // no caches
		for n := 64; n < 2048; n += 64 {
			snap := *s.snap
			snap.Memory = new(target.Memory)
			snap.Memory.Hold(s.arch, stackBase, s.data[:n])
			want, wantStop := walk(&snap, opt)
			w.Use(&snap)
			asked = 0
			got, stop := w.Walk(&s.snap.Threads[0], nil)
			for _, frames := range [][]unwind.Frame{got, want} { // no cache has why the trust is not higher
				for i := range frames {
					frames[i].Cap = 0
				}
			}
			if !slices.Equal(got, want) || stop != wantStop {
				t.Fatalf("seed %d, %d bytes: from the caches:\n%v %v\nstep by step:\n%v %v", seed, n, got, stop, want, wantStop)
			}
			if stop.Reason == unwind.StopUnreadable {
				if ended++; asked == 0 {
					fromCaches++
				}
			}
		}
	}
	if ended < 500 || fromCaches < 100 {
		t.Errorf("%d walks ended beyond the part, %d of them without a question", ended, fromCaches)
	}
}

// invents is a convention by which every frame has a caller in the middle of the first function.
type invents struct{}

func (invents) Method() unwind.Method { return unwind.MethodFP }

func (invents) Step(s *stackwalk.State, c *stackwalk.Caller) unwind.Verdict {
	c.Regs = *s.Regs
	c.Regs.Set(s.Snapshot.Arch.PC, codeBase+functionSize/2)
	c.Regs.Set(s.Snapshot.Arch.SP, s.Stack.Hi-8)
	c.CFA, c.HasCFA = s.Stack.Hi-8, true
	return unwind.Found
}
