package backsight_test

import (
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// TestNamesOfExports: musl writes memset and __clone in assembly, without sizes, and exports memset alone. What its code does
// not come to is not memset's; so it is where another function calls a place in between.
func TestNamesOfExports(t *testing.T) {
	library := codetest.Program{CPU: "x86_64", Exports: true, Listing: `
	400000 <memset>:
	400010 <pthread_create>:
		400000: 48 85 d2        test %rdx,%rdx
		400003: 74 01           je   400006
		400005: aa              stos %al,%es:(%rdi)
		400006: c3              ret
		400008: 31 ed           xor  %ebp,%ebp
		40000a: ff d0           call *%rax
		40000c: 0f 0b           ud2
		400010: 50              push %rax
		400011: e8 f2 ff ff ff  call 400008
		400016: e8 ed ff ff ff  call 400008
		40001b: 58              pop  %rax
		40001c: c3              ret`}
	img := library.Image(t)
	names := backsight.Names(false)
	for addr, want := range map[uint64]string{0x400000: "memset", 0x400006: "memset", 0x400008: "", 0x40000b: "", 0x40001b: "pthread_create"} {
		if l := names.Lookup(target.NewModule("libc.so", img, 0), addr); l.Function != want {
			t.Errorf("%#x: %q, want %q", addr, l.Function, want)
		}
	}
}
