package discover

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/captured"
)

// large is the code of a program of so many MB. Each 64 KB begin with functions that the ones before
// call (0), build the address of (0x40), and jump to over the latter (0x80); the first one is the
// program's entry point.
func large(t *testing.T, mb int) disasm.Code {
	arch, ok := captured.Archs().ByName("x86_64", "", false)
	if !ok {
		t.Fatal("no x86-64")
	}
	text := slices.Repeat([]byte{0xcc}, mb<<20)
	const base, apart = 0x10000, 1 << 16
	to := func(at, target int, insn ...byte) {
		copy(text[at:], insn)
		binary.LittleEndian.PutUint32(text[at+len(insn):], uint32(target-at-len(insn)-4))
	}
	for at := 0; at < len(text)-apart; at += apart {
		next := at + apart
		to(at, next, 0xe8)                 // call 0
		to(at+5, next+0x40, 0x48, 0x8d, 5) // lea 0x40(%rip),%rax
		to(at+12, next+0x80, 0xe9)         // jmp 0x80
		text[at+0x40], text[at+0x80] = 0xc3, 0xc3
	}
	return disasm.Of(image.New(image.Header{Path: "program", Arch: arch, Entry: base, Segments: []image.Segment{
		{Addr: base, Size: uint64(len(text)), Data: text, Read: true, Exec: true}}}, nil))
}

// TestRegions: in a large image the candidates around a place are those that the whole code names,
// of the region's edges as well.
func TestRegions(t *testing.T) {
	c := large(t, 6)
	e := New(c, nil)
	whole := e.candidates()
	lo, hi := c.Bounds()
	for pc := lo + 1<<16; pc < hi-1<<16; pc += 1 << 16 {
		for _, off := range []uint64{0x40, 0x80} {
			a := at(pc + off)
			if e.near(a) == whole {
				t.Fatal("an image of 6 MB has one region")
			}
			if got, want := e.near(a).entries.has(a), whole.list().has(a); !got || !want {
				t.Errorf("%#x is a candidate: %t by the code around, %t by all", a.PC, got, want)
			}
		}
		if !e.AddressTaken(at(pc+0x40)) || !e.BuiltByCode(at(pc+0x40)) || e.AddressTaken(at(pc+0x80)) {
			t.Errorf("of the functions at %#x code builds the address of the second", pc)
		}
	}
	if e := New(large(t, 2), nil); e.near(at(lo)) != e.candidates() {
		t.Error("an image of 2 MB has several regions")
	}
}

// TestFarJumps: in a large image a pass finds the jumps over entries that a sweep finds in a small one.
func TestFarJumps(t *testing.T) {
	whole, parts := New(large(t, 2), nil), New(large(t, 6), nil)
	lo, _ := whole.code.Bounds()
	for pc := lo; pc < lo+1<<20; pc += 1 << 15 {
		got, want := parts.FarJumpsBelow(pc), whole.FarJumpsBelow(pc)
		if !slices.Equal(got, want) {
			t.Errorf("at or below %#x: %+v, want %+v", pc, got, want)
		}
	}
	if n := len(parts.FarJumpsBelow(lo + 5<<20)); n != nearCandidates {
		t.Errorf("%d jumps, want %d", n, nearCandidates)
	}
}

// TestRegionSize: the candidates of a region take memory and time for the region, not for the image.
func TestRegionSize(t *testing.T) {
	c := large(t, 6)
	e := New(c, nil)
	r := newRegions(c, e.certain(), e.pointed)
	lo, _ := c.Bounds()
	for i := range r.parts {
		for _, key := range r.find(i * regionPages).entries {
			if from, to := (i*regionPages-overlap)*pageSize, ((i+1)*regionPages+overlap)*pageSize; int(key-lo) < from || int(key-lo) >= to {
				t.Errorf("region %d has %#x", i, key)
			}
		}
	}
}
