package callee

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestOwnImport: libjq returns structures, whose address the callee pops, and calls what it
// exports through its PLT. Where the PLT leads back into the image, the call does what the
// function there does. The stubs are found by the GOT that all callers agree on.
func TestOwnImport(t *testing.T) {
	program := codetest.Program{CPU: "i386", Imports: map[uint64]string{0x400c: "jv_string", 0x4010: "jv_dump", 0x4014: "abort"}, Listing: `
		1000: e8 4b 00 00 00     call 1050
		1005: 81 c3 fb 2f 00 00  add  $0x2ffb,%ebx
		100b: e8 20 00 00 00     call 1030 <jv_string@plt>
		1010: 83 ec 0c           sub  $0xc,%esp
		1013: c3                 ret
		1030: ff a3 0c 00 00 00  jmp  *12(%ebx)
		1038: ff a3 10 00 00 00  jmp  *16(%ebx)
		1040: ff a3 14 00 00 00  jmp  *20(%ebx)
		1050: 8b 1c 24           mov  (%esp),%ebx
		1053: c3                 ret
		1060 <jv_string>:
		1060: 8b 44 24 04        mov  4(%esp),%eax
		1064: c2 04 00           ret  $4
		1070 <jv_array>:
		1070: ff a3 0c 00 00 00  jmp  *12(%ebx)`}
	f := effects(t, program)
	for _, c := range []struct {
		to      uint64
		returns bool
		pops    int64
		why     string
	}{
		{0x1030, true, 4, "jv_string is here"},
		{0x1038, true, 0, "jv_dump is elsewhere"},
		{0x1040, false, 0, "abort never returns, wherever it is"},
		{0x1070, true, 4, "a function that is no more than a stub"},
	} {
		if e := f.Of(at(c.to)); e.Returns != c.returns || e.Pops != c.pops {
			t.Errorf("%x: %+v: %s", c.to, e, c.why)
		}
	}
}

// TestImportOfItself: a stub that is exported under the name that it imports leads nowhere.
func TestImportOfItself(t *testing.T) {
	f := effects(t, codetest.Program{CPU: "x86_64", Imports: map[uint64]string{0x4000: "f", 0x4008: "g"}, Listing: `
		1030 <f>:
		1030: ff 25 ca 2f 00 00  jmp *0x4000
		1040 <h>:
		1040: c3                 ret
		1050 <g>:
		1050: ff 25 aa 2f 00 00  jmp *0x4000`})
	for _, to := range []uint64{0x1030, 0x1050} {
		if e := f.Of(at(to)); !e.Returns {
			t.Errorf("%x never returns", to)
		}
	}
}

// TestGOT: what most functions add to the PC is the table's address; code without PC thunks
// has none.
func TestGOT(t *testing.T) {
	for want, listing := range map[uint64]string{
		0: `1000: e8 1b 00 00 00  call 1020
		    1005: 81 c0 fb 2f 00 00  add $0x2ffb,%eax
		    1020: c3  ret`,
		0x4000: `1000: e8 3b 00 00 00  call 1040
		    1005: 81 c3 fb 1f 00 00  add $0x1ffb,%ebx
		    100b: e8 30 00 00 00  call 1040
		    1010: 81 c3 f0 2f 00 00  add $0x2ff0,%ebx
		    1016: e8 25 00 00 00  call 1040
		    101b: 81 c3 e5 2f 00 00  add $0x2fe5,%ebx
		    1021: e8 1a 00 00 00  call 1040
		    1026: c3  ret
		    1040: 8b 1c 24  mov (%esp),%ebx
		    1043: c3  ret`,
	} {
		f := effects(t, codetest.Program{CPU: "i386", Listing: listing})
		if got := f.got(); got != want {
			t.Errorf("the table is at %x, want %x", got, want)
		}
	}
}
