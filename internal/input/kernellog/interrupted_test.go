package kernellog_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/kernels"
)

// wholeRegisters are the lines of registers that a report of MIPS has in front of the PC, wholeStack those behind.
func wholeRegisters() string {
	var all strings.Builder
	for r := 0; r < 32; r += 4 {
		fmt.Fprintf(&all, "$%2d   :%s\n", r, strings.Repeat(" 00000000", 4))
	}
	return all.String()
}

const lineOfWords = " 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n"
const wholeStack = "ra    : 00000000\nStack :" + lineOfWords + lineOfWords + lineOfWords + lineOfWords + lineOfWords + "        ...\n"

// TestInterruptedBehindCall: behind MIPS' entry code, a place behind a call is where the link register pointed, and
// not what the exception interrupted; any other is.
func TestInterruptedBehindCall(t *testing.T) {
	code, plain := kernels.MIPS()
	symbols := code.Symbols()
	at, size := symbols[4].Addr, symbols[5].Addr-symbols[4].Addr
	calling := slices.Clone(plain)
	binary.BigEndian.PutUint32(calling[at+4-code.Link:], 0x0320f809) // jalr t9
	log := fmt.Sprintf(`[    0.000000] %s
CPU: 0 PID: 96 Comm: sh Not tainted 6.1.0-synth #1
%sepc   : %08[3]x function1+0x8/%#[4]x
%[5]sCall Trace:
[<%08[3]x>] function1+0x8/%#[4]x
[<%08[6]x>] handle_int+0x8/0x50
[<%08[7]x>] %[8]s+0xc/%#[9]x
---[ end trace 0000000000000000 ]---
`, kernels.Banner, wholeRegisters(), symbols[1].Addr+8, symbols[2].Addr-symbols[1].Addr, wholeStack,
		symbols[2].Addr+8, at+12, symbols[4].Name[1:], size)
	for _, c := range []struct {
		kernel     []byte
		exact, gap bool
	}{{plain, true, false}, {calling, false, true}} {
		list := opened(t, log, uImage(c.kernel)).Threads[0].Listed
		if l := list[len(list)-1]; l.PC != at+12 || l.Exact != c.exact || l.Gap != c.gap {
			t.Errorf("%+v, want exact %v, gap %v", l, c.exact, c.gap)
		}
	}
}
