package code

import (
	"testing"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestStackProbes: a large frame is made page by page in a loop that touches each, up to a limit in a register. Behind the
// loop SP is known, within by that register alone.
func TestStackProbes(t *testing.T) {
	for name, p := range map[string]struct {
		loop, behind uint64
		program      codetest.Program
	}{
		"GCC, -fstack-clash-protection": {0x401009, 0x40101a, codetest.Program{CPU: "x86_64", Listing: `
	401000 <f>:
		401000: 53                    push %rbx
		401001: 4c 8d 9c 24 00 00 fd ff  lea -0x30000(%rsp),%r11
		401009: 48 81 ec 00 10 00 00  sub $0x1000,%rsp
		401010: 48 83 0c 24 00        orq $0,(%rsp)
		401015: 4c 39 dc              cmp %r11,%rsp
		401018: 75 ef                 jne 401009
		40101a: 48 81 ec 40 0d 00 00  sub $0xd40,%rsp
		401021: e8 1a 00 00 00        call 401040
		401026: 48 81 c4 40 0d 03 00  add $0x30d40,%rsp
		40102d: 5b                    pop %rbx
		40102e: c3                    ret
	401040 <g>:
		401040: c3                    ret
		401041: e8 ba ff ff ff        call 401000
		401046: c3                    ret`}},
		"Rust": {0x40100b, 0x40101f, codetest.Program{CPU: "x86_64", Listing: `
	401000 <f>:
		401000: 53                    push %rbx
		401001: 49 89 e3              mov %rsp,%r11
		401004: 49 81 eb 00 00 03 00  sub $0x30000,%r11
		40100b: 48 81 ec 00 10 00 00  sub $0x1000,%rsp
		401012: 48 c7 04 24 00 00 00 00  movq $0,(%rsp)
		40101a: 4c 39 dc              cmp %r11,%rsp
		40101d: 75 ec                 jne 40100b
		40101f: 48 81 ec 40 0d 00 00  sub $0xd40,%rsp
		401026: e8 15 00 00 00        call 401040
		40102b: 48 81 c4 40 0d 03 00  add $0x30d40,%rsp
		401032: 5b                    pop %rbx
		401033: c3                    ret
	401040 <g>:
		401040: c3                    ret
		401041: e8 ba ff ff ff        call 401000
		401046: c3                    ret`}},
	} {
		const made = "CFA=rsp+196624 RA=[CFA-8] rbx=[CFA-16]"
		img := p.program.Image(t)
		expect(t, New(nil), img, exact, map[uint64]string{
			p.loop:        "CFA=r11+196624 RA=[CFA-8]",
			p.behind - 2:  "CFA=r11+196624 RA=[CFA-8]",
			p.behind:      made,
			p.behind + 12: "CFA=rsp+200016 RA=[CFA-8] rbx=[CFA-16]",
		})
		if flows := New(nil).of(img).Heights.Of(disasm.Addr{PC: 0x401000}); flows == nil || flows.At(p.behind).SP != 8-196624 {
			t.Errorf("%s: the heights of SP are not known", name)
		}
	}
}
