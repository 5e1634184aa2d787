package code

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// unnamed is a function that nobody names, with a stack and a jump of unknown extent.
const unnamed = `
		401020: 55              push %rbp
		401021: 48 89 e5        mov  %rsp,%rbp
		401024: 53              push %rbx
		401025: 48 29 c4        sub  %rax,%rsp
		401028: 85 ff           test %edi,%edi
		40102a: 74 05           je   401031
		40102c: 48 8b 06        mov  (%rsi),%rax
		40102f: ff e0           jmp  *%rax
		401031: e8 ca ff ff ff  call 401000
		401036: 48 8d 65 f8     lea  -0x8(%rbp),%rsp
		40103a: 5b              pop  %rbx
		40103b: 5d              pop  %rbp
		40103c: c3              ret`

// TestFunctionBehind: where a function ends whose code is all that is known to stand in front
// of the unnamed one.
func TestFunctionBehind(t *testing.T) {
	for name, front := range map[string]string{
		// The labels of a computed goto stand behind the jump; what brings back registers that
		// it saved itself is no label, whatever stack-height analysis makes of it.
		"behind a computed goto": `
		401000 <f>:
		401000: 53              push %rbx
		401001: 48 83 ec 20     sub  $0x20,%rsp
		401005: 48 8b 07        mov  (%rdi),%rax
		401008: ff e0           jmp  *%rax
		40100a: 31 c0           xor  %eax,%eax
		40100c: 48 83 c4 20     add  $0x20,%rsp
		401010: 5b              pop  %rbx
		401011: c3              ret
		401012: 66 2e 0f 1f 84 00 00 00 00 00
		40101c: 0f 1f 40 00`,
		// As an instruction, the zero in front would take in the push.
		"behind zeros": `
		401000 <f>:
		401000: 53              push %rbx
		401001: 48 83 ec 20     sub  $0x20,%rsp
		401005: 31 c0           xor  %eax,%eax
		401007: 48 83 c4 20     add  $0x20,%rsp
		40100b: 5b              pop  %rbx
		40100c: c3              ret
		40100d: 0f 1f 00
		401010: 66 66 66 66 66 66 2e 0f 1f 84 00 00 00 00 00
		40101f: 00`,
	} {
		img := codetest.Program{CPU: "x86_64", Listing: front + unnamed}.Image(t)
		t.Run(name, func(t *testing.T) {
			expect(t, New(nil), img, exact, map[uint64]string{0x401020: "CFA=rsp+8 RA=[CFA-8]",
				0x401025: "CFA=rsp+24 RA=[CFA-8] rbp=[CFA-16]", 0x401031: "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]"})
		})
	}
}
