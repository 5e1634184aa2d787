package target_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// TestHold: a Memory that is used again has the new bytes only, in the processor's byte
// order, without an allocation; a run at the end of the address space is cut.
func TestHold(t *testing.T) {
	little := &cpu.Arch{AddrSize: 8, RegSize: 8}
	big := &cpu.Arch{AddrSize: 4, RegSize: 4, BigEndian: true}
	var m target.Memory
	m.Hold(little, 0x1000, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	if v, ok := m.Word(0x1000); !ok || v != 0x0807060504030201 {
		t.Errorf("%#x, %v", v, ok)
	}
	m.Hold(big, 0x2000, []byte{1, 2, 3, 4})
	if v, ok := m.Word(0x2000); !ok || v != 0x01020304 {
		t.Errorf("%#x, %v", v, ok)
	}
	if _, ok := m.Uint(0x1000, 1); ok {
		t.Error("the bytes held before are there still")
	}
	m.Hold(little, ^uint64(0)-1, []byte{1, 2, 3, 4})
	if r := m.RangeAt(^uint64(0) - 1); r.Hi != ^uint64(0) {
		t.Errorf("%#x", r)
	}
	m.Hold(little, 0, nil)
	if len(m.Segments()) != 0 {
		t.Errorf("%d segments of nothing", len(m.Segments()))
	}
	data := make([]byte, 64)
	if n := testing.AllocsPerRun(10, func() { m.Hold(little, 0x1000, data) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
