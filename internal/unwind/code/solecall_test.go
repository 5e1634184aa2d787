package code

import (
	"testing"

	"github.com/backsight/backsight/internal/code/codetest"
	"github.com/backsight/backsight/unwind"
)

// TestSoleCall: update jumps to the digest through a pointer, once has no such jump, and leaf comes
// back. digest is in a table, hidden is not.
func TestSoleCall(t *testing.T) {
	m, snap := placed(t, codetest.Program{CPU: "x86_64", Listing: `
	400000 <write>:
		400000: 50                push %rax
		400001: e8 7a 00 00 00    call 400080
		400006: e8 55 00 00 00    call 400060
		40000b: 58                pop  %rax
		40000c: c3                ret
	400010 <twice>:
		400010: 50                push %rax
		400011: e8 4a 00 00 00    call 400060
		400016: e8 45 00 00 00    call 400060
		40001b: 58                pop  %rax
		40001c: c3                ret
	400020 <through>:
		400020: 50                push %rax
		400021: e8 3a 00 00 00    call 400060
		400026: ff d3             call *%rbx
		400028: 58                pop  %rax
		400029: c3                ret
	400030 <straight>:
		400030: 50                push %rax
		400031: e8 2a 00 00 00    call 400060
		400036: e8 65 00 00 00    call 4000a0
		40003b: 58                pop  %rax
		40003c: c3                ret
	400040 <first>:
		400040: 50                push %rax
		400041: e8 2a 00 00 00    call 400070
		400046: 58                pop  %rax
		400047: c3                ret
	400060 <update>:
		400060: ff 67 08          jmp  *8(%rdi)
	400070 <once>:
		400070: 50                push %rax
		400071: ff d6             call *%rsi
		400073: eb fe             jmp  400073
	400080 <leaf>:
		400080: c3                ret
	4000a0 <digest>:
		4000a0: 50                push %rax
		4000a1: e8 da ff ff ff    call 400080
		4000a6: 58                pop  %rax
		4000a7: c3                ret
	4000b0 <hidden>:
		4000b0: 50                push %rax
		4000b1: e8 ca ff ff ff    call 400080
		4000b6: 58                pop  %rax
		4000b7: c3                ret
	4000c0 <last>:
		4000c0: e8 eb ff ff ff    call 4000b0
		4000c5: c3                ret`,
		Data: map[uint64][]uint64{0x410000: {0x4000a0, 0x400000, 0x400010, 0x400020, 0x400030, 0x400040}}})
	frame := func(ra, site uint64, checks unwind.Checks) *unwind.Frame {
		return &unwind.Frame{PC: ra, CallSite: site, Module: m, Checks: checks}
	}
	const digest, hidden = 0x4000a6, 0x4000b6
	for _, tt := range []struct {
		what             string
		callee, ra, site uint64
		checks           unwind.Checks
		want             bool
	}{
		{"leaf comes back before", digest, 0x40000b, 0x400006, 0, true},
		{"nothing points to the callee", hidden, 0x40000b, 0x400006, 0, false},
		{"the other call is the same", digest, 0x400016, 0x400011, 0, false},
		{"the other call goes anywhere", digest, 0x400026, 0x400021, 0, false},
		{"the other call goes to the callee", digest, 0x400036, 0x400031, 0, false},
		{"nothing jumps through a pointer", digest, 0x400046, 0x400041, 0, false},
		{"the call is known to lead there", digest, 0x400046, 0x400041, unwind.TargetMatches, true},
	} {
		callee := frame(tt.callee, tt.callee-5, 0)
		if got := New(nil).Witnesses().SoleCall(snap, callee, frame(tt.ra, tt.site, tt.checks)); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.what, got, tt.want)
		}
	}
}
