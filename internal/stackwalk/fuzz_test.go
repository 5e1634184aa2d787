package stackwalk_test

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/edges"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/unwind/badcall"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/exception"
	"github.com/backsight/backsight/internal/unwind/fp"
	"github.com/backsight/backsight/internal/unwind/scan"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/target"
)

// FuzzWalk walks over random code, a random stack and random registers of every
// processor with all the sources that need no tables: no panic, no endless walk,
// every frame in order.
func FuzzWalk(f *testing.F) {
	archs := captured.Archs()
	for i := range archs {
		f.Add(uint8(i), []byte{0x27, 0xbd, 0xff, 0xe0, 0xaf, 0xbf, 0, 0x1c, 0x0c, 0x10, 0, 0, 0, 0, 0, 0, 3, 0xe0, 0, 8, 0x27, 0xbd, 0, 0x20}, []byte{0, 0x40, 0, 0x10}, []byte{0, 0x40, 0, 8})
		f.Add(uint8(i), []byte{0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x5d, 0xc3, 0xfd, 0x7b, 0xbf, 0xa9, 0xc0, 3, 0x5f, 0xd6}, []byte{9, 0, 0x40, 0}, []byte{4, 0, 0x40, 0})
	}
	f.Fuzz(func(t *testing.T, which uint8, text, stack, regs []byte) {
		arch, decoded := synth.Counting(archs[int(which)%len(archs)])
		snap := wild(arch, text, stack, regs)
		graph := edges.New(nil)
		frames, stop := stackwalk.NewWalker(snap, stackwalk.Options{MaxFrames: 64, CallGraph: graph, Sources: []stackwalk.Source{
			sigframe.Source{}, exception.Source{}, badcall.Source{}, code.New(nil), fp.Source{}, scan.New(graph, sigframe.Source{}, exception.Source{}),
		}}).Walk(&snap.Threads[0], nil)
		if n := decoded.Load(); n > 1<<26 {
			t.Fatalf("%d instructions decoded for %d frames of %s", n, len(frames), arch.Name)
		}
		if len(frames) > 64 || stop.Reason.String() == "?" {
			t.Fatalf("%d frames, stop %v", len(frames), stop)
		}
		for i := 1; i < len(frames); i++ {
			if frames[i].Trust > frames[i-1].Trust {
				t.Fatalf("frame %d is surer than its callee", i)
			}
		}
	})
}

// wild is a program of nothing but the fuzzer's bytes, loaded at 0x400000, with its
// stack at 0x7fff0000.
func wild(arch *cpu.Arch, text, stack, regs []byte) *target.Snapshot {
	const base, stackBase = 0x40_0000, 0x7fff_0000
	img := image.New(image.Header{Path: "wild", Arch: arch, Segments: []image.Segment{
		{Addr: base, Size: uint64(len(text)), Data: text, Read: true, Exec: true}}}, nil)
	var b target.Builder
	b.Add(stackBase, stack, 0, target.PermUnknown)
	m := &target.Module{Name: "wild", Image: img, Range: target.Range{Lo: base, Hi: base + uint64(len(text))}}
	snap := &target.Snapshot{Arch: arch, OS: "Linux", Memory: b.Memory(arch), Modules: []*target.Module{m}}
	var file cpu.Registers
	for r := range arch.Regs {
		var v [8]byte
		copy(v[:], regs[min(4*r, len(regs)):])
		file.Set(cpu.Reg(r), binary.LittleEndian.Uint64(v[:]))
	}
	pc := uint64(0)
	if len(regs) > 0 {
		pc = uint64(regs[0])
	}
	file.Set(arch.PC, base+pc)
	file.Set(arch.SP, stackBase+pc&0x3c)
	snap.Threads = []target.Thread{{ID: 1, Regs: file}}
	return snap
}
