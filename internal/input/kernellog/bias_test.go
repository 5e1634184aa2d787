package kernellog

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/input/console"
)

// TestLeastBias: a processor of a kernel that moved itself jumped to its stack, which lies where the kernel
// is linked. That place is not the kernel's, whose file is placed apart; a place that has a symbol, and
// one elsewhere, say nothing.
func TestLeastBias(t *testing.T) {
	const linked = 0xffff800008000000
	img := image.New(image.Header{Arch: arm64.Archs()[0], Segments: image.Segments{{Addr: linked, Size: 0x1000000, Exec: true}}}, functions{})
	for at, want := range map[string]uint64{
		"0xffff8000080b3ba8":   0x200000,
		"0xffff800008200000":   0x400000,
		"0xffff8000070b3ba8":   0,
		"leaf_deref+0x18/0x24": 0,
	} {
		k := newKernelLog(console.NewLog(t.Context(), []byte(strings.ReplaceAll(oopses[0].log, "pc : leaf+0x18/0x24 [toy]", "pc : "+at))))
		if got := leastBias(img, k.records); got != want {
			t.Errorf("%s: %#x, want %#x", at, got, want)
		}
	}
}

// TestMovedByWords: four words of the kernel are behind calls at one distance. Pointers to the stack do not count, and
// where the processor stood without a symbol there is no kernel.
func TestMovedByWords(t *testing.T) {
	const linked, distance = 0xffff800008000000, 0x30000
	code := make([]byte, 0x20000)
	var words []uint64
	for i := range 4 {
		at := 0x1000 + 0x54*i
		binary.LittleEndian.PutUint32(code[at:], 0x94000100) // bl
		words = append(words, linked+distance+uint64(at)+4)
	}
	img := image.New(image.Header{Arch: arm64.Archs()[0], Segments: image.Segments{{Addr: linked, Size: uint64(len(code)), Data: code, Exec: true}}}, functions{})
	for what, c := range map[string]struct {
		pc, sp uint64
		want   bool
	}{
		"words of the kernel":      {pc: 0x1000, sp: 0xffff80000a000000, want: true},
		"pointers to the stack":    {pc: 0x1000, sp: words[0] - 0x200},
		"a place without a symbol": {pc: linked + distance + 0x8000, sp: 0xffff80000a000000},
	} {
		r := &record{regs: []register{{name: "pc", value: c.pc, known: true}, {name: "sp", value: c.sp, known: true}}}
		for i, w := range words {
			r.regs = append(r.regs, register{name: fmt.Sprintf("x%d", i), value: w, known: true})
		}
		k := &kernelLog{scanner: &scanner{records: []*record{r}}}
		if got, ok := biasOfWords(img, k.records); ok != c.want || ok && got != distance {
			t.Errorf("%s: moved by %#x, %v", what, got, ok)
		}
	}
}
