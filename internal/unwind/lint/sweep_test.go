package lint

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/stepping"
)

// swept lists the places that a sweep over Thumb halfwords at 0x1000 visits.
func swept(m Mapping, entry func(uint64) (cpu.Mode, bool), halves ...uint16) string {
	var code []byte
	for _, h := range halves {
		code = binary.LittleEndian.AppendUint16(code, h)
	}
	a := arm.Archs()[0]
	img := image.New(image.Header{Arch: a, Segments: []image.Segment{{Addr: 0x1000, Size: uint64(len(code)), Data: code, Read: true, Exec: true}}}, nil)
	s := Sweep{Image: img, Mapping: m}
	var places []string
	s.Run(0x1000, 0x1000+uint64(len(code)), 1, entry, func(pc uint64, mode cpu.Mode, _ stepping.Step) {
		places = append(places, fmt.Sprintf("%x/%d", pc-0x1000, mode))
	})
	return strings.Join(places, " ")
}

func none(uint64) (cpu.Mode, bool) { return 0, false }

// What is data in a stripped file shows from the code that reads it; in one with
// symbols mapping symbols tell, and modes too.
func TestSweep(t *testing.T) {
	literal := []uint16{0x4800, 0x4770, 0xf7ff, 0xfffe, 0x4770} // ldr r0,[pc,#0]; bx lr; a word that reads as bl; bx lr
	if got := swept(nil, none, literal...); got != "0/1 2/1 8/1" {
		t.Error("literal:", got)
	}
	table := []uint16{0xe8df, 0xf000, 0x0301, 0x4770, 0x4770, 0x4770} // tbb [pc,r0] to 6 and a; bx lr
	if got := swept(nil, none, table...); got != "0/1 6/1 8/1 a/1" {
		t.Error("table:", got)
	}
	other := func(pc uint64) (cpu.Mode, bool) { return 0, pc == 0x1004 }
	if got := swept(nil, other, 0x4770, 0xbf00, 0xff1e, 0xe12f); got != "0/1 2/1 4/0" {
		t.Error("another mode begins:", got)
	}
	m := Mapping{{Addr: 0x1000, Mode: 1}, {Addr: 0x1002, Data: true}, {Addr: 0x1004}}
	if got := swept(m, none, 0x4770, 0xbf00, 0xff1e, 0xe12f); got != "0/1 4/0" {
		t.Error("mapping symbols:", got)
	}
}

// The condition of an IT block is with the first of the block: a full buffer must
// not end within it, or popne would end the function.
func TestSweepKeepsBlocks(t *testing.T) {
	halves := make([]uint16, 0, 70)
	for range 63 {
		halves = append(halves, 0x3001) // adds r0,#1
	}
	halves = append(halves, 0xbf18, 0xbd10, 0x3001) // it ne; popne {r4,pc}; adds r0,#1
	conditional := false
	var code []byte
	for _, h := range halves {
		code = binary.LittleEndian.AppendUint16(code, h)
	}
	a := arm.Archs()[0]
	img := image.New(image.Header{Arch: a, Segments: []image.Segment{{Addr: 0x1000, Size: uint64(len(code)), Data: code, Read: true, Exec: true}}}, nil)
	s := Sweep{Image: img}
	s.Run(0x1000, 0x1000+uint64(len(code)), 1, none, func(pc uint64, _ cpu.Mode, step stepping.Step) {
		in := step.In
		if pc == 0x1000+64*2 {
			conditional = in.Flags&cpu.FlagConditional != 0
		}
	})
	if !conditional {
		t.Error("popne behind the end of the buffer is not conditional")
	}
}
