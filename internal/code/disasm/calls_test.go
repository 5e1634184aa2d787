package disasm

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/captured"
)

// TestCallSteps: a call counts, an e8 in a constant does not, and a call near undefined
// bytes is not clean. The segment begins in the middle of a block.
func TestCallSteps(t *testing.T) {
	a, ok := captured.Archs().ByName("x86_64", "", false)
	if !ok {
		t.Fatal("no x86-64")
	}
	call, constant := []byte{0xe8, 0, 1, 0, 0}, []byte{0x48, 0xb8, 0xe8, 0, 1, 0, 0, 0, 0, 0}
	nops := slices.Repeat([]byte{0x90}, cpu.CallBlockSize)
	text := slices.Concat(call, constant, nops, nops, call, []byte{0x06}, nops, nops, call)
	c := Of(image.New(image.Header{Path: "program", Arch: a, Segments: []image.Segment{
		{Addr: 0x400088, Size: uint64(len(text)), Data: text, Read: true, Exec: true}}}, nil))
	steps, kept := NewCallSteps(c, 0), NewCallSteps(c, 0)
	kept.Keep()
	var got []string
	var sites []uint64
	c.EachRef(c.Calls(0), func(r *cpu.CallRef) bool {
		sites = append(sites, r.Site)
		call, clean := steps.At(r.Site)
		got = append(got, map[bool]string{true: "call", false: "none"}[call]+map[bool]string{true: ", clean", false: ", near data"}[clean])
		if in, ok := c.InStep(at(r.Site)); ok != call || ok && in.Op != cpu.OpCall {
			t.Errorf("at %#x an instruction begins: %t, which is a call: %t", r.Site, ok, in.Op == cpu.OpCall)
		}
		return true
	})
	want := []string{"call, clean", "none, clean", "call, near data", "call, clean"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, site := range slices.Backward(sites) {
		call, clean := steps.At(site)
		if again, same := kept.At(site); again != call || same != clean {
			t.Errorf("at %#x of blocks that are kept: %t, %t, want %t, %t", site, again, same, call, clean)
		}
	}
}

// TestEachRef: what is found at the border of two parts of the text is told once, and the search ends when wanted.
func TestEachRef(t *testing.T) {
	text := slices.Repeat([]byte{0x90}, 2*scanChunk)
	want := []uint64{0x1000, 0x1000 + scanChunk - 7, 0x1000 + scanChunk - 2, 0x1000 + scanChunk + 3}
	for _, site := range want {
		copy(text[site-0x1000:], []byte{0xe8, 0, 1, 0, 0})
	}
	a, _ := captured.Archs().ByName("x86_64", "", false)
	c := Of(image.New(image.Header{Arch: a, Segments: []image.Segment{{Addr: 0x1000, Size: uint64(len(text)), Data: text, Exec: true}}}, nil))
	for n := range want {
		var got []uint64
		c.EachRef(c.Calls(0), func(r *cpu.CallRef) bool {
			got = append(got, r.Site)
			return len(got) <= n
		})
		if !slices.Equal(got, want[:n+1]) {
			t.Errorf("calls at %#x, want %#x", got, want[:n+1])
		}
	}
}
