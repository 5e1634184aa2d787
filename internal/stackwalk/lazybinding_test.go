package stackwalk

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestBindLazily: main's call of a stub led to the dynamic linker, below whose CFA lies what names
// the stub's import. What lies below main's own CFA tells nothing.
func TestBindLazily(t *testing.T) {
	const text, stub, inMain, linker, main = 0x400000, 0x400100, 0x400018, 0x7fff0040, 0x7fff0080
	arch := o32Little()
	code := synth.Stack(arch).Zero(0x200).Place(text)
	binary.LittleEndian.PutUint32(code.Data[inMain-8-text:], 0x0c000000|stub>>2) // jal stub
	m := synth.Module(arch, text, code.Data)
	snap := synth.Capture(arch, []*target.Module{m}, synth.Stack(arch).Zero(16).Place(linker))
	for _, tt := range []struct {
		what   string
		checks unwind.Checks
		below  uint64
		want   unwind.Checks
	}{
		{"the import's name", unwind.TargetUnclear, linker, unwind.TargetMatches | unwind.LazyBinding},
		{"below another frame", unwind.TargetUnclear, main, unwind.TargetUnclear},
		{"a call whose way is known", unwind.TargetMatches, linker, unwind.TargetMatches},
	} {
		frames := []unwind.Frame{{CFA: linker, HasCFA: true}, {PC: inMain, Module: m, Checks: tt.checks, CFA: main, HasCFA: true}}
		if bindLazily(snap, frames, bindsBelow{cfa: tt.below}); frames[1].Checks != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, frames[1].Checks, tt.want)
		}
	}
}

// bindsBelow is a CallGraph for which the PLT pushed the stub's import below one address.
type bindsBelow struct {
	CallGraph
	cfa uint64
}

func (p bindsBelow) Binds(_ *target.Snapshot, entry uint64, _ cpu.Mode, cfa uint64) bool {
	return entry == 0x400100 && cfa == p.cfa
}
