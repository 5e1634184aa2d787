package stackmap_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/stackmap"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestOf: a stack of two frames, word by word.
func TestOf(t *testing.T) {
	arch, ok := cpu.Set(mips.Archs()).ByName("mips", "o32", true)
	if !ok {
		t.Fatal("no mips")
	}
	code := synth.Module(arch, 0x400000, make([]byte, 64))
	const text = 0x47455420 // "GET "
	stack := synth.Stack(arch).
		Label("frame 0").Words(7, text).Ref("frame 1", 0).Words(0x400020).Word(5).Label("ra").Word(0x400010).
		Label("frame 1").Words(0, 0x41414141).
		Place(0x7fff0000)
	snap := synth.Capture(arch, []*target.Module{code}, stack)
	th := &report.Thread{Thread: &target.Thread{Regs: *synth.Regs(arch, map[string]uint64{"sp": stack.Base})}}
	th.Frames = []report.Frame{
		{Frame: &unwind.Frame{PC: 0x400008, CFA: stack.Addr("frame 1"), HasCFA: true}, Location: new(symbol.Location)},
		{Frame: &unwind.Frame{PC: 0x400010}, Location: &symbol.Location{Function: "main"}},
	}
	th.Tried = [][]report.Attempt{nil, {{
		Attempt: unwind.Attempt{Taken: true, PC: 0x400010}, RASlot: stack.Addr("ra"),
		Saved: []report.Saved{{Name: "s0", Slot: stack.Addr("ra") - 4}},
	}}, nil}
	th.Overwritten = &report.Overwritten{Frame: 2, Value: 0x41414141, Text: "AAAA", Slot: stack.Addr("frame 1") + 4}
	want := []stackmap.Word{
		{Value: 7},
		{Value: text, Kind: stackmap.Text, Note: `"GET "`},
		{Value: stack.Addr("frame 1"), Kind: stackmap.Stack, Note: "SP+0x18"},
		{Value: 0x400020, Kind: stackmap.Code, Note: "code+0x20"},
		{Value: 5, Kind: stackmap.SavedRegister, Note: "s0"},
		{Value: 0x400010, Kind: stackmap.ReturnAddress, Note: "#0 returns to #1 main"},
		{Frame: -1},
		{Value: 0x41414141, Kind: stackmap.Overwritten, Note: "was a return address AAAA", Frame: -1},
	}
	got := stackmap.Of(snap, th, 100)
	if len(got) != len(want) {
		t.Fatalf("%d words, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		want[i].Addr = stack.Base + uint64(4*i)
		if got[i] != want[i] {
			t.Errorf("word %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if n := len(stackmap.Of(snap, th, 3)); n != 3 {
		t.Errorf("%d words where 3 are the most", n)
	}
	if n := len(stackmap.Of(snap, &report.Thread{Thread: &target.Thread{}}, 3)); n != 0 {
		t.Errorf("%d words of a thread whose SP is not known", n)
	}
}
