package stackuse_test

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/stackuse"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestPointers: nobody knows where a call through a word goes that the program may write, whatever the file has there; a word that is
// read-only once it is relocated tells, and so does one of an import that is loaded some blocks before.
func TestPointers(t *testing.T) {
	p := codetest.Program{CPU: "x86_64", Data: map[uint64][]uint64{0x401000: {0x400020, 0}}, Imports: map[uint64]string{0x401008: "weak"}, Listing: `
400000 <f>:
 400000: 48 8b 05 f9 0f 00 00  mov  0xff9(%rip),%rax
 400007: ff d0                 call *%rax
 400009: 48 8b 05 f8 0f 00 00  mov  0xff8(%rip),%rax
 400010: 48 85 c0              test %rax,%rax
 400013: 74 02                 je   400017
 400015: ff d0                 call *%rax
 400017: c3                    ret
400020 <g>:
 400020: c3                    ret`}
	first := func() (word, weak stackuse.Call) {
		u := stackuse.Of(analyses.Of(p.Image(t), nil), disasm.Addr{PC: 0x400000}, nil)
		if len(u.Calls) != 2 {
			t.Fatalf("%+v", u.Calls)
		}
		return u.Calls[0], u.Calls[1]
	}
	if word, weak := first(); len(word.To) != 0 || word.Sure || weak.Import != "weak" || !weak.Sure {
		t.Errorf("%+v, %+v", word, weak)
	}
	p.Sealed = []uint64{0x401000}
	if word, _ := first(); len(word.To) != 1 || word.To[0].PC != 0x400020 || !word.Sure || !word.Indirect {
		t.Errorf("sealed: %+v", word)
	}
}

// TestLandingPads: what code calls that exceptions enter is called with the function's frame.
func TestLandingPads(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
400000 <f>:
 400000: 53                    push %rbx
 400001: e8 1a 00 00 00        call 400020 <g>
 400006: 5b                    pop  %rbx
 400007: c3                    ret
 400008: 48 89 c7              mov  %rax,%rdi
 40000b: e8 20 00 00 00        call 400030 <h>
 400010: eb f4                 jmp  400006
400020 <g>:
 400020: c3                    ret
400030 <h>:
 400030: c3                    ret`}.Image(t)
	pads := stackuse.Pads{Lo: 0x400000, Hi: 0x400012, At: []uint64{0x400008}, Known: true}
	u := stackuse.Of(analyses.Of(img, nil), disasm.Addr{PC: 0x400000}, func(*image.Image, uint64) stackuse.Pads { return pads })
	if got := counted(analyses.Of(img, nil), u); got != "own 16 calls g@16 h@16" {
		t.Error(got)
	}
	pads.Known = false
	u = stackuse.Of(analyses.Of(img, nil), disasm.Addr{PC: 0x400000}, func(*image.Image, uint64) stackuse.Pads { return pads })
	if got := counted(analyses.Of(img, nil), u); got != "own 16 calls g@16" {
		t.Error(got)
	}
}
