package callsite_test

import (
	"bytes"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/target"
)

// TestHiddenCode: of code that a file does not show (an encrypted program's, a dSYM's) nothing is
// known; what the capture holds of that code tells. Zeros that can be written to are no calls.
func TestHiddenCode(t *testing.T) {
	arch := x86.Archs()[0]
	const at = 0x1000
	code := []byte{0xe8, 0, 1, 0, 0} // call
	code = append(make([]byte, 0x40-len(code)), code...)
	module := func(s image.Segment) *target.Module {
		s.Addr, s.Size, s.Exec = at, 0x100, true
		return target.NewModule("m", image.New(image.Header{Arch: arch, Segments: []image.Segment{s}}, nil), 0)
	}
	unknown := target.NewModule("m", image.New(image.Header{Arch: arch, Segments: []image.Segment{{Addr: at, Size: 0x100}}}, nil), 0)
	var none, some target.Builder
	some.Add(at, code, 0, target.PermRead|target.PermExec)
	for what, tt := range map[string]struct {
		m    *target.Module
		mem  *target.Memory
		want callsite.Kind
	}{
		"shown":                     {module(image.Segment{Data: code}), none.Memory(arch), callsite.Call},
		"hidden":                    {module(image.Segment{}), none.Memory(arch), callsite.Missing},
		"hidden, in the core":       {module(image.Segment{}), some.Memory(arch), callsite.Call},
		"cleared, for a bug report": {module(image.Segment{Data: make([]byte, 0x100)}), none.Memory(arch), callsite.Missing},
		"other code":                {module(image.Segment{Data: bytes.Repeat([]byte{0x90}, 0x100)}), none.Memory(arch), callsite.NoCall},
		"perhaps data":              {unknown, none.Memory(arch), callsite.Missing},
		"perhaps data, in the dump": {unknown, some.Memory(arch), callsite.Call},
		"variables":                 {module(image.Segment{Write: true}), none.Memory(arch), callsite.NoCall},
	} {
		snap := &target.Snapshot{Arch: arch, Memory: tt.mem}
		if _, got := callsite.BeforeIn(snap, tt.m, at+0x40, cpu.Mode(0)); got != tt.want {
			t.Errorf("%s: %v, want %v", what, got, tt.want)
		}
	}
}
