package dataflow

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// program is code at 400000 with nothing else known.
func program(a *cpu.Arch, code []byte) *image.Image {
	return image.New(image.Header{Path: "program", Arch: a, Segments: []image.Segment{
		{Addr: 0x400000, Size: uint64(len(code)), Data: code, Read: true, Exec: true}}}, nil)
}

// mips is big-endian code of so many instructions.
func mips(t testing.TB, n int, insn func(i int) uint32) *image.Image {
	a, ok := captured.Archs().ByName("mips", "o32", true)
	if !ok {
		t.Fatal("no MIPS")
	}
	var code []byte
	for i := range n {
		code = binary.BigEndian.AppendUint32(code, insn(i))
	}
	return program(a, code)
}

// What one question may cost, in instructions that are decoded: a cursor decodes some in
// vain at each transfer. calleeCost is that of a search through a callee: three levels of
// 600 instructions, of each of which eight may be decoded.
const (
	functionCost = 4 * maxRestarts * maxSteps
	pathsCost    = 20 * maxPathSteps
	calleeCost   = 3 * 600 * 8
)

// TestBudgets: programs made to cost much end at the bounds.
func TestBudgets(t *testing.T) {
	for _, tt := range []struct {
		name     string
		n, calls int
		insn     func(i int) uint32
	}{
		{"each branch skips one instruction", 10000, 0, func(int) uint32 { return 0x14800002 }},                        // bnez a0,.+12
		{"each branch goes back to the start", 10000, 0, func(i int) uint32 { return 0x14800000 | uint32(-i)&0xffff }}, // bnez a0,400000
		{"calls of each following instruction", 400, 400, func(i int) uint32 { return 0x0c100000 | uint32(i+2) }},      // jal
		{"frames upon frames, with branches between", 10000, 0, func(i int) uint32 { return [...]uint32{0x27bdffe8, 0x14800004, 0xafbf0014, 0x10a0fff0}[i%4] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, callees := uint64(tt.n), int64(tt.calls)*calleeCost
			img := mips(t, tt.n, tt.insn)
			arch, decoded := synth.Counting(img.Arch)
			img.Arch = arch
			an := of(img)
			an.Entries.Starts()
			decoded.Swap(0)
			f := an.Function(at(0x400000))
			cost := decoded.Swap(0)
			if f.Blocks() > maxBlocks+maxElements || cost > functionCost+callees {
				t.Errorf("%d blocks, %d instructions", f.Blocks(), cost)
			}
			for _, pc := range []uint64{0x400000, 0x400000 + 2*n, 0x400000 + 4*n - 8} {
				found := an.ReturnPaths(at(pc), false)
				if cost := decoded.Swap(0); len(found) > MaxReturns+1 || cost > pathsCost+callees {
					t.Errorf("%d ways out of %x, %d instructions", len(found), pc, cost)
				}
			}
		})
	}
}

// TestBranchAtTheEnd: the last word of the text is a branch whose slot is missing.
func TestBranchAtTheEnd(t *testing.T) {
	for _, last := range []string{"0c100000  jal 400000", "1000ffff  b .", "14800002  bnez a0,.+12"} {
		img := codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <f>:
			400000: 27bdffe8  addiu sp,sp,-24
			400004: afbf0014  sw    ra,20(sp)
			400008: ` + last}.Image(t)
		arch, decoded := synth.Counting(img.Arch)
		img.Arch = arch
		f := of(img).Function(at(0x400000))
		check(t, f, map[uint64]string{0x400004: "sp-24 ra", 0x400008: "sp-24 ra", 0x40000c: "not reached"})
		if cost := decoded.Swap(0); cost > 100 || f.Complete {
			t.Errorf("%s: %d instructions, %+v", last, cost, f.Facts)
		}
	}
}

// TestTableOfEverything: a jump table of a million elements is followed no further than a
// table can go.
func TestTableOfEverything(t *testing.T) {
	jump := []uint32{0x3c020040, 0x00441021, 0x8c420000, 0x00400008, 0} // lui v0,0x40; addu v0,v0,a0; lw v0,0(v0); jr v0; nop
	img := mips(t, 1<<14, func(i int) uint32 {
		if i < len(jump) {
			return jump[i]
		}
		return 0x400000 + 4*uint32(i-len(jump))
	})
	arch, decoded := synth.Counting(img.Arch)
	img.Arch = arch
	an := of(img)
	an.Entries.Starts()
	decoded.Swap(0)
	f := an.Function(at(0x400000))
	if cost := decoded.Swap(0); f.Blocks() > maxBlocks+maxElements || cost > functionCost {
		t.Errorf("%d blocks, %d instructions", f.Blocks(), cost)
	}
}

// seeds are the beginnings of functions, for every processor.
func seeds(f *testing.F) {
	for which, a := range captured.Archs() {
		for mode, code := range [][]byte{
			{0x53, 0x48, 0x83, 0xec, 0x20, 0x74, 4, 0xe8, 0, 0, 0, 0, 0xff, 0xe0, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3},
			{0x8b, 0x64, 0x24, 0x14, 0x5f, 0xc3}, // mov 0x14(%esp),%esp; pop %edi; ret
			{0x10, 0xb5, 0x04, 0x46, 0x00, 0xf0, 0x02, 0xf8, 0x20, 0x46, 0x10, 0xbd},
		} {
			f.Add(uint8(which), uint8(mode), code)
		}
		if a.Name == "mips" {
			f.Add(uint8(which), uint8(0), []byte{0x27, 0xbd, 0xff, 0xe8, 0x10, 0x80, 0, 1, 0xaf, 0xbf, 0, 0x14, 0x00, 0x40, 0, 8, 0x8f, 0xbf, 0, 0x14, 3, 0xe0, 0, 8, 0x27, 0xbd, 0, 0x18})
		}
	}
}

// random is a program of random bytes, with what it costs, and the places in it.
func random(which, mode uint8, code []byte) (img *image.Image, places []disasm.Addr) {
	archs := captured.Archs()
	a := archs[int(which)%len(archs)]
	if mode &= 1; !a.ISABit {
		mode = 0
	}
	code = code[:min(len(code), 256)]
	for i := uint64(0); i < uint64(len(code)); i += max(a.InsnAlign, 1) {
		places = append(places, disasm.Addr{PC: 0x400000 + i, Mode: cpu.Mode(mode)})
	}
	return program(a, code), places
}

// FuzzFunction analyses random bytes from every place as the code of every processor: what
// the analysis says of a function fits together, at a bounded cost.
func FuzzFunction(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, which, mode uint8, code []byte) {
		img, places := random(which, mode, code)
		arch, decoded := synth.Counting(img.Arch)
		img.Arch = arch
		an := of(img)
		for _, entry := range places {
			f := an.Function(entry)
			if cost := decoded.Swap(0); cost > functionCost || f.Blocks() > maxBlocks+maxElements {
				t.Fatalf("%x: %d instructions, %d blocks", entry, cost, f.Blocks())
			}
			if wrong := contradiction(f); wrong != "" {
				t.Fatalf("%s %x: %s: %+v", an.Arch.Name, entry, wrong, f.Facts)
			}
		}
	})
}

// contradiction tells what is wrong with a function, if anything.
func contradiction(f *Function) string {
	for i, b := range f.blocks {
		if b.end < b.start || i > 0 && b.start <= f.blocks[i-1].start {
			return fmt.Sprintf("blocks are out of order at %x", b.start)
		}
	}
	switch {
	case f.Blocks() > 0 && f.ContiguousEnd() < f.Entry.PC:
		return "the end lies before the entry"
	case (f.Balanced || f.Unbalanced) && !f.Returns && len(f.Tails) == 0:
		return "a return that does not exist is judged"
	case f.SavesRA && f.an.Arch.CallPushesRA:
		return "the call has saved the return address"
	case f.LandingPad && !f.ReadsPreserved:
		return "a landing pad that uses nothing"
	}
	return ""
}

// popsBelowCFA tells whether a way out has the one form whose return address no value at the place stands
// for: see ReturnPath.RA.
func popsBelowCFA(r ReturnPath, arch *cpu.Arch) bool {
	return arch.CallPushesRA && r.RA == absint.Value{} && r.CFA.Kind == absint.StartMemory && !r.Tail && !r.Exception
}

// FuzzReturnPaths looks for returns from every place of random bytes.
func FuzzReturnPaths(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, which, mode uint8, code []byte) {
		img, places := random(which, mode, code)
		arch, decoded := synth.Counting(img.Arch)
		img.Arch = arch
		an := of(img)
		an.Entries.Starts()
		for _, p := range places {
			decoded.Swap(0)
			for _, afterCall := range []bool{false, true} {
				for _, r := range an.ReturnPaths(p, afterCall) {
					if !recoverable(r.CFA) || !recoverable(r.RA) && !popsBelowCFA(r, an.Arch) || afterCall && r.RA.IsStartOf(an.Arch.LR) {
						t.Fatalf("%s %x: %+v", an.Arch.Name, p, r)
					}
				}
			}
			if cost := decoded.Swap(0); cost > 2*pathsCost {
				t.Fatalf("%s %x: %d instructions", an.Arch.Name, p, cost)
			}
		}
	})
}
