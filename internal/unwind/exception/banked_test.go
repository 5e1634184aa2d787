package exception

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/unwind"
)

// TestBankingOf: the encodings that GNU as makes, in both instruction sets.
func TestBankingOf(t *testing.T) {
	for _, c := range []struct {
		text string
		isa  cpu.Mode
		code uint32
		want banking
		ok   bool
	}{
		{"srsdb sp!,#31", 0, 0xf96d051f, banking{31, true, true, true}, true},
		{"srsdb sp,#19", 0, 0xf94d0513, banking{19, true, true, false}, true},
		{"srsia sp!,#19", 0, 0xf8ed0513, banking{19, true, false, true}, true},
		{"srsib sp!,#19", 0, 0xf9ed0513, banking{}, false},
		{"cps #31", 0, 0xf102001f, banking{mode: 31}, true},
		{"cpsid if,#19", 0, 0xf10e00d3, banking{mode: 19}, true},
		{"msr cpsr_c,#0xdf", 0, 0xe321f0df, banking{mode: 31}, true},
		{"cpsid i", 0, 0xf10c0080, banking{}, false},
		{"rfeia sp!", 0, 0xf8bd0a00, banking{}, false},
		{"srsdb sp!,#31", 1, 0xc01fe82d, banking{31, true, true, true}, true},
		{"srsia sp,#19", 1, 0xc013e98d, banking{19, true, false, false}, true},
		{"cps #31", 1, 0x811ff3af, banking{mode: 31}, true},
		{"cpsid if,#19", 1, 0x8773f3af, banking{mode: 19}, true},
		{"cpsie.w i", 1, 0x8440f3af, banking{}, false},
		{"rfeia sp!", 1, 0xc000e9bd, banking{}, false},
	} {
		got, ok := bankingOf(binary.LittleEndian.AppendUint32(nil, c.code), c.isa)
		if got.writes = got.writes && got.stores; ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.text, got, ok, c.want)
		}
	}
}

// bankedEntry is the entry of banked.go's comment; the frame under test is behind its call.
var bankedEntry = []uint32{0xe24ee004, 0xf96d051f, 0xf102001f, 0xe92d100f, 0xe20d1004, 0xe04dd001, 0xe92d4002, 0xeb000000, 0xe8bd4002}

// bankedFrame is the stack of that entry behind the call: r1, lr, padding, r0 to r3, r12, PC,
// CPSR; and the stack pointer of the interrupted code.
func bankedFrame(a *cpu.Arch, padding int, cpsr uint64) (frame synth.Placed, interruptedSP uint64) {
	words := []uint64{uint64(4 * padding), caller}
	words = append(words, make([]uint64, padding)...)
	words = append(words, 0xaa, 0xab, 0xac, 0xad, 0x55, interrupted, cpsr)
	return synth.Stack(a).Words(words...).Zero(64).Place(taskSP), taskSP + uint64(4*len(words))
}

// TestBanked: the interrupted code ran in the mode on whose stack the entry put what the
// processor banked, or the entry says nothing. Which of two stack pointers was rounded, the
// stored words tell.
func TestBanked(t *testing.T) {
	a := arm.Archs()[0]
	for _, c := range []struct {
		name    string
		padding int
		cpsr    uint64
		pc      uint64
		want    unwind.Verdict
	}{
		{"System mode", 0, 0x6000_001f, interrupted, unwind.Found},
		{"System mode, rounded", 1, 0x6000_001f, interrupted, unwind.Found},
		{"User mode has the same stack pointer", 0, 0x6000_0010, interrupted, unwind.Found},
		{"Thumb", 0, 0x6000_003f, interrupted | 1, unwind.Found},
		{"Supervisor mode has another one", 0, 0x6000_0013, 0, unwind.NotCovered},
	} {
		frame, stack := bankedFrame(a, c.padding, c.cpsr)
		text := make([]byte, 0x800)
		for i, w := range bankedEntry {
			binary.LittleEndian.PutUint32(text[0x100+4*i:], w)
		}
		snap := synth.Capture(a, modules(synth.Module(a, flash, text)), frame)
		regs := synth.Regs(a, map[string]uint64{"pc": flash + 0x120, "sp": taskSP, "r4": 0x44})
		var got stackwalk.Caller
		if v := (Source{}).Step(captured.State(snap, regs, false), &got); v != c.want {
			t.Errorf("%s: %v, want %v: %+v", c.name, v, c.want, got)
			continue
		}
		if c.want != unwind.Found {
			continue
		}
		for name, want := range map[string]uint64{"pc": c.pc, "sp": stack, "lr": caller, "r0": 0xaa, "r12": 0x55, "r4": 0x44, "cpsr": c.cpsr} {
			r, _ := a.RegByName(name)
			if v, ok := got.Regs.Lookup(r); !ok || v != want {
				t.Errorf("%s: %s = %#x, want %#x", c.name, name, v, want)
			}
		}
	}
}

// FuzzBanked: any code and any stack end, and move on.
func FuzzBanked(f *testing.F) {
	a := arm.Archs()[0]
	var b []byte
	for _, w := range bankedEntry {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	f.Add(b, uint16(0x20), uint32(taskSP))
	frame, _ := bankedFrame(a, 1, 0x1f)
	f.Fuzz(func(t *testing.T, code []byte, pc uint16, stack uint32) {
		if len(code) == 0 {
			return
		}
		snap := synth.Capture(a, modules(synth.Module(a, flash, code)), frame)
		regs := synth.Regs(a, map[string]uint64{"pc": flash + uint64(pc), "sp": uint64(stack)})
		(Source{}).Step(captured.State(snap, regs, pc&2 != 0), new(stackwalk.Caller))
	})
}
