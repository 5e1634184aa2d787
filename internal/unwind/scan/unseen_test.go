package scan

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// symbolFile is a container without code: functions at 0, 0x100, 0x200 of 0x80 bytes each, the second 0x100, or none.
type symbolFile struct {
	image.Container
	named bool
}

func (symbolFile) Hollow() bool { return true }

func (c symbolFile) SymbolAt(addr uint64) (image.Symbol, bool) {
	ok := c.named && addr < 0x300 && (addr&0xff < 0x80 || addr < 0x200 && addr >= 0x100)
	return image.Symbol{Name: "f", Addr: addr &^ 0xff, Size: 0x80}, ok
}

func (c symbolFile) Functions(yield func(uint64, cpu.Mode, uint64) bool) {
	for addr := uint64(0); c.named && addr < 0x300 && yield(addr, 0, 0x80); addr += 0x100 {
	}
}

// blind captures a stack beside a module whose code is not at hand.
func blind(named bool, words ...uint64) *target.Snapshot {
	a := arm64.Archs()[0]
	snap := synth.Capture(a, nil, synth.Stack(a).Words(words...).Place(stackAt))
	img := image.New(image.Header{Arch: a, Segments: image.Segments{{Size: 0x1000, Exec: true}}}, symbolFile{named: named})
	snap.Modules = []*target.Module{{Name: "lib", Image: img, Bias: codeAt, Range: target.Range{Lo: codeAt, Hi: codeAt + 0x1000}}}
	return snap
}

// TestUnseen: of a binary that is not at hand, symbols tell return addresses from data and from pointers to functions; without
// symbols what was executable is all that is known.
func TestUnseen(t *testing.T) {
	a := arm64.Archs()[0]
	for _, c := range []struct {
		name  string
		named bool
		pc    uint64
		lr    uint64
		words []uint64
		want  uint64 // 0: none
	}{
		{"within a function", true, codeAt + 0x10, 0, []uint64{codeAt + 0x100, codeAt + 0x2c0, codeAt + 0x12, codeAt + 0x124}, codeAt + 0x124},
		{"no symbols", false, codeAt + 0x10, 0, []uint64{stackAt, codeAt + 0x2000, codeAt + 0x1c0}, codeAt + 0x1c0},
		{"the link register, in another function", true, codeAt + 0x10, codeAt + 0x220, []uint64{codeAt + 0x124}, codeAt + 0x220},
		{"the link register, of a call that came back", true, codeAt + 0x10, codeAt + 0x8, []uint64{codeAt + 0x124}, codeAt + 0x124},
		{"the link register, without symbols", false, codeAt + 0x10, codeAt + 0x220, []uint64{codeAt + 0x124}, codeAt + 0x124},
		{"nothing", true, codeAt + 0x10, 0, []uint64{codeAt + 0x2c0, 7}, 0},
	} {
		s := captured.State(blind(c.named, c.words...), synth.Regs(a, map[string]uint64{"pc": c.pc, "sp": stackAt, "lr": c.lr}), true)
		var got stackwalk.Caller
		v := New(reach{}).Step(s, &got)
		if pc := got.Regs.Val[a.PC]; v == unwind.Found && pc != c.want || v != unwind.Found && c.want != 0 {
			t.Errorf("%s: %v %#x, want %#x", c.name, v, pc, c.want)
		}
	}
}

// TestHandler: the nearest word that leads into a handler whose code is not at hand comes before the trampoline behind; so does,
// where no other does, the first address of a function, behind a handler whose last call never returns.
func TestHandler(t *testing.T) {
	a := arm64.Archs()[0]
	for _, c := range []struct{ word, want uint64 }{{codeAt + 0x124, codeAt + 0x124}, {codeAt + 0x200, codeAt + 0x200}, {codeAt + 0x2c0, codeAt + 0x2d0}} {
		s := captured.State(blind(true, c.word, codeAt+0x2d0), synth.Regs(a, map[string]uint64{"pc": codeAt + 0x10, "sp": stackAt, "lr": 0}), false)
		var got stackwalk.Caller
		if v := New(reach{}, handlerReturn(codeAt+0x2d0)).Step(s, &got); v != unwind.Found || got.Regs.Val[a.PC] != c.want {
			t.Errorf("%#x: %v %#x", c.word, v, got.Regs.Val[a.PC])
		}
	}
}

// marked is a trampoline whose code nobody sees, at an address, with its frame at a stack pointer.
type marked struct{ pc, sp uint64 }

func (marked) At(*stackwalk.State, uint64, cpu.Mode) bool { return false }

func (m marked) Unseen(_ *stackwalk.State, pc, sp uint64) bool { return pc == m.pc && sp == m.sp }

// TestUnseenTrampoline: a trampoline is what its frame behind the word says, where the word lies and in the link register, which
// older copies on the stack do not move.
func TestUnseenTrampoline(t *testing.T) {
	a := arm64.Archs()[0]
	const at = codeAt + 0x200
	for _, c := range []struct {
		lr, frame, sp uint64
	}{{0, stackAt + 24, stackAt + 24}, {at, stackAt, stackAt}} {
		s := captured.State(blind(true, codeAt+0x300, at, at), synth.Regs(a, map[string]uint64{"pc": codeAt + 0x10, "sp": stackAt, "lr": c.lr}), true)
		var got stackwalk.Caller
		v := New(reach{}, marked{at, c.frame}).Step(s, &got)
		if v != unwind.Found || got.Regs.Val[a.PC] != at || got.Regs.Val[a.SP] != c.sp {
			t.Errorf("LR %#x: %v %#x, SP %#x", c.lr, v, got.Regs.Val[a.PC], got.Regs.Val[a.SP])
		}
	}
}
