package scan

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

func archOf(t testing.TB, all []*cpu.Arch, name, abi string) *cpu.Arch {
	a, ok := cpu.Set(all).ByName(name, abi, false)
	if !ok {
		t.Fatal(name)
	}
	return a
}

// hidden is a stopped program whose binary is not at hand, with PC in the function at 0x100 and some code at 0x140.
func hidden(a *cpu.Arch, named, exact bool, code string, words ...uint64) *stackwalk.State {
	snap := synth.Capture(a, nil, synth.Stack(a).Words(words...).Place(stackAt))
	segs := image.Segments{{Size: 0x140, Exec: true}, {Addr: 0x140, Size: uint64(len(code)), Data: []byte(code), Exec: true}, {Addr: 0x180, Size: 0xe80, Exec: true}}
	img := image.New(image.Header{Arch: a, Segments: segs}, symbolFile{named: named})
	snap.Modules = []*target.Module{{Name: "lib", Image: img, Bias: codeAt, Range: target.Range{Lo: codeAt, Hi: codeAt + 0x1000}}}
	s := captured.State(snap, synth.Regs(a, map[string]uint64{"pc": codeAt + 0x144, "sp": stackAt}), exact)
	if gp, ok := a.RegByName("gp"); ok {
		s.Thread.Regs.Set(gp, globalAt)
	}
	return s
}

const globalAt = 0x4a_6ad0

// TestArguments: o32 has room for the arguments of the functions that a frame calls at SP; a word there is none of its own.
func TestArguments(t *testing.T) {
	a := archOf(t, mips.Archs(), "mips", "o32")
	s := hidden(a, false, false, "", codeAt+0x20, 0, 0, codeAt+0x24, codeAt+0x28, 0)
	if h := steps(s, New(reach{})); h != codeAt+0x28 {
		t.Errorf("%#x", h)
	}
}

// TestGlobalPointer: of words that may be return addresses the one counts where the frame keeps MIPS' global pointer, as o32 and
// n64 do; where none does, the nearest.
func TestGlobalPointer(t *testing.T) {
	o32, n64 := archOf(t, mips.Archs(), "mips", "o32"), archOf(t, mips.Archs(), "mips64", "n64")
	for _, c := range []struct {
		arch  *cpu.Arch
		words []uint64
	}{
		{o32, []uint64{0, 0, 0, 0, codeAt + 0x20, codeAt + 0x300, 0, 0, 0, 0, globalAt}},
		{o32, []uint64{0, 0, 0, 0, codeAt + 0x300, codeAt + 0x20}},
		{n64, []uint64{codeAt + 0x20, globalAt, 0, codeAt + 0x300}},
		{n64, []uint64{codeAt + 0x20, globalAt, codeAt + 0x300}},
	} {
		if h := steps(hidden(c.arch, false, false, "", c.words...), New(reach{})); h != codeAt+0x300 {
			t.Errorf("%s %#x: %#x", c.arch, c.words, h)
		}
	}
}

func steps(s *stackwalk.State, f Source) uint64 {
	var got stackwalk.Caller
	if f.Step(s, &got) != unwind.Found {
		return 0
	}
	return got.Regs.Val[s.Snapshot.Arch.PC]
}

// sized is a table by which each frame has 16 bytes, with the return address on top.
type sized struct{}

func (sized) Method() unwind.Method { return unwind.MethodCFI }

func (sized) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: q.Arch.SP, Off: 16}
	out.RA = stackwalk.RegRule{Kind: stackwalk.AtCFA, Off: -8}
	return unwind.Found
}

// TestLeadsOn: a word counts where its frame, by the table, has a return address: at once, or behind the arguments that the callee
// has saved; or where the stack ends. What has one whose own caller would lie outside all code is an old one.
func TestLeadsOn(t *testing.T) {
	a := archOf(t, riscv.Archs(), "riscv64", "")
	const stale, right = codeAt + 0x20, codeAt + 0x124
	for _, c := range []struct {
		words []uint64
		want  uint64
	}{
		{[]uint64{stale, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, right, 1, codeAt + 0x30}, right},
		{[]uint64{stale, 1, 1, 1, 1, 1, codeAt + 0x30, 1, 1}, stale},
		{[]uint64{stale, 1, 1}, stale},
		{[]uint64{stale, 1, codeAt + 0x30, 1, 0x7777, 1, 1, 1, 1, 1, 1, 1, 1, 1, right, 1, codeAt + 0x30}, right},
	} {
		if h := steps(hidden(a, true, false, "", c.words...), New(reach{}).By(sized{})); h != c.want {
			t.Errorf("%#x: %#x, want %#x", c.words, h, c.want)
		}
	}
}

// TestLeadsFar: from the nearest word the table leads to callers of callers, which is more than a global pointer beside another word.
func TestLeadsFar(t *testing.T) {
	a := archOf(t, mips.Archs(), "mips64", "n64")
	s := hidden(a, true, false, "", codeAt+0x120, 1, codeAt+0x24, 1, codeAt+0x28, globalAt, codeAt+0x300)
	if h := steps(s, New(reach{}).By(sized{})); h != codeAt+0x120 {
		t.Errorf("%#x", h)
	}
}

// TestInView: where code of the frame's function is at hand, what restores the return address there tells its place.
func TestInView(t *testing.T) {
	a := archOf(t, riscv.Archs(), "riscv64", "")
	const behind = "\x13\x00\x00\x00" + // 140: nop
		"\x13\x00\x00\x00" + // 144: nop, the PC
		"\x83\x30\x81\x01" + // 148: ld ra,24(sp)
		"\x67\x80\x00\x00" // 14c: ret
	const before = "\x83\x30\x81\x01\x67\x80\x00\x00\x13\x00\x00\x00"
	const raised = "\x13\x00\x00\x00\x13\x01\x01\x01\x83\x30\x81\x00" // 144: addi sp,sp,16; ld ra,8(sp)
	for _, code := range []string{behind, before, raised} {
		s := hidden(a, true, true, code, codeAt+0x20, 0, 0, codeAt+0x224)
		if h := steps(s, New(reach{})); h != codeAt+0x224 {
			t.Errorf("%x: %#x", code, h)
		}
	}
	if h := steps(hidden(a, true, true, "\x13\x00\x00\x00\x13\x00\x00\x00", codeAt+0x20, 0, 0, codeAt+0x224), New(reach{})); h != codeAt+0x20 {
		t.Errorf("no way out: %#x", h)
	}
}
