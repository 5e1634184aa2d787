package sigframe

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

func arch(t testing.TB, name, abi string, big bool) *cpu.Arch {
	t.Helper()
	a, ok := captured.Archs().ByName(name, abi, big)
	if !ok {
		t.Fatalf("no %s %s", name, abi)
	}
	return a
}

func code(t testing.TB, listing string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(listing, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	trampolineAt  = 0x3000_0000
	stackAt       = 0x7fff_0000
	interruptedAt = 0x0040_0100
)

// A frame is written by hand from the kernel's structures: skip is what lies
// before the sigcontext, seen from SP at the trampoline.
var frames = []struct {
	name, arch, abi string
	big             bool
	mode            uint64
	code            string
	skip            int
}{
	{"x86_64 rt, glibc", "x86_64", "", false, 0, "48c7c00f000000 0f05", 8 + 8 + 24},
	{"x86_64 rt, short", "x86_64", "", false, 0, "b80f000000 0f05", 8 + 8 + 24},
	{"i386", "i386", "", false, 0, "58 b877000000 cd80", 4},
	{"i386 rt", "i386", "", false, 0, "b8ad000000 cd80", 12 + 128 + 8 + 12},
	{"aarch64", "aarch64", "", false, 0, "681180d2 010000d4", 128 + 8 + 8 + 24 + 128 + 8},
	{"aarch64 big-endian", "aarch64", "", true, 0, "681180d2 010000d4", 128 + 8 + 8 + 24 + 128 + 8},
	{"arm", "arm", "", false, 0, "7770a0e3 000000ef", 20},
	{"arm, kernel", "arm", "", false, 0, "7770a0e3 770090ef", 20},
	{"arm rt", "arm", "", false, 0, "ad70a0e3 000000ef", 128 + 20},
	{"arm rt, OABI", "arm", "", false, 0, "ad0090ef", 128 + 20},
	{"arm BE32", "arm", "be32", true, 0, "e3a07077 ef000000", 20},
	{"arm BE8", "arm", "be8", true, 0, "7770a0e3 000000ef", 20},
	{"Thumb", "arm", "", false, 1, "7727 00df", 20},
	{"Thumb rt", "arm", "", false, 1, "ad27 00df", 128 + 20},
	{"Thumb rt, glibc", "arm", "", false, 1, "4ff0ad07 00df", 128 + 20},
	{"mips o32", "mips", "o32", true, 0, "24021017 0000000c", 24},
	{"mips o32 rt", "mips", "o32", true, 0, "24021061 0000000c", 24 + 128 + 24},
	{"mipsel o32 rt", "mips", "o32", false, 0, "61100224 0c000000", 24 + 128 + 24},
	{"microMIPS", "mips", "o32", true, 1, "30401017 00008b7c", 24},
	{"microMIPS little-endian rt", "mips", "o32", false, 1, "40306110 00007c8b", 24 + 128 + 24},
	{"mips n64", "mips64", "n64", true, 0, "2402145b 0000000c", 24 + 128 + 40},
	{"mips n32", "mips64", "n32", true, 0, "24021843 0000000c", 24 + 128 + 24},
	{"riscv64", "riscv64", "", false, 0, "9308b008 73000000", 128 + 40 + 128 + 8},
	{"riscv32", "riscv32", "", false, 0, "9308b008 73000000", 128 + 20 + 128 + 12},
}

func TestStepRestoresAllRegisters(t *testing.T) {
	for _, f := range frames {
		t.Run(f.name, func(t *testing.T) {
			a := arch(t, f.arch, f.abi, f.big)
			layout := a.Layouts[cpu.LinuxSigcontext]
			var want cpu.Registers
			for _, s := range layout.Slots {
				want.Set(s.Reg, 0x1000+uint64(s.Reg))
			}
			want.Set(a.PC, interruptedAt)
			want.Set(a.SP, stackAt+0x700)
			stack := synth.Stack(a).Zero(f.skip).Registers(layout, &want).Zero(0x800).Place(stackAt)
			tramp := synth.Placed{Base: trampolineAt, Data: code(t, f.code)}
			snap := synth.Capture(a, nil, stack, tramp)

			var regs cpu.Registers
			regs.Set(a.PC, trampolineAt|f.mode)
			regs.Set(a.SP, stackAt)
			s := captured.State(snap, &regs, false)
			if !(Source{}).At(s, s.PC, s.Mode) || !(Source{}).At(s, s.PC|f.mode, s.Mode) {
				t.Fatal("trampoline is not recognised")
			}
			if inside := s.PC + max(a.InsnAlign, 2); (Source{}).At(s, inside, s.Mode) {
				t.Error("a handler returns to the first instruction of a trampoline only")
			}
			var got stackwalk.Caller
			if v := (Source{}).Step(s, &got); v != unwind.Found {
				t.Fatal(v)
			}
			if got.Regs != want {
				t.Errorf("registers %x\nwant      %x", got.Regs, want)
			}
			if !got.Exact || !got.HasCFA || got.CFA != stackAt+0x700 {
				t.Errorf("exact %v, CFA %#x", got.Exact, got.CFA)
			}
		})
	}
}

// A thread may be stopped inside the trampoline. After i386's pop, SP is one
// word further on.
func TestStepFromInside(t *testing.T) {
	a := arch(t, "i386", "", false)
	want := synth.Regs(a, map[string]uint64{"eip": interruptedAt, "esp": stackAt + 0x100})
	stack := synth.Stack(a).Word(11).Registers(a.Layouts[cpu.LinuxSigcontext], want).Zero(0x200).Place(stackAt)
	tramp := synth.Placed{Base: trampolineAt, Data: code(t, "58 b877000000 cd80")}
	snap := synth.Capture(a, nil, stack, tramp)
	for _, c := range []struct{ pc, sp uint64 }{{0, 0}, {1, 4}, {6, 4}} {
		s := captured.State(snap, synth.Regs(a, map[string]uint64{"eip": trampolineAt + c.pc, "esp": stackAt + c.sp}), true)
		var got stackwalk.Caller
		if v := (Source{}).Step(s, &got); v != unwind.Found {
			t.Fatalf("at +%d: %v", c.pc, v)
		}
		if got.Regs.Val[a.PC] != interruptedAt {
			t.Errorf("at +%d: pc %#x", c.pc, got.Regs.Val[a.PC])
		}
	}
}

func TestOtherCodeIsNoTrampoline(t *testing.T) {
	for name, listing := range map[string]string{
		"another system call": "2402 1062 0000 000c",
		"no syscall":          "2402 1061 0000 0000",
		"cut off":             "2402 1061 0000",
		"wrong byte order":    "0224 6110 0c00 0000",
	} {
		a := arch(t, "mips", "o32", true)
		snap := synth.Capture(a, nil, synth.Placed{Base: trampolineAt, Data: code(t, listing)})
		s := captured.State(snap, synth.Regs(a, map[string]uint64{"pc": trampolineAt, "sp": stackAt}), true)
		if (Source{}).At(s, s.PC, s.Mode) {
			t.Error(name, "is taken for a trampoline")
		}
		if v := (Source{}).Step(s, new(stackwalk.Caller)); v != unwind.NotCovered {
			t.Error(name, v)
		}
	}
}

// A handler that runs because of a call through NULL interrupts code at 0.
// Without a stack either, the context is garbage.
func TestPlausibleContext(t *testing.T) {
	a := arch(t, "aarch64", "", false)
	for _, c := range []struct {
		name   string
		pc, sp uint64
		want   unwind.Verdict
	}{
		{"call through NULL", 0, stackAt + 0x400, unwind.Found},
		{"wild SP, good PC", interruptedAt, 8, unwind.Found},
		{"neither", 0x1234, 8, unwind.Malformed},
	} {
		regs := synth.Regs(a, map[string]uint64{"pc": c.pc, "sp": c.sp})
		stack := synth.Stack(a).Zero(304).Registers(a.Layouts[cpu.LinuxSigcontext], regs).Zero(0x400).Place(stackAt)
		tramp := synth.Placed{Base: trampolineAt, Data: code(t, "681180d2 010000d4")}
		mod := synth.Module(a, interruptedAt, make([]byte, 16))
		snap := synth.Capture(a, modules(mod), stack, tramp)
		s := captured.State(snap, synth.Regs(a, map[string]uint64{"pc": trampolineAt, "sp": stackAt}), false)
		if v := (Source{}).Step(s, new(stackwalk.Caller)); v != c.want {
			t.Errorf("%s: %v, want %v", c.name, v, c.want)
		}
	}
}

// TestUnseen: where the trampoline's code is not at hand, the frame itself tells: by a signal's number, by the code segment or the
// processor's mode, and by a PC in a module's code. mark is the distance from SP to what the kernel wrote, with the value.
func TestUnseen(t *testing.T) {
	for _, f := range frames {
		mark, has := map[string][2]int{"aarch64": {0, 11}, "riscv64": {0, 11}, "arm rt": {0, 11}, "arm": {0, 0}, "mipsel o32 rt": {24, 11},
			"x86_64 rt, glibc": {f.skip + 144, 0x33}, "i386 rt": {f.skip + 60, 0x23}}[f.name]
		if !has {
			continue
		}
		a := arch(t, f.arch, f.abi, f.big)
		pc, sp := a.Regs[a.PC].Names[0], a.Regs[a.SP].Names[0]
		for _, c := range []struct {
			what       string
			mark       uint64
			pc, status uint64
			want       bool
		}{
			{"in code", uint64(mark[1]), interruptedAt, 0x10, true},
			{"nothing of the kernel's", 0x1234, interruptedAt, 0, false},
			{"elsewhere", uint64(mark[1]), 0x1234, 0x10, false},
		} {
			regs := synth.Regs(a, map[string]uint64{pc: c.pc, sp: stackAt + 0x400})
			if f.arch == "arm" {
				regs.Set(a.Status, c.status)
			}
			stack := synth.Stack(a).Zero(f.skip).Registers(a.Layouts[cpu.LinuxSigcontext], regs).Zero(0x400).Place(stackAt)
			binary.LittleEndian.PutUint16(stack.Data[mark[0]:], uint16(c.mark))
			snap := synth.Capture(a, modules(synth.Module(a, interruptedAt, make([]byte, 16))), stack)
			s := captured.State(snap, synth.Regs(a, map[string]uint64{pc: trampolineAt, sp: stackAt}), false)
			var out stackwalk.Caller
			if v := (Source{}).Step(s, &out); (Source{}).Unseen(s, s.PC, stackAt) != c.want || (v == unwind.Found) != c.want {
				t.Errorf("%s, %s: a frame %t, step %v", f.name, c.what, (Source{}).Unseen(s, s.PC, stackAt), v)
			}
		}
	}
}

// restorer is a symbol file with a function at 0x10.
type restorer struct {
	image.Container
	named bool
}

func (restorer) Hollow() bool { return true }

func (r restorer) SymbolAt(addr uint64) (image.Symbol, bool) {
	return image.Symbol{Name: "__restore_rt", Addr: 0x10, Size: 8}, r.named && addr-0x10 < 8
}

func (r restorer) Functions(yield func(uint64, cpu.Mode, uint64) bool) {
	_ = r.named && yield(0x10, 0, 8)
}

// TestRestorer: of a C library that is not at hand, a function's first address may be the trampoline's; without symbols any.
func TestRestorer(t *testing.T) {
	a := arch(t, "aarch64", "", false)
	regs := synth.Regs(a, map[string]uint64{"pc": trampolineAt + 0x100, "sp": stackAt + 0x400})
	stack := synth.Stack(a).Word(11).Zero(128+40+128).Registers(a.Layouts[cpu.LinuxSigcontext], regs).Zero(0x400).Place(stackAt)
	for _, c := range []struct {
		named bool
		at    uint64
		want  bool
	}{{true, 0x10, true}, {true, 0x14, false}, {true, 0x20, false}, {false, 0x20, true}} {
		img := image.New(image.Header{Arch: a, Segments: image.Segments{{Size: 0x1000, Exec: true}}}, restorer{named: c.named})
		snap := synth.Capture(a, modules(target.NewModule("libc.so", img, trampolineAt)), stack)
		s := captured.State(snap, synth.Regs(a, map[string]uint64{"pc": trampolineAt + c.at, "sp": stackAt}), false)
		if (Source{}).Unseen(s, s.PC, stackAt) != c.want {
			t.Errorf("named %t, at %#x: not %t", c.named, c.at, c.want)
		}
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	a := arch(t, "aarch64", "", false)
	regs := synth.Regs(a, map[string]uint64{"pc": interruptedAt, "sp": stackAt})
	stack := synth.Stack(a).Zero(304).Registers(a.Layouts[cpu.LinuxSigcontext], regs).Place(stackAt)
	snap := synth.Capture(a, nil, stack, synth.Placed{Base: trampolineAt, Data: code(t, "681180d2 010000d4")})
	s := captured.State(snap, synth.Regs(a, map[string]uint64{"pc": trampolineAt, "sp": stackAt}), false)
	var source stackwalk.FrameSource = Source{}
	out := new(stackwalk.Caller)
	if n := testing.AllocsPerRun(100, func() { source.Step(s, out) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzStep(f *testing.F) {
	f.Add(uint8(0), []byte("\x68\x11\x80\xd2\x01\x00\x00\xd4"), make([]byte, 700), uint16(0))
	f.Add(uint8(9), []byte("\x24\x02\x10\x61\x00\x00\x00\x0c"), make([]byte, 900), uint16(4))
	all := captured.Archs()
	f.Fuzz(func(t *testing.T, n uint8, code, stack []byte, off uint16) {
		a := all[int(n)%len(all)]
		snap := synth.Capture(a, nil, synth.Placed{Base: trampolineAt, Data: code}, synth.Placed{Base: stackAt, Data: stack})
		var regs cpu.Registers
		regs.Set(a.PC, trampolineAt+uint64(off))
		regs.Set(a.SP, stackAt)
		s := captured.State(snap, &regs, true)
		var out stackwalk.Caller
		if v := (Source{}).Step(s, &out); v == unwind.Found && !out.Regs.Known.Has(a.PC) {
			t.Error("found a caller without a PC")
		}
	})
}
