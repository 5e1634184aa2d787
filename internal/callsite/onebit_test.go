package callsite

import (
	"iter"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/cpu/x86"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// TestOneBitAway: a lost bit changes the address where the image is mapped. 0x11044 and 0x12044 differ in two bits,
// and in one where both lie 0x1000 higher.
func TestOneBitAway(t *testing.T) {
	arch := archNamed(t, x86.Archs(), "x86_64")
	text := image.Segment{Addr: 0x1_0000, Size: 0x4000, Data: make([]byte, 0x4000), Read: true, Exec: true}
	const at = 0x1_1044
	for _, ra := range []uint64{at, 0x1_1054, 0x1_2044, 0x1_3044} {
		text.Data[ra-5-text.Addr] = 0xe8 // call
	}
	for _, tt := range []struct {
		bias          uint64
		relocatable   bool
		near, further []uint64
	}{
		{0, true, []uint64{0x1_1054, 0x1_3044}, []uint64{0x1_2044}},
		{0x1000, true, []uint64{0x1_1054, 0x1_2044}, []uint64{0x1_3044}},
		{0x1000, false, []uint64{0x1_1054, 0x1_2044}, []uint64{0x1_3044}},
		{0, false, []uint64{0x1_1054, 0x1_3044}, nil},
	} {
		img := image.New(image.Header{Path: "code", Arch: arch, Relocatable: tt.relocatable, Segments: []image.Segment{text}}, nil)
		m := target.NewModule("m", img, tt.bias)
		near, further := places(OneBitAway(m, &text, at, 0)), places(OneBitAwayMoved(m, &text, at, 0))
		if !slices.Equal(near, tt.near) || !slices.Equal(further, tt.further) {
			t.Errorf("%+v: near %#x, further %#x", tt, near, further)
		}
		for _, far := range near {
			if got, want := DependsOnBias(m, at, far), far != 0x1_1054 && len(tt.further) > 0; got != want {
				t.Errorf("%+v: %#x depends on the bias: %t", tt, far, got)
			}
		}
	}
}

// TestOneBitAwayAnywhere: one bit of an address in a program leads to another of its calls, or to a library's.
func TestOneBitAwayAnywhere(t *testing.T) {
	arch := archNamed(t, x86.Archs(), "x86_64")
	const at = 0x1_1044
	var modules []*target.Module
	for _, bias := range []uint64{0, 0x100_0000, 0x400_0000, 0x700_0000} {
		text := image.Segment{Addr: 0x1_0000, Size: 0x4000, Data: make([]byte, 0x4000), Read: true, Exec: true}
		for _, ra := range []uint64{at, at ^ 0x2000} {
			text.Data[ra-5-text.Addr] = 0xe8 // call
		}
		modules = append(modules, target.NewModule("m", image.New(image.Header{Arch: arch, Segments: []image.Segment{text}}, nil), bias))
	}
	var got []uint64
	for n := range OneBitAwayAnywhere(&target.Snapshot{Arch: arch, Modules: modules}, modules[0], at, 0) {
		if n.Call.Addr != n.PC-5 || !n.Module.Contains(n.PC) {
			t.Errorf("%+v", n)
		}
		got = append(got, n.PC)
	}
	if want := []uint64{at ^ 0x2000, at ^ 0x100_0000, at ^ 0x400_0000}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
}

func places(seq iter.Seq2[uint64, cpu.CallSite]) (list []uint64) {
	for at := range seq {
		list = append(list, at)
	}
	return list
}
