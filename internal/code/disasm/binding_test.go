package disasm

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestBindingStubs: what MIPS's lazy binding stubs call does not come back behind the call;
// calls that look alike in part stay calls.
func TestBindingStubs(t *testing.T) {
	for _, tt := range []struct {
		what, listing string
		want          cpu.Op
	}{
		{"stub", "1000: 8f998010 03e07825 0320f809 2418004f  lw t9,-32752(gp); move t7,ra; jalr t9; li t8,79", cpu.OpJump},
		{"no number in the delay slot", "1000: 8f998010 03e07825 0320f809 00000000  lw t9,-32752(gp); move t7,ra; jalr t9; nop", cpu.OpCall},
		{"the return address in a preserved register", "1000: 8f998010 03e08025 0320f809 2418004f  lw t9,-32752(gp); move s0,ra; jalr t9; li t8,79", cpu.OpCall},
		{"another register moved", "1000: 8f998010 00807825 0320f809 2418004f  lw t9,-32752(gp); move t7,a0; jalr t9; li t8,79", cpu.OpCall},
	} {
		c := code(t, codetest.Program{CPU: "mips o32 big", Listing: tt.listing})
		var buf [4]cpu.Insn
		c.Decode(at(0x1000), buf[:])
		var one cpu.Insn // read by itself, without what stands around
		c.One(at(0x1008), &one)
		if buf[2].Op != tt.want || one.Op != tt.want {
			t.Errorf("%s: %v, read by itself %v, want %v", tt.what, buf[2].Op, one.Op, tt.want)
		}
	}
}
