package exception

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestSavedRegs: entry code of x86 runs with SP where user space's registers begin, at the end of
// the task's stack.
func TestSavedRegs(t *testing.T) {
	amd64, i386 := archNamed(t, "x86_64"), archNamed(t, "i386")
	user64 := slices.Concat(make([]uint64, 16), []uint64{0x40_1000, 0x33, 0x246, 0x7ffc_0000, 0x2b})
	user32 := slices.Concat(make([]uint64, 12), []uint64{0x804_9000, 0x73, 0x246, 0xbf80_0000, 0x7b})
	kernel64 := slices.Concat(make([]uint64, 16), []uint64{0xffff_ffff_8100_0000, 0x10, 0x246, 0xffff_c900_0000_0f00, 0x18})
	for _, c := range []struct {
		name    string
		arch    *cpu.Arch
		regs    []uint64
		padding int // words behind the registers
		below   int // words between SP and the registers
		want    unwind.Verdict
	}{
		{"entry_SYSCALL_64", amd64, user64, 0, 0, unwind.EndOfStack},
		{"with FRED", amd64, user64, 2, 0, unwind.EndOfStack},
		{"entry_SYSENTER_32", i386, user32, 2, 0, unwind.EndOfStack},
		{"with virtual 8086 mode", i386, user32, 4, 0, unwind.EndOfStack},
		{"ret_from_fork of a kernel thread", amd64, make([]uint64, 21), 0, 0, unwind.EndOfStack},
		{"do_syscall_64, which has a return address", amd64, user64, 0, 1, unwind.NotCovered},
		{"deeper in the stack", amd64, user64, 3, 0, unwind.NotCovered},
		{"an exception of the kernel itself", amd64, kernel64, 0, 0, unwind.NotCovered},
		{"words that are no registers", amd64, slices.Repeat([]uint64{0x1234}, 21), 0, 0, unwind.NotCovered},
		{"registers that were not captured", amd64, user64[:18], 3, 0, unwind.NotCovered},
	} {
		t.Run(c.name, func(t *testing.T) {
			stack := synth.Stack(c.arch).Zero(c.below * c.arch.RegSize).Words(c.regs...).Place(0x7fff_0000)
			snap := synth.Capture(c.arch, nil, stack)
			snap.OS = "Linux"
			s := captured.State(snap, synth.Regs(c.arch, map[string]uint64{"pc": 0x1000, "sp": stack.Base}), false)
			size := uint64((c.below + len(c.regs) + c.padding) * c.arch.RegSize)
			s.Thread.Stack = target.Range{Lo: stack.Base - 0x3000, Hi: stack.Base + size}
			if got := (Source{}).Step(s, new(stackwalk.Caller)); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			s.Thread.Stack = target.Range{}
			if got := (Source{}).Step(s, new(stackwalk.Caller)); got != unwind.NotCovered {
				t.Errorf("without the stack's bounds: %v", got)
			}
		})
	}
}

func archNamed(t *testing.T, name string) *cpu.Arch {
	a, ok := cpu.Set(x86.Archs()).ByName(name, "", false)
	if !ok {
		t.Fatal(name)
	}
	return a
}

// fromEntry is a source of one rule: three words were pushed since the function was entered.
type fromEntry struct{}

func (fromEntry) Method() unwind.Method { return unwind.MethodCode }

func (fromEntry) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try > 0 {
		return unwind.NotCovered
	}
	out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: q.Arch.SP, Off: int64(4 * q.Arch.RegSize)}
	out.RA = stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: -int64(q.Arch.RegSize)}
	out.Flags |= stackwalk.FromEntry
	return unwind.Found
}

// TestPushesBelowSavedRegs: ret_from_fork_asm of i386 is entered with SP where the registers of user space lie, and pushes
// three words: what would be its return address is the first of the registers. Deeper in the stack it is one.
func TestPushesBelowSavedRegs(t *testing.T) {
	i386 := archNamed(t, "i386")
	user := slices.Concat([]uint64{0x40_1234}, make([]uint64, 11), []uint64{0x804_9000, 0x73, 0x246, 0xbf80_0000, 0x7b})
	for _, c := range []struct {
		name    string
		regs    []uint64
		padding int // words behind the registers
		want    unwind.StopReason
	}{
		{"a thread of the kernel", make([]uint64, 17), 2, unwind.StopRoot},
		{"a new process", user, 2, unwind.StopRoot},
		{"not where the stack begins", make([]uint64, 17), 9, unwind.StopNullPC},
	} {
		stack := synth.Stack(i386).Words(1, 2, 3).Words(c.regs...).Zero(4 * c.padding).Place(0xc110_0000)
		m := synth.Module(i386, 0xc100_0000, make([]byte, 0x1000))
		snap := synth.Capture(i386, []*target.Module{m}, stack)
		snap.OS = "Linux"
		regs := synth.Regs(i386, map[string]uint64{"pc": 0xc100_0800, "sp": stack.Base})
		snap.Threads = []target.Thread{{ID: 2, Regs: *regs, Stack: target.Range{Lo: stack.Base - 0x1000, Hi: stack.Base + uint64(len(stack.Data))}}}
		frames, stop := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{Source{}, fromEntry{}}}).Walk(&snap.Threads[0], nil)
		if len(frames) != 1 || stop.Reason != c.want {
			t.Errorf("%s: %d frames, %v; want %v", c.name, len(frames), stop.Reason, c.want)
		}
	}
}
