package pclntab

import (
	"maps"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/pclntab"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Where the runtime of the programs below has a goroutine's g, the thread's g0 and m, and their stacks.
const (
	gAt, g0At, mAt   = 0x70_0000, 0x71_0000, 0x72_0000
	stackAt, stackHi = 0x73_0000, 0x73_1000
	ownAt, ownHi     = 0x74_0000, 0x74_1000
	sched            = stackAt + 0x800 // SP in g.sched
)

// systemstack is where a function of the runtime has changed stacks.
type systemstack struct {
	img           *image.Image
	entry, inside uint64 // inside: where its call returns to
	height        uint64
}

// find finds the function, and in it the first call through a pointer on the other stack.
func find(t *testing.T, img *image.Image, name string) (s systemstack) {
	s.img = img
	img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
		f, ok := pclntab.Of(img).At(addr)
		var in [1]cpu.Insn
		for pc := addr; ok && f.Name() == name && pc < f.Hi; pc += uint64(in[0].Len) {
			img.Arch.Decoder.Decode(img.Segments.Code(pc), pc, 0, in[:])
			if c, ok := changeAt(img, &f, pc); ok && c.made && in[0].Op == cpu.OpCall && in[0].Target == 0 {
				s.entry, s.inside, s.height = addr, pc+uint64(in[0].Len), uint64(c.height)
				return false
			}
		}
		return true
	})
	if s.inside == 0 {
		t.Fatal(name, "changes no stack")
	}
	return s
}

// caller is where some call of the function returns to.
func (s *systemstack) caller(t *testing.T) uint64 {
	for _, seg := range s.img.Segments {
		if !seg.Exec {
			continue
		}
		for _, c := range s.img.Arch.Decoder.Calls(seg.Data, seg.Addr, 0, nil) {
			var in [1]cpu.Insn
			s.img.Arch.Decoder.Decode(s.img.Segments.Code(c.Site), c.Site, 0, in[:])
			if c.Target == s.entry && in[0].Op == cpu.OpCall {
				return c.Site + uint64(in[0].Len)
			}
		}
	}
	t.Fatal("nobody calls systemstack")
	return 0
}

// TestSystemstack: a function that systemstack called on the thread's stack has returned. Where the memory of the
// runtime holds together, the goroutine's frame is the caller, on a lower stack; where any word of it lies, nobody is.
func TestSystemstack(t *testing.T) {
	for _, processor := range []string{"", "arm", "386"} {
		img := build(t, processor)
		a, s := img.Arch, find(t, img, "runtime.systemstack")
		word, ra, cfa := uint64(a.AddrSize), uint64(sched), sched+s.height
		if a.LR == cpu.NoReg {
			ra, cfa = cfa, cfa+word
		}
		memory := map[uint64]uint64{
			gAt: stackAt, gAt + word: stackHi, gAt + 6*word: mAt, gAt + 7*word: sched,
			g0At: ownAt, g0At + word: ownHi, g0At + 6*word: mAt,
			mAt: g0At, mAt + 24*word: gAt,
			ra: s.caller(t),
		}
		out, v := s.step(memory)
		pc, _ := out.Regs.Lookup(a.PC)
		g, known := out.Regs.Lookup(machineOf(a).g)
		if v != unwind.Found || pc != memory[ra] || out.CFA != cfa || known && g != gAt || known == (machineOf(a).g == cpu.NoReg) || !out.Switched {
			t.Errorf("%s: %s, pc %#x, CFA %#x, g %#x; want pc %#x, CFA %#x, g %#x", a, v, pc, out.CFA, g, memory[ra], cfa, gAt)
		}
		for what, lie := range map[string][2]uint64{
			"g is of another m":      {gAt + 6*word, mAt + 8},
			"SP is not on g's stack": {gAt + 7*word, stackHi + 8},
			"g has no stack":         {gAt + word, stackAt},
			"m works for nobody":     {mAt + 24*word, 0},
			"m works for g0":         {mAt + 24*word, g0At},
			"the thread is on g's":   {gAt + word, ownHi},
			"g0 is none":             {g0At + 6*word, 0},
		} {
			lies := maps.Clone(memory)
			lies[lie[0]] = lie[1]
			if _, v := s.step(lies); v != unwind.NoCaller {
				t.Errorf("%s: %s: %s", a, what, v)
			}
		}
	}
}

// step asks for the caller of systemstack, of a thread with the runtime's memory.
func (s *systemstack) step(memory map[uint64]uint64) (out stackwalk.Caller, v unwind.Verdict) {
	return s.stepFrom(memory, false)
}

// stepFrom asks for the caller of a function that has called another, or that runs itself.
func (s *systemstack) stepFrom(memory map[uint64]uint64, runs bool) (out stackwalk.Caller, v unwind.Verdict) {
	a := s.img.Arch
	var placed []synth.Placed
	for addr, v := range memory {
		placed = append(placed, synth.Stack(a).Uint(v, a.AddrSize).Place(addr))
	}
	code := s.img.Segments[0]
	m := &target.Module{Name: "program", Range: target.RangeOf(code.Addr, code.Size), Image: s.img}
	regs := new(cpu.Registers)
	regs.Set(a.PC, s.inside)
	regs.Set(a.SP, ownAt+0x900)
	state := captured.State(synth.Capture(a, []*target.Module{m}, placed...), regs, runs)
	if g := machineOf(a).g; g != cpu.NoReg {
		regs.Set(g, g0At)
	} else { // thread-local storage has g
		state.Thread.Task = &target.Task{Goroutine: &target.Goroutine{Record: gAt}}
	}
	v = Stacks{}.Step(state, &out)
	return out, v
}

// TestChange: up to where the runtime's functions change stacks, they are on the stack that they were called on; behind,
// C's vDSO leaves the register alone that has SP.
func TestChange(t *testing.T) {
	for _, processor := range []string{"", "arm"} {
		img := build(t, processor)
		s := find(t, img, "runtime.systemstack")
		for pc := s.entry; pc < s.inside; pc++ {
			q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Exact: true}
			var r stackwalk.Rule
			r.Reset()
			f, _ := pclntab.Of(img).At(pc)
			c, ok := changeAt(img, &f, pc)
			if v := (Source{}).Rule(&q, &r); ok && (v == unwind.Found) == c.made {
				t.Errorf("%s, systemstack+%#x: %s, stack changed: %t", img.Arch, pc-s.entry, v, c.made)
			}
		}
		clocks := 0
		img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			f, ok := pclntab.Of(img).At(addr)
			if !ok || f.Name() != "runtime.nanotime1" && f.Name() != "runtime.vdsoCall" {
				return true
			}
			var in [1]cpu.Insn
			for pc := addr; pc < f.Hi; pc += uint64(in[0].Len) {
				img.Arch.Decoder.Decode(img.Segments.Code(pc), pc, 0, in[:])
				c, ok := changeAt(img, &f, pc)
				if ok && c.made && c.kept != cpu.NoReg && in[0].Op == cpu.OpCall {
					clocks++
				}
			}
			return true
		})
		if clocks == 0 {
			t.Errorf("%s: the runtime does not find its stack again behind the vDSO", img.Arch)
		}
	}
}

// TestLowered: rt0_go lowers SP by itself, behind what the assembler has put in front of it, which keeps the link register.
func TestLowered(t *testing.T) {
	type place struct {
		pc        uint64
		by, saved int64
	}
	for _, c := range []struct {
		program codetest.Program
		places  []place
	}{
		{codetest.Program{CPU: "mips o32", Listing: `
		400000: afbffffc  sw     ra, -4(sp)
		400004: 27bdfffc  addiu  sp, sp, -4
		400008: afbf0000  sw     ra, 0(sp)
		40000c: 27bdfff4  addiu  sp, sp, -12
		400010: 0c100000  jal    400000`}, []place{{0x400000, 0, 0}, {0x400008, 4, 4}, {0x400010, 16, 4}}},
		{codetest.Program{CPU: "arm", Listing: `
		400000: e52de004  str  lr, [sp, #-4]!
		400004: e24dd00c  sub  sp, sp, #12
		400008: ebfffffc  bl   400000`}, []place{{0x400004, 4, 4}, {0x400008, 16, 4}}},
		{codetest.Program{CPU: "x86_64", Listing: `
		400000: 48 83 ec 28  sub $40,%rsp
		400004: 48 83 e4 f0  and $-16,%rsp
		400008: c3           ret`}, []place{{0x400008, 40, 0}}},
	} {
		img := c.program.Image(t)
		f := pclntab.Function{Lo: 0x400000, Hi: 0x400100}
		for _, p := range c.places {
			if by, saved, ok := lowered(img, &f, p.pc); !ok || by != p.by || saved != p.saved {
				t.Errorf("%s %#x: %d, %d, want %d, %d", c.program.CPU, p.pc, by, saved, p.by, p.saved)
			}
		}
	}
}

// FuzzLeft: whatever the runtime's memory holds, a caller is found whose return address was read from it, or none.
func FuzzLeft(f *testing.F) {
	f.Add([]byte{0: 0x10, 8: 0x80, 48: 0x10, 56: 0x20, 255: 1})
	var of []*cpu.Arch
	for _, a := range archs() {
		if machineOf(a) != nil && !a.BigEndian {
			of = append(of, a)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, a := range of {
			var placed []synth.Placed
			for _, base := range []uint64{0x10, 0x8000} {
				placed = append(placed, synth.Placed{Base: base, Data: data})
			}
			snap := synth.Capture(a, nil, placed...)
			regs := new(cpu.Registers)
			regs.Set(a.SP, 0x18)
			regs.Set(machineOf(a).g, 0x10)
			for _, function := range []string{"systemstack", "morestack", "asmcgocall", "cgocallback"} {
				l, ok := thread{machineOf(a), snap, regs, new(target.Thread)}.left("runtime."+function, 32, false)
				if ok && function != "morestack" && l.sp <= 32 {
					t.Errorf("%s, %s: SP %#x", a, function, l.sp)
				}
			}
		}
	})
}

// TestMcall: the scheduler, which mcall has called, runs at the beginning of the thread's stack; the function itself, on the stack of its
// caller, has that caller.
func TestMcall(t *testing.T) {
	for _, processor := range []string{"", "arm"} {
		img := build(t, processor)
		s := find(t, img, "runtime.mcall")
		for pc, want := range map[uint64]unwind.Verdict{s.inside - 1: unwind.EndOfStack, s.entry: unwind.Found} {
			q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pc}
			if got := (Source{}).Rule(&q, new(stackwalk.Rule)); got != want {
				t.Errorf("%s: %#x: verdict %v, want %v", img.Arch, pc, got, want)
			}
		}
	}
}

// TestMcallCaller: until the thread has put the goroutine aside that called mcall, the goroutine's frame is the caller.
func TestMcallCaller(t *testing.T) {
	for _, processor := range []string{"", "arm", "386", "arm64"} {
		img := build(t, processor)
		a, s := img.Arch, find(t, img, "runtime.mcall")
		word, pc := uint64(a.AddrSize), s.caller(t)
		slot := ownAt + 0x900 + uint64(machineOf(a).fixed)*word
		memory := map[uint64]uint64{
			gAt: stackAt, gAt + word: stackHi, gAt + 6*word: mAt, gAt + 7*word: sched, gAt + 8*word: pc,
			g0At: ownAt, g0At + word: ownHi, g0At + 6*word: mAt,
			mAt: g0At, mAt + 24*word: gAt,
			slot: gAt,
		}
		for _, c := range []struct {
			what    string
			inMcall bool
			lie     [2]uint64
			want    unwind.Verdict
		}{
			{"the scheduler runs", false, [2]uint64{}, unwind.Found},
			{"another goroutine called", false, [2]uint64{slot, gAt + 8}, unwind.NotCovered},
			{"mcall itself runs", true, [2]uint64{slot, gAt + 8}, unwind.Found},
			{"the thread runs none", true, [2]uint64{mAt + 24*word, 0}, unwind.NotCovered},
		} {
			if a.Name == "aarch64" && !c.inMcall {
				c.want = unwind.NotCovered
			}
			told := maps.Clone(memory)
			told[c.lie[0]] = c.lie[1]
			out, v := s.stepFrom(told, c.inMcall)
			if got, _ := out.Regs.Lookup(a.PC); v != c.want || v == unwind.Found && (got != pc || out.CFA != sched) {
				t.Errorf("%s: %s: %s, pc %#x, CFA %#x; want %s, pc %#x, CFA %#x", a, c.what, v, got, out.CFA, c.want, pc, uint64(sched))
			}
		}
	}
}
