package discover

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestMentionsBehindData: data behind a function, as long as a megabyte, are not all looked through; functions further
// on are.
func TestMentionsBehindData(t *testing.T) {
	for from, whole := range map[string]bool{"400000": false, "500080": true} {
		e := entries(t, codetest.Program{CPU: "mips o32 big", Listing: `
	` + from + ` <first>:
	500100 <start>:
	500180 <held>:
		` + from + `: 03e00008  jr    ra
		500100: 3c020050  lui   v0,0x50
		500104: 24420180  addiu v0,v0,0x180
		500108: 03e00008  jr    ra
		50010c: 00000000  nop
		500180: 03e00008  jr    ra
		500184: 00000000  nop`})
		list, ok := MentionsOf(e, at(0x500180), 8)
		if len(list) != 1 || list[0].Function != at(0x500100) || list[0].N != 1 || ok != whole {
			t.Errorf("from %s: %+v, whole %v", from, list, ok)
		}
	}
}

// TestMentionsBelow: MIPS' addiu takes off what the lower half is above 32 KB.
func TestMentionsBelow(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <start>:
	508180 <held>:
		400000: 3c020051  lui   v0,0x51
		400004: 24428180  addiu v0,v0,-32384
		400008: 03e00008  jr    ra
		40000c: 00000000  nop
		508180: 03e00008  jr    ra
		508184: 00000000  nop`})
	list, _ := MentionsOf(e, at(0x508180), 8)
	if len(list) != 1 || list[0].Function != at(0x400000) || list[0].N != 1 {
		t.Errorf("%+v", list)
	}
}

// TestMentions: how instructions of each processor mention a function.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		what, cpu, listing string
		n, jumps, returns  int
	}{
		{"two halves", "arm", "400000: e3000180  movw r0,#0x180\n400004: e3400050  movt r0,#0x50\n400008: e12fff1e  bx lr", 1, 0, 0},
		{"halves of another", "arm", "400000: e3000180  movw r0,#0x180\n400004: e3400051  movt r0,#0x51\n400008: e12fff1e  bx lr", 0, 0, 0},
		{"a call", "arm", "400000: eb04005e  bl 500180\n400004: e12fff1e  bx lr", 0, 0, 1},
		{"a page, and the place there", "aarch64", "400000: 90000800  adrp x0,500000\n400004: 91060000  add x0,x0,#0x180\n400008: d65f03c0  ret", 1, 0, 0},
		{"a jump", "aarch64", "400000: 14040060  b 500180", 1, 1, 0},
		{"a whole address", "x86_64", "400000: 48 8d 05 79 01 10 00  lea 0x100179(%rip),%rax\n400007: c3  ret", 1, 0, 0},
		{"a number with the same lower bits", "x86_64", "400000: 48 81 c4 80 01 00 00  add $0x180,%rsp\n400007: c3  ret", 0, 0, 0},
	} {
		listing := "\n400000 <start>:\n500180 <held>:\n" + c.listing
		e := entries(t, codetest.Program{CPU: c.cpu, Listing: listing, Data: map[uint64][]uint64{0x500180: {0}}})
		list, _ := MentionsOf(e, at(0x500180), 8)
		n, jumps, returns := 0, 0, 0
		for _, m := range list {
			n, jumps, returns = n+m.N, jumps+m.Jumps, returns+len(m.Returns)
		}
		if n != c.n || jumps != c.jumps || returns != c.returns {
			t.Errorf("%s: %+v", c.what, list)
		}
	}
}
