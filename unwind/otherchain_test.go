package unwind_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestOneBitFurtherOut: h called g through a register; one bit away a library makes such a call, too. The library's frame
// of 32 bytes would lead to k, which also calls through a register. Only if k's frame of 40 bytes leads on may the library
// have been running.
func TestOneBitFurtherOut(t *testing.T) {
	const inCaller, inK, inOuter, lost = 0x400238, 0x400258, 0x4002a8, 0x1000_0000
	arch := o32()
	for _, c := range []struct {
		what  string
		flags unwind.RuleFlags
		word  uint64 // where k has its return address
		want  unwind.Trust
	}{
		{"no return address lies where k has its own", unwind.StartStated, 0x1000, unwind.Certain},
		{"two derivations agree on k's frame", unwind.FromEntry | unwind.Agreed, 0x1000, unwind.Certain},
		{"code that follows no call lies there", unwind.StartStated, 0x400460, unwind.Certain},
		{"the return address of a call through a register lies there", unwind.StartStated, inCaller, unwind.Likely},
		{"that of a call of h", unwind.StartStated, inOuter, unwind.Certain},
		{"k's frame is only one of several that may be", unwind.SavedTwice | unwind.StartStated, 0x1000, unwind.Likely},
		{"one derivation alone tells of k's frame", unwind.FromEntry, 0x1000, unwind.Likely},
	} {
		stack := synth.Stack(arch).Zero(20).Word(inCaller).Zero(4).Word(inK).Zero(36).Word(c.word).Zero(64).Place(0x7fff_0000)
		app := programWith(arch, inCaller-8, 0x0320f809)
		clear(app.Image.Segments.Code(inF - 8)[:4])
		copy(app.Image.Segments.Code(inK-8), []byte{0x03, 0x20, 0xf8, 0x09})
		copy(app.Image.Segments.Code(inOuter-8), []byte{0x0c, 0x10, 0, hEntry >> 2 & 0xff})
		lib := synth.Module(arch, 0x400000^lost, programWith(arch, inH-8, 0x0320f809).Image.Segments[0].Data)
		snap := synth.Capture(arch, []*target.Module{app, lib}, stack)
		snap.Threads = []target.Thread{{ID: 1, Regs: *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": stack.Base, "ra": inH})}}
		source := tables(arch, unwind.MethodCFI, 0)
		source.at[inH^lost], source.at[inK] = []unwind.Rule{saved(arch, 32, 0)}, []unwind.Rule{saved(arch, 40, c.flags)}
		source.ends[inCaller] = true
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: sameHundred}})
		for round := range 3 {
			frames, _ := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 3 || frames[1].Trust != c.want || frames[2].Trust != c.want {
				t.Errorf("%s, round %d: %+v", c.what, round, frames)
			}
		}
	}
}

// TestOneBitSameSize: the library's frame ends where h's does, and has its return address at the same place, but saves
// another register. Which of the two was running is in doubt; what lies further out is not, unless a register told how
// large a frame is there.
func TestOneBitSameSize(t *testing.T) {
	const inCaller, inOuter, lost = 0x400238, 0x4002a8, 0x1000_0000
	arch := o32()
	s0, fp := cpu.Reg(16), cpu.Reg(30)
	for _, base := range []cpu.Reg{arch.SP, fp} {
		want := unwind.Certain
		if base == fp {
			want = unwind.Likely
		}
		stack := synth.Stack(arch).Zero(20).Word(inCaller).Zero(36).Word(inOuter).Zero(64).Place(0x7fff_0000)
		app := programWith(arch, inCaller-8, 0x0320f809)
		copy(app.Image.Segments.Code(inOuter-8), []byte{0x03, 0x20, 0xf8, 0x09})
		clear(app.Image.Segments.Code(inF - 8)[:4])
		lib := synth.Module(arch, 0x400000^lost, programWith(arch, inH-8, 0x0320f809).Image.Segments[0].Data)
		snap := synth.Capture(arch, []*target.Module{app, lib}, stack)
		snap.Threads = []target.Thread{{ID: 1, Regs: *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": stack.Base, "ra": inH, "s8": stack.Base + 24})}}
		source := tables(arch, unwind.MethodCFI, 0)
		other, outer := saved(arch, 24, 0), saved(arch, 40, 0)
		other.Add(unwind.RegRule{Kind: unwind.AtCFA, Reg: s0, Base: cpu.NoReg, Off: -8})
		outer.CFA.Base = base
		source.at[inH^lost], source.at[inCaller] = []unwind.Rule{other}, []unwind.Rule{outer}
		source.ends[inOuter] = true
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: sameHundred}})
		for round := range 3 {
			frames, _ := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 4 || frames[1].Trust != unwind.Likely || frames[3].Trust != want {
				t.Errorf("base %v, round %d: %+v", base, round, frames)
			}
		}
	}
}
