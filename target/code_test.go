package target_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/target"
)

// TestMayHoldCode: code lies in segments that are executable, or of which the capture does not tell.
func TestMayHoldCode(t *testing.T) {
	var b target.Builder
	b.Add(0x3000, make([]byte, 16), 16, target.PermUnknown)
	b.Add(0x1000, make([]byte, 16), 0, target.PermRead|target.PermExec)
	b.Add(0x2000, make([]byte, 16), 0, target.PermRead|target.PermWrite)
	m := b.Memory(x86.Archs()[0])
	if got, want := m.MayHoldCode(), []target.Range{{Lo: 0x1000, Hi: 0x1010}, {Lo: 0x3000, Hi: 0x3020}}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
	if m.Hold(x86.Archs()[0], 0x7000, make([]byte, 8)); len(m.MayHoldCode()) != 0 {
		t.Errorf("%#x in the copy of a stack", m.MayHoldCode())
	}
	if got := (*target.Memory)(nil).MayHoldCode(); got != nil {
		t.Errorf("%v without memory", got)
	}
}
