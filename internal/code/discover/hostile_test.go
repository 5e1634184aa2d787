package discover

import (
	"encoding/hex"
	"slices"
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// FuzzEntries takes random bytes for the code of every processor, and random words of data:
// lists are sorted, and everything in them is code.
func FuzzEntries(f *testing.F) {
	seed := func(which uint8, text string) {
		code, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(which, uint64(0x1000), code)
	}
	for which := range len(captured.Archs()) {
		seed(uint8(which), "e81b000000c30f1f4400002feb0ec3f30f1efac3")
		seed(uint8(which), "3c1c0001279c7fe00399e02103e0000800000000")
		seed(uint8(which), "10b500f005f800f00ce810bd0248784402497047")
	}
	f.Fuzz(func(t *testing.T, which uint8, word uint64, code []byte) {
		archs := captured.Archs()
		h := image.Header{Arch: archs[int(which)%len(archs)], Entry: word, Segments: []image.Segment{
			{Addr: 0x1000, Size: uint64(len(code)), Data: code, Exec: true},
			{Addr: 0x8000_0000, Size: uint64(len(code)), Data: code},
		}}
		e := New(disasm.Of(image.New(h, nil)), nil)
		c := e.candidates()
		whole, single := e.certain().whole()
		if !slices.Equal(e.Certain(), whole) {
			t.Errorf("certain in parts: %#x, in one pass: %#x", e.Certain(), whole)
		}
		for name, list := range map[string]keys{"certain": e.Certain(), "single": single, "pointed": e.pointed().list(),
			"candidates": c.entries, "taken": c.taken, "starts": e.Starts()} {
			if !slices.IsSorted(list) {
				t.Errorf("%s: %#x", name, list)
			}
		}
		for _, key := range slices.Concat(e.pointed().list(), c.taken) {
			if a := e.code.Addr(key); !e.code.Has(a.PC) || a.PC&(h.Arch.InsnAlign-1) != 0 {
				t.Errorf("%#x is no code", key)
			}
		}
		for pc := uint64(0xfff); pc < 0x1001+uint64(len(code)); pc++ {
			a := disasm.Addr{PC: pc, Mode: cpu.Mode(word & 1)}
			if next := e.Next(pc, word); next < pc {
				t.Errorf("%#x follows %#x", next, pc)
			}
			for _, near := range [][]uint64{e.Below(a), e.CandidatesBelow(a), e.PointedBelow(a)} {
				if len(near) > 0 && near[0] > pc || len(near) > nearCandidates {
					t.Errorf("%#x below %#x", near, pc)
				}
			}
		}
	})
}

// TestConcurrent: several goroutines ask for the first time together.
func TestConcurrent(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "mips o32 big", Listing: prologues})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if e.AddressTaken(at(0x400080)) || e.NextPointer(0) != ^uint64(0) || !e.IsEntry(at(0x400080)) {
				t.Error("400080 is an entry that nothing points to")
			}
		})
	}
	wg.Wait()
}
