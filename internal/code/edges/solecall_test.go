package edges

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestSoleCall: update jumps to the digest through a pointer, once has no such jump, and leaf comes
// back. digest is in a table, hidden is not, and of the function behind maker only code builds the address.
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
		4000c5: c3                ret
	4000d0 <maker>:
		4000d0: 50                    push %rax
		4000d1: 48 8d 3d 18 00 00 00  lea  0x18(%rip),%rdi    4000f0
		4000d8: e8 83 ff ff ff        call 400060
		4000dd: 58                    pop  %rax
		4000de: c3                    ret
		4000f0: 50                    push %rax
		4000f1: e8 8a ff ff ff        call 400080
		4000f6: 58                    pop  %rax
		4000f7: c3                    ret
	400110 <imports>:
		400110: 50                    push %rax
		400111: e8 4a ff ff ff        call 400060
		400116: e8 15 00 00 00        call 400130
		40011b: e8 40 00 00 00        call 400160
		400120: 58                    pop  %rax
		400121: c3                    ret
	400130 <either>:
		400130: 85 ff                 test %edi,%edi
		400132: 0f 84 48 ff ff ff     je   400080
		400138: eb 16                 jmp  400150
	400150 <leaf@plt>:
		400150: ff 25 aa ff 00 00     jmp  *0xffaa(%rip)      410100
	400160 <chosen@plt>:
		400160: ff 25 a2 ff 00 00     jmp  *0xffa2(%rip)      410108
	400170 <resolve>:
		400170: 48 8d 05 09 ff ff ff  lea  -0xf7(%rip),%rax   400080
		400177: c3                    ret
	400190 <makes>:
		400190: 50                    push %rax
		400191: e8 ca fe ff ff        call 400060
		400196: e8 29 00 00 00        call 4001c4
		40019b: 58                    pop  %rax
		40019c: c3                    ret
		4001b0: 53                    push %rbx
		4001b1: e8 ca fe ff ff        call 400080
		4001b6: 5b                    pop  %rbx
		4001b7: c3                    ret
		4001c4: 53                    push %rbx
		4001c5: e8 b6 fe ff ff        call 400080
		4001ca: 5b                    pop  %rbx
		4001cb: c3                    ret`,
		Data:      map[uint64][]uint64{0x410000: {0x4000a0, 0x400000, 0x400010, 0x400020, 0x400030, 0x400040, 0x4001b0}},
		Imports:   map[uint64]string{0x410100: "leaf"},
		Resolvers: map[uint64]uint64{0x410108: 0x400170}})
	frame := func(ra, site uint64, checks unwind.Checks) *unwind.Frame {
		return &unwind.Frame{PC: ra, CallSite: site, Module: m, Checks: checks}
	}
	const digest, hidden, built = 0x4000a6, 0x4000b6, 0x4000f6
	for _, tt := range []struct {
		what             string
		callee, ra, site uint64
		checks           unwind.Checks
		sole, jumps      bool
	}{
		{"leaf comes back before", digest, 0x40000b, 0x400006, 0, true, true},
		{"nothing points to the callee", hidden, 0x40000b, 0x400006, 0, false, false},
		{"code builds the callee's address", built, 0x40000b, 0x400006, 0, true, true},
		{"the others lead to one function in two ways, and to what a resolver chooses", digest, 0x400116, 0x400111, 0, true, true},
		{"the other call goes to the function behind", 0x4001b6, 0x400196, 0x400191, 0, true, true},
		{"the other call is the same", digest, 0x400016, 0x400011, 0, false, true},
		{"the other call goes anywhere", digest, 0x400026, 0x400021, 0, false, true},
		{"the other call goes to the callee", digest, 0x400036, 0x400031, 0, false, true},
		{"nothing jumps through a pointer", digest, 0x400046, 0x400041, 0, false, false},
		{"the call is known to lead there", digest, 0x400046, 0x400041, unwind.TargetMatches, true, false},
		{"a call through a register", digest, 0x400028, 0x400026, 0, false, false},
	} {
		callee := frame(tt.callee, tt.callee-5, 0)
		w, f := New(nil), frame(tt.ra, tt.site, tt.checks)
		if sole, jumps := w.SoleCall(snap, callee, f), w.MayJump(snap, callee, f); sole != tt.sole || jumps != tt.jumps {
			t.Errorf("%s: the only call %t, by a jump %t", tt.what, sole, jumps)
		}
	}
}

// TestSoleCallOfLinker: f calls update, which jumps through a pointer, and an import. The dynamic linker, which is a
// program as well, may have been called to bind the import; a function of a library that nothing starts, or that the
// linker would start (glibc's libc prints its version), was not.
func TestSoleCallOfLinker(t *testing.T) {
	m, snap := placed(t, codetest.Program{CPU: "x86_64", Imports: map[uint64]string{0x410100: "leaf"}, Listing: `
	400000 <f>:
		400000: 50                 push %rax
		400001: e8 5a 00 00 00     call 400060
		400006: e8 45 00 00 00     call 400050
		40000b: 58                 pop  %rax
		40000c: c3                 ret
	400050 <leaf@plt>:
		400050: ff 25 aa 00 01 00  jmp  *0x100aa(%rip)   410100
	400060 <update>:
		400060: ff 67 08           jmp  *8(%rdi)
	400080 <leaf>:
		400080: c3                 ret`})
	for _, tt := range []struct {
		start       uint64
		interpreted bool
		want        bool
	}{{0, false, true}, {0x500010, false, false}, {0x500010, true, true}} {
		lib, _ := placed(t, codetest.Program{CPU: "x86_64", Entry: tt.start, Interpreted: tt.interpreted, Data: map[uint64][]uint64{0x510000: {0x500000}}, Listing: `
		500000 <callee>:
			500000: 50              push %rax
			500001: e8 0a 00 00 00  call 500010
			500006: 58              pop  %rax
			500007: c3              ret
		500010 <start>:
			500010: c3              ret`})
		snap.Modules = []*target.Module{m, lib}
		callee := &unwind.Frame{PC: 0x500006, CallSite: 0x500001, Module: lib}
		if got := New(nil).SoleCall(snap, callee, &unwind.Frame{PC: 0x400006, CallSite: 0x400001, Module: m}); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
		if a := mayReach(New(nil), snap, 0x400050, 0, callee.CallSite); (a == stackwalk.No) != tt.want {
			t.Errorf("%+v: entered by the import's stub: %v", tt, a)
		}
	}
}
