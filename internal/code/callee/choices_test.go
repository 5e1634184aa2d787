package callee

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestChoices: the functions whose addresses a resolver builds. Calls of another function go to
// the function itself.
func TestChoices(t *testing.T) {
	for _, tt := range []struct {
		program codetest.Program
		size    uint64
	}{
		{codetest.Program{CPU: "x86_64", Listing: `
			1000: 48 8d 05 19 00 00 00  lea    0x19(%rip),%rax
			1007: 48 8d 15 22 00 00 00  lea    0x22(%rip),%rdx
			100e: f6 c1 04              test   $4,%cl
			1011: 48 0f 45 c2           cmovne %rdx,%rax
			1015: c3                    ret
			1020: c3                    ret
			1030: c3                    ret`}, 0x16},
		{codetest.Program{CPU: "aarch64", Listing: `
			1000: 90000000  adrp x0,1000
			1004: 90000001  adrp x1,1000
			1008: 91008000  add  x0,x0,#0x20
			100c: 9100c021  add  x1,x1,#0x30
			1010: 9a810000  csel x0,x0,x1,eq
			1014: d65f03c0  ret
			1020: d65f03c0  ret
			1030: d65f03c0  ret`}, 0x18},
	} {
		lib := tt.program.Image(t)
		s := image.Symbol{Addr: 0x1000, Size: tt.size, Resolver: true}
		for _, want := range []disasm.Addr{{PC: 0x1020}, {PC: 0x1030}} {
			if got := exportOf(lib, &s).Choices; !slices.Contains(got, want) {
				t.Errorf("%s: %#x, want %#x among them", tt.program.CPU, got, want)
			}
		}
		if s.Resolver = false; exportOf(lib, &s).Choices != nil {
			t.Errorf("%s: a function chooses nothing", tt.program.CPU)
		}
	}
}

// TestOwnChoices: a library calls an indirect function of its own through a word that its resolver
// fills. The functions are those that the resolver names before it ends.
func TestOwnChoices(t *testing.T) {
	lib := codetest.Program{CPU: "x86_64", Resolvers: map[uint64]uint64{0x4000: 0x1000, 0x4008: 0x1030}, Listing: `
		1000: 48 8d 05 19 00 00 00  lea  0x19(%rip),%rax
		1007: f6 c1 04              test $4,%cl
		100a: 74 07                 je   1013
		100c: 48 8d 05 2d 00 00 00  lea  0x2d(%rip),%rax
		1013: c3                    ret
		1014: 48 8d 05 35 00 00 00  lea  0x35(%rip),%rax    another function
		101b: c3                    ret
		1020: c3                    ret
		1030: 31 c0                 xor  %eax,%eax          a resolver that names none
		1032: c3                    ret
		1040: c3                    ret
		1050: c3                    ret`}.Image(t)
	effects := New(disasm.Of(lib), nil)
	got, ok := effects.Bound(0x4000, lib)
	if want := []disasm.Addr{{PC: 0x1020}, {PC: 0x1040}}; !ok || !slices.Equal(got.Choices, want) {
		t.Errorf("%#x, want %#x", got.Choices, want)
	}
	for _, slot := range []uint64{0x4008, 0x4010} {
		if got, ok := effects.Bound(slot, lib); ok {
			t.Errorf("at %#x: %+v", slot, got)
		}
	}
	other := codetest.Program{CPU: "x86_64", Listing: "1000: c3"}.Image(t)
	if got, ok := effects.Bound(0x4000, other); ok {
		t.Errorf("another image fills the word with %+v", got)
	}
}
