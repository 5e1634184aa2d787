package code

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/unwind"
)

// analyzeAll asks for every fourth place of a program and bounds what that costs.
func analyzeAll(t testing.TB, an *analysis, mode cpu.Mode, size int) {
	for at := 0; at < size; at += 4 {
		pc := text + uint64(at)
		for _, q := range []unwind.Query{
			{Image: an.img, Arch: an.arch, PC: pc, Mode: mode, Exact: true},
			{Image: an.img, Arch: an.arch, PC: pc - 1, Resume: pc, Mode: mode},
			{Image: an.img, Arch: an.arch, PC: pc, Mode: mode, Exact: true, Entry: text, HasEntry: true},
		} {
			answers(an.src, &q)
		}
	}
	for _, fs := range []map[jump]*function{an.functions, an.older} {
		for _, f := range fs {
			if f.steps > maxSteps+1 || len(f.blocks) > maxBlocks+maxElements {
				t.Fatalf("%d steps, %d blocks from %#x", f.steps, len(f.blocks), f.entry)
			}
		}
	}
}

// maxDecoded bounds the work on a few hundred bytes: some seconds.
const maxDecoded = 1 << 26

// FuzzAnalyze takes random bytes for the code of every processor.
func FuzzAnalyze(f *testing.F) {
	archs := captured.Archs()
	for i, a := range archs {
		for _, l := range []string{"mips-switch", "mips16-switch", "micromips-returns", "thumb-it", "aarch64-switch", "x86_64-switch", "riscv64-switch"} {
			if l := parseListing(f, "testdata/"+l+".txt"); l.arch.Name == a.Name && l.arch.BigEndian == a.BigEndian {
				f.Add(uint8(i), uint8(l.mode), l.segs[0].Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, mode uint8, code []byte) {
		a := archs[int(which)%len(archs)]
		code = code[:min(len(code), 256)]
		counted, decoded := synth.Counting(a)
		analyzeAll(t, New(nil).of(program(counted, code, nil, text)), cpu.Mode(mode&1), len(code))
		if n := decoded.Load(); n > maxDecoded {
			t.Fatalf("%d instructions decoded for %d bytes", n, len(code))
		}
	})
}

// TestBudgets: programs made to cost much; without budgets they would cost without end.
// Work is counted in instructions decoded, for four questions about 10,000 of them.
func TestBudgets(t *testing.T) {
	const n = 10000
	forward := make([]uint32, 0, n)  // branches that each skip one instruction
	backward := make([]uint32, 0, n) // branches that each go back to the start
	calls := make([]uint32, 0, n)    // calls of each following instruction
	frames := make([]uint32, 0, n)   // frames upon frames, with branches between
	for i := range n {
		forward = append(forward, 0x14800002)
		backward = append(backward, 0x14800000|uint32(-i)&0xffff)
		calls = append(calls, jal(text+4*uint64(i+2)))
		frames = append(frames, [...]uint32{allocate, 0x14800004, saveRA, 0x10a0fff0}[i%4])
	}
	for _, c := range []struct {
		name string
		code []uint32
		most int64
	}{
		{"forward", forward, 2e6}, {"backward", backward, 1e6}, {"calls", calls, 40e6}, {"frames", frames, 30e6},
	} {
		t.Run(c.name, func(t *testing.T) {
			counted, decoded := synth.Counting(arch(t, "mips", "o32", true))
			an := New(nil).of(program(counted, words(c.code...), nil, text))
			for _, at := range []uint64{0, n, 2 * n, 4*n - 8} {
				first(t, an, text+at&^3)
			}
			if got := decoded.Load(); got > c.most {
				t.Errorf("%d instructions decoded, want at most %d", got, c.most)
			}
		})
	}
}

// TestBranchAtTheEnd: the last word of the text is a branch whose slot is missing.
func TestBranchAtTheEnd(t *testing.T) {
	for _, last := range []uint32{jal(text), loop, 0x14800002} {
		an := mips(t, []uint64{text}, allocate, saveRA, last)
		if got := first(t, an, text+4); got != "CFA=sp+24 RA=ra" {
			t.Errorf("%#x: %s", last, got)
		}
		if f := an.function(text, 0); f.steps > 100 {
			t.Errorf("%#x: %d steps", last, f.steps)
		}
	}
}

// TestTableOfEverything: a jump table of a million elements is followed no further
// than a table can go.
func TestTableOfEverything(t *testing.T) {
	code := make([]byte, 0, 1<<16)
	code = append(code, words(0x3c020040, 0x00441021, 0x8c420000, 0x00400008, nop)...)
	for i := 0; len(code) < 1<<16; i++ {
		code = binary.BigEndian.AppendUint32(code, uint32(text+i*4))
	}
	an := New(nil).of(program(arch(t, "mips", "o32", true), code, nil, text))
	f := an.function(text, 0)
	if len(f.blocks) > maxBlocks+maxElements || f.steps > maxSteps+1 {
		t.Errorf("%d blocks, %d steps", len(f.blocks), f.steps)
	}
}
