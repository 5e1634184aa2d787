package unwind_test

import (
	"testing"

	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestOneBitElsewhere: a call of f in g, too, its return address one bit from that in main.
// Were it g that called f, g's frame of 32 bytes would lie there.
func TestOneBitElsewhere(t *testing.T) {
	const inOther = inMain ^ 0x200
	arch := o32()
	for _, c := range []struct {
		what string
		word uint64 // where a frame of g has its return address
		rule bool   // g's frame is known
		want unwind.Trust
	}{
		{"no return address lies where g's frame has its own", 0x1000, true, unwind.Certain},
		{"one does, where h calls through a register: it may have been g", inH, true, unwind.Likely},
		{"one does, but main calls f there", inMain, true, unwind.Certain},
		{"nobody knows how large g's frame is", 0x1000, false, unwind.Likely},
	} {
		snap := stopped(arch, synth.Stack(arch).Label("f").Zero(28).Word(inMain).Label("main").Zero(28).Word(c.word).Zero(32).Place(0x7fff_0000))
		copy(snap.Modules[0].Image.Segments.Code(inOther-8), snap.Modules[0].Image.Segments.Code(inMain - 8)[:4])
		source := tables(arch, unwind.MethodCFI, 0)
		if c.rule {
			source.at[inOther] = []unwind.Rule{saved(arch, 32, 0)}
		}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: sameHundred}})
		for round := range 3 {
			frames, _ := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 3 || frames[2].Trust != c.want {
				t.Errorf("%s, round %d: %+v", c.what, round, frames)
			}
		}
	}
}

// TestOneBitOtherModule: h called g through a register; one bit away a library makes such a call, too, and
// its frame of 32 bytes would lead to h's caller, which an earlier call may have left there. Where h's caller calls
// h straight, the frame is h's.
func TestOneBitOtherModule(t *testing.T) {
	const inCaller, lost = 0x400238, 0x1000_0000
	const jalr, jalH, jalNowhere, nowhere = 0x0320f809, 0x0c000000 | hEntry>>2, 0x0c000000 | 0x50_0000>>2, 0x1050_0000
	holds := func(entry, pc uint64) unwind.Answer {
		if entry == nowhere {
			return unwind.Unknown
		}
		return sameHundred(entry, pc)
	}
	arch := o32()
	for _, c := range []struct {
		what string
		call uint32 // of h's caller
		lib  uint32 // the library's call
		base uint64 // of the library
		word uint64 // where the library's frame has its return address
		not  uint64 // a call through a register that has not led there
		want unwind.Trust
	}{
		{"it may have been the library", jalr, jalr, 0x400000 ^ lost, inCaller, 0, unwind.Likely},
		{"the library is not one bit away", jalr, jalr, 0x400000 ^ lost ^ 0x10_0000, inCaller, 0, unwind.Certain},
		{"no return address lies where the library's frame has its own", jalr, jalr, 0x400000 ^ lost, 0x1000, 0, unwind.Certain},
		{"what reads as a call leads to where nothing is mapped", jalr, jalNowhere, 0x400000 ^ lost, inCaller, 0, unwind.Certain},
		{"h's caller calls h", jalH, jalr, 0x400000 ^ lost, inCaller, 0, unwind.Certain},
		{"the library calls an import, from where no way leads to g", jalr, jalr, 0x400000 ^ lost, inCaller, inH ^ lost - 8, unwind.Certain},
		{"what calls there can have called h only", jalr, jalr, 0x400000 ^ lost, inCaller, inCaller - 8, unwind.Certain},
	} {
		stack := synth.Stack(arch).Zero(20).Word(inCaller).Zero(4).Word(c.word).Zero(64).Place(0x7fff_0000)
		app := programWith(arch, inCaller-8, c.call)
		clear(app.Image.Segments.Code(inF - 8)[:4])
		lib := synth.Module(arch, c.base, programWith(arch, inH-8, c.lib).Image.Segments[0].Data)
		snap := synth.Capture(arch, []*target.Module{app, lib}, stack)
		snap.Threads = []target.Thread{{ID: 1, Regs: *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": stack.Base, "ra": inH})}}
		source := tables(arch, unwind.MethodCFI, 0)
		source.at[inH^lost], source.ends[inCaller] = []unwind.Rule{saved(arch, 32, 0)}, true
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: holds, byName: map[uint64]bool{nowhere: true},
			mayCall: map[uint64]unwind.Answer{c.not: unwind.No}}})
		for round := range 3 {
			frames, _ := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 3 || frames[1].Trust != c.want || frames[2].Trust != c.want {
				t.Errorf("%s, round %d: %+v", c.what, round, frames)
			}
		}
	}
}

// TestOneBitStale: main calls f, and so does i, one bit away. An earlier call of main left the return address
// that leads on from main's frame; another one, of i's caller, lies where i's frame has its own. Both callers are
// as good.
func TestOneBitStale(t *testing.T) {
	const inI, inCallerOfMain, inCallerOfI = inMain ^ 0x400, 0x400218, 0x400238
	arch := o32()
	for other, want := range map[uint64]unwind.Trust{0x400400: unwind.Likely, hEntry: unwind.Certain} {
		stack := synth.Stack(arch).Zero(28).Word(inMain).Zero(28).Word(inCallerOfMain).Zero(4).Word(inCallerOfI).Zero(64).Place(0x7fff_0000)
		snap := stopped(arch, stack)
		code := snap.Modules[0].Image.Segments
		copy(code.Code(inI-8), code.Code(inMain - 8)[:4])
		copy(code.Code(inCallerOfMain-8), []byte{0x0c, 0x10, 0, 0})
		copy(code.Code(inCallerOfI-8), []byte{0x0c, 0x10, byte(other >> 10), byte(other >> 2)})
		source := tables(arch, unwind.MethodCFI, 0)
		source.at[inMain], source.at[inI] = []unwind.Rule{saved(arch, 32, 0)}, []unwind.Rule{saved(arch, 40, 0)}
		source.ends = map[uint64]bool{inCallerOfMain: true}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: sameHundred}})
		for round := range 3 {
			frames, _ := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 4 || frames[2].Trust != want || frames[3].Trust != want {
				t.Errorf("i's place is behind a call of %#x, round %d: %+v", other, round, frames)
			}
		}
	}
}

// TestOneBitAwayAnywhere: nobody knows whether the other call of f is in main or in another
// function. What lies further out, and has no proven caller, depends on which of them was running.
func TestOneBitAwayAnywhere(t *testing.T) {
	const inOther = inMain ^ 0x20
	arch := o32()
	for _, blind := range []bool{false, true} {
		snap := stopped(arch, synth.Stack(arch).Label("f").Zero(28).Word(inMain).Label("main").Zero(28).Word(inH).Label("h").Zero(64).Place(0x7fff_0000))
		copy(snap.Modules[0].Image.Segments.Code(inOther-8), snap.Modules[0].Image.Segments.Code(inMain - 8)[:4])
		source := tables(arch, unwind.MethodCFI, 0)
		source.at[inMain] = []unwind.Rule{saved(arch, 32, 0)}
		source.ends = map[uint64]bool{inH: true}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: sameHundred, blind: blind}})
		frames, _ := w.Walk(&snap.Threads[0], nil)
		if len(frames) != 4 || frames[2].Trust != unwind.Likely || frames[3].Trust == unwind.Certain == blind {
			t.Errorf("blind %v: %+v", blind, frames)
		}
	}
}

// TestOneBitAlike: a call of f in g as well, one bit away, and a return address where g's frame
// has its own. Where that frame is laid out as main's, main's caller is the same either way,
// though nothing proves it; where not, the caller depends on which of the two was running.
func TestOneBitAlike(t *testing.T) {
	const inOther = inMain ^ 0x200
	arch := o32()
	for _, c := range []struct {
		size int64 // of g's frame
		want unwind.Trust
	}{{32, unwind.Certain}, {36, unwind.Likely}} {
		snap := stopped(arch, synth.Stack(arch).Label("f").Zero(28).Word(inMain).Label("main").Zero(28).Word(inH).Word(inH).Label("h").Zero(64).Place(0x7fff_0000))
		copy(snap.Modules[0].Image.Segments.Code(inOther-8), snap.Modules[0].Image.Segments.Code(inMain - 8)[:4])
		source := tables(arch, unwind.MethodCFI, 0)
		source.at[inMain], source.at[inOther] = []unwind.Rule{saved(arch, 32, 0)}, []unwind.Rule{saved(arch, c.size, 0)}
		source.ends = map[uint64]bool{inH: true}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: sameHundred}})
		for round := range 3 {
			frames, _ := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 4 || frames[2].Trust != unwind.Likely || frames[3].Trust != c.want {
				t.Errorf("frame of %d bytes, round %d: %+v", c.size, round, frames)
			}
		}
	}
}

// TestOneBitPushed: main calls f at two places one bit apart, before one of which main has pushed words. Where a
// return address lies there that may be main's, the frames further out are in doubt, too.
func TestOneBitPushed(t *testing.T) {
	const other = inMain ^ 0x20
	arch := o32()
	for _, c := range []struct {
		size int64  // of main's frame at the other call
		word uint64 // where main's return address lies then
		want unwind.Trust
	}{{32, inH, unwind.Certain}, {40, inH, unwind.Likely}, {40, 0x1000, unwind.Certain}} {
		snap := stopped(arch, synth.Stack(arch).Label("f").Zero(28).Word(inMain).Label("main").Zero(28).Word(inH).Zero(4).Word(c.word).Label("h").Zero(64).Place(0x7fff_0000))
		copy(snap.Modules[0].Image.Segments.Code(other-8), snap.Modules[0].Image.Segments.Code(inMain - 8)[:4])
		source := tables(arch, unwind.MethodCFI, 0)
		source.at[inMain], source.at[other] = []unwind.Rule{saved(arch, 32, 0)}, []unwind.Rule{saved(arch, c.size, 0)}
		source.ends = map[uint64]bool{inH: true}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: sameHundred}})
		for round := range 3 {
			frames, _ := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 4 || frames[2].Trust != unwind.Likely || frames[3].Trust != c.want {
				t.Errorf("%+v, round %d: %+v", c, round, frames)
			}
		}
	}
}

// TestOneBitOtherCallee: h calls the function of frame 0 through a register, nobody knows how.
// Of the call one bit away it is known where that goes: to a function of another library, from
// which nobody knows a way back, unless imports' names say that there may be one: a lost bit makes the
// one of the other then. A table, which needs no code, has it asked all the same; where h's call is known to
// go to that function, a call of which that is not known is none to doubt for.
func TestOneBitOtherCallee(t *testing.T) {
	const inOther, elsewhere = inH ^ 0x20, 0x7fff_0000
	arch := o32()
	toG := func(entry, _ uint64) unwind.Answer {
		if entry == gEntry {
			return unwind.Yes
		}
		return unwind.Unknown
	}
	for _, tt := range []struct {
		method      unwind.Method
		own, callee uint64
		byName      bool
		want        unwind.Checks
		may         unwind.Answer
	}{
		{unwind.MethodCode, 0, 0, false, unwind.OneBitAway, unwind.Unknown}, {unwind.MethodCode, 0, elsewhere, false, 0, unwind.Unknown},
		{unwind.MethodCFI, 0, 0, false, unwind.OneBitAway, unwind.Unknown}, {unwind.MethodCFI, 0, elsewhere, false, 0, unwind.Unknown},
		{unwind.MethodCode, 0, elsewhere, true, unwind.OneBitAway, unwind.Unknown}, {unwind.MethodCFI, 0, elsewhere, true, unwind.OneBitAway, unwind.Unknown},
		{unwind.MethodCode, gEntry, elsewhere, true, 0, unwind.Unknown}, {unwind.MethodCFI, gEntry, elsewhere, true, 0, unwind.Unknown},
		{unwind.MethodCode, 0, 0, false, 0, unwind.No}, {unwind.MethodCFI, 0, 0, false, 0, unwind.No},
		{unwind.MethodCode, gEntry, 0, false, unwind.OneBitAway, unwind.Unknown}, {unwind.MethodCode, gEntry, 0, false, 0, unwind.No},
	} {
		snap := stopped(arch, synth.Stack(arch).Zero(28).Word(inMain).Zero(64).Place(0x7fff_0000))
		snap.Threads[0].Regs = *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": 0x7fff_0000, "ra": inH})
		copy(snap.Modules[0].Image.Segments.Code(inOther-8), snap.Modules[0].Image.Segments.Code(inH - 8)[:4])
		calls := graph{holds: toG, calleeAt: map[uint64]uint64{inH - 8: tt.own, inOther - 8: tt.callee}, byName: map[uint64]bool{elsewhere: tt.byName},
			mayCall: map[uint64]unwind.Answer{inOther - 8: tt.may}}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{tables(arch, tt.method, 0)}, CallGraph: calls})
		if frames, _ := w.Walk(&snap.Threads[0], nil); len(frames) < 2 || frames[1].Checks&unwind.OneBitAway != tt.want {
			t.Errorf("%+v: %+v", tt, frames)
		}
	}
}

// TestOneBitByPointer: main calls f, and calls through a register one bit away. Nobody knows where
// that call goes: to f as well, unless no pointer leads there, or the call is another function's.
func TestOneBitByPointer(t *testing.T) {
	arch := o32()
	for _, tt := range []struct {
		what  string
		other uint64
		calls graph
		want  unwind.Checks
	}{
		{"a pointer to f may be called", inMain ^ 0x10, graph{holds: sameHundred, pointed: unwind.Yes}, unwind.OneBitAway},
		{"nobody knows of one", inMain ^ 0x10, graph{holds: sameHundred}, 0},
		{"a register holds f's address on one way to the call", inMain ^ 0x10, graph{holds: sameHundred, mayCall: map[uint64]unwind.Answer{inMain ^ 0x10 - 8: unwind.Yes}}, unwind.OneBitAway},
		{"a register holds other addresses on all ways", inMain ^ 0x10, graph{holds: sameHundred, pointed: unwind.Yes, mayCall: map[uint64]unwind.Answer{inMain ^ 0x10 - 8: unwind.No}}, 0},
		{"nobody has a pointer to f", inMain ^ 0x10, graph{holds: sameHundred, pointed: unwind.Yes, unpointed: inF &^ 0xff}, 0},
		{"another function calls a pointer", inMain ^ 0x200, graph{holds: sameHundred, pointed: unwind.Yes}, 0},
		{"the pointer leads to h", inMain ^ 0x10, graph{holds: sameHundred, pointed: unwind.Yes, callee: inH &^ 0xff}, 0},
		{"what seems to be a call is part of another instruction", inMain ^ 0x10, graph{holds: sameHundred, pointed: unwind.Yes, within: inMain ^ 0x10 - 8}, 0},
		{"the pointer leads to f", inMain ^ 0x10, graph{holds: sameHundred, pointed: unwind.Yes, callee: inF &^ 0xff}, unwind.OneBitAway},
	} {
		for _, method := range []unwind.Method{unwind.MethodCFI, unwind.MethodCode} {
			snap := stopped(arch, stackOf(arch))
			copy(snap.Modules[0].Image.Segments.Code(tt.other-8), snap.Modules[0].Image.Segments.Code(inH - 8)[:4])
			w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{tables(arch, method, 0)}, CallGraph: tt.calls})
			if frames, _ := w.Walk(&snap.Threads[0], nil); len(frames) != 3 || frames[2].Checks&unwind.OneBitAway != tt.want {
				t.Errorf("%s, %v: %+v", tt.what, method, frames)
			}
		}
	}
}

// TestOneBitByStub: h calls f through a register, as far as anyone knows; one bit away it calls a
// stub in g, which goes to f, or to a function that ends in a jump to f, as agraphattr_init of libcgraph for
// AArch64, which agopen1 calls at 0x8354, and through a register at 0x8344. A table tells where f begins.
func TestOneBitByStub(t *testing.T) {
	const inOther = inH ^ 0x20
	arch := o32()
	jumps := func(entry, _ uint64) unwind.Answer {
		if entry == gEntry {
			return unwind.YesByJump
		}
		return unwind.Unknown
	}
	for _, tt := range []struct {
		to    uint64
		holds func(entry, pc uint64) unwind.Answer
		want  unwind.Checks
	}{{fEntry, unknownTargets, unwind.OneBitAway}, {mainEntry, unknownTargets, 0}, {mainEntry, jumps, unwind.OneBitAway}} {
		snap := stopped(arch, synth.Stack(arch).Zero(28).Word(inMain).Zero(64).Place(0x7fff_0000))
		snap.Threads[0].Regs = *synth.Regs(arch, map[string]uint64{"pc": inF, "sp": 0x7fff_0000, "ra": inH})
		copy(snap.Modules[0].Image.Segments.Code(inOther-8), snap.Modules[0].Image.Segments.Code(inF - 8)[:4])
		source := tables(arch, unwind.MethodCFI, 0)
		atStart := leaf(arch, unwind.StartStated)
		atStart.Start = fEntry
		source.at[inF] = []unwind.Rule{atStart}
		calls := graph{holds: tt.holds, stubs: map[uint64]uint64{gEntry: tt.to}}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: calls})
		if frames, _ := w.Walk(&snap.Threads[0], nil); len(frames) < 2 || frames[1].Checks&unwind.OneBitAway != tt.want {
			t.Errorf("the stub goes to %#x: %+v", tt.to, frames)
		}
	}
}
