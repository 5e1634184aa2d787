package discover

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/captured"
)

// branches is the code of a program of nothing but jumps to themselves.
func branches(t *testing.T, n int) disasm.Code {
	a, ok := captured.Archs().ByName("x86_64", "", false)
	if !ok {
		t.Fatal("no x86-64")
	}
	text := slices.Repeat([]byte{0xeb, 0xfe}, n)
	return disasm.Of(image.New(image.Header{Path: "program", Arch: a, Segments: []image.Segment{
		{Addr: 0xffffffff80000000, Size: uint64(len(text)), Data: text, Read: true, Exec: true}}}, nil))
}

// TestJumps: jumps come back as they were added, as far as they are kept: one for each 16
// bytes of code, in half a byte each.
func TestJumps(t *testing.T) {
	c := branches(t, 1<<20)
	l := newJumps(c)
	base, _ := c.Bounds()
	most := someJumps + textSize(c)/16
	for i := range uint64(textSize(c)) {
		l.add(jump{base + i, base + 2*i})
	}
	l.add(jump{base, base + 1<<33})
	n, bytes := uint64(0), 0
	for j := range l.all {
		if want := (jump{base + n, base + 2*n}); j != want {
			t.Fatalf("jump %d is %x, want %x", n, j, want)
		}
		n++
	}
	for _, chunk := range l.chunks {
		bytes += cap(chunk) * int(unsafe.Sizeof(shortJump{}))
	}
	if int(n) != most || bytes > 8*most+8*2*jumpChunk {
		t.Errorf("%d jumps in %d bytes, at most %d", n, bytes, most)
	}
}

// TestCandidatesTakeLittle: what is kept of a program of nothing but jumps, each a place to
// go on from, is in proportion to its code.
func TestCandidatesTakeLittle(t *testing.T) {
	c := branches(t, 1<<20)
	known := findUndeclared(c, findListed(c, nil))
	s := newSweep(c, &known.gp, known.known, everywhere)
	s.fromPointers(known.known)
	found := findCandidates(c, known)
	most := textSize(c)/16 + someJumps
	if len(found.farJumps) > most || cap(s.todo.places) > 2*placesFor(c) {
		t.Errorf("%d far jumps, room for %d places", len(found.farJumps), cap(s.todo.places))
	}
}
