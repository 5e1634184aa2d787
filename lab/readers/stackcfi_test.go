package readers

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/target"
)

// TestBacktrace: a leaf function, its caller with a frame of 16 bytes, and the end of the stack.
func TestBacktrace(t *testing.T) {
	arch := mips.Archs()[0]
	cfi, err := ReadStackCFI(strings.NewReader(`MODULE Linux mips 0 x
STACK CFI INIT 100 10 .cfa: $sp 0 + .ra: $ra
STACK CFI INIT 200 40 .cfa: $sp 0 + .ra: $ra
STACK CFI 208 .cfa: $sp 16 + .ra: .cfa -4 + ^
STACK CFI INIT 300 40 .cfa: $sp 0 + .ra: 0
`), arch, 0x400000)
	if err != nil {
		t.Fatal(err)
	}
	snap := &target.Snapshot{Arch: arch, Threads: make([]target.Thread, 1)}
	regs := &snap.Threads[0].Regs
	regs.Set(arch.PC, 0x400104)
	regs.Set(arch.SP, 0x8000)
	regs.Set(arch.LR, 0x400220)
	var b target.Builder
	b.Add(0x8000, []byte{12: 0x00, 0x40, 0x03, 0x10}, 0, 0)
	snap.Memory = b.Memory(arch)
	walk := modules{program: cfi}
	got, err := walk.Backtrace(snap)
	if want := []uint64{0x400104, 0x400220, 0x400310}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%#x, %v, want %#x", got, err, want)
	}
}
