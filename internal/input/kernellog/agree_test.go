package kernellog_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/kernels"
)

// TestPlacesPrintedTwice: where an address and its symbol disagree, a return address is the one that a call stands in
// front of, and nothing is sure where that does not tell.
func TestPlacesPrintedTwice(t *testing.T) {
	code, plain := kernels.MIPS()
	symbols := code.Symbols()
	at, size := symbols[4].Addr, symbols[5].Addr-symbols[4].Addr
	calling := slices.Clone(plain)
	binary.BigEndian.PutUint32(calling[at+4-code.Link:], 0x0320f809) // jalr t9
	for _, c := range []struct {
		what   string
		kernel []byte
		add    uint64 // to the address
		offset uint64 // of the symbol
		pc     uint64
		gap    bool
	}{
		{"they agree", calling, 0, 12, at + 12, false},
		{"the address was changed", calling, 0x40000, 12, at + 12, false},
		{"the symbol's offset was changed", calling, 0, 16, at + 12, false},
		{"neither follows a call", plain, 4, 12, at + 16, true},
		{"beyond the function", plain, 0, size + 12, at + 12, true},
	} {
		var votes strings.Builder // where the kernel ran
		for i, s := range symbols[6:9] {
			fmt.Fprintf(&votes, "[<%08x>] %s+0x8/%#x\n", uint32(s.Addr+8), s.Name[1:], symbols[7+i].Addr-s.Addr)
		}
		pc := fmt.Sprintf("%08x %s+0x8/%#x\n", uint32(symbols[9].Addr+8), symbols[9].Name[1:], symbols[10].Addr-symbols[9].Addr)
		log := fmt.Sprintf("[    0.000000] %s\n%sepc   : %s%sCall Trace:\n[<%s>]%s%s[<%08x>] %s+%#x/%#x\n",
			kernels.Banner, wholeRegisters(), pc, wholeStack, pc[:8], pc[8:], votes.String(), uint32(at+12+c.add), symbols[4].Name[1:], c.offset, size)
		list := opened(t, log, uImage(c.kernel)).Threads[0].Listed
		if l := list[len(list)-1]; l.PC != c.pc || l.Gap != c.gap {
			t.Errorf("%s: %+v, want %#x, gap %v", c.what, l, c.pc, c.gap)
		}
	}
}

// TestPCPrintedTwice: a report that contradicts itself on where the processor stood has no PC.
func TestPCPrintedTwice(t *testing.T) {
	code, kernel := kernels.MIPS()
	symbols := code.Symbols()
	at, size := symbols[4].Addr, symbols[5].Addr-symbols[4].Addr
	for offset, known := range map[uint64]bool{8: true, 4: false, size + 8: false} {
		log := fmt.Sprintf("[    0.000000] %s\n%sepc   : %08x %s+%#x/%#x\n%sCall Trace:\n[<%08[3]x>] %[4]s+0x8/%#[6]x\n",
			kernels.Banner, wholeRegisters(), uint32(at+8), symbols[4].Name[1:], offset, size, wholeStack)
		snap := opened(t, log, uImage(kernel))
		th := &snap.Threads[0]
		if _, ok := th.Regs.Lookup(snap.Arch.PC); ok != known || th.Listed[0].PC != at+8 || th.Listed[0].Gap == known {
			t.Errorf("%#x: the PC is known: %v, %+v", offset, ok, th.Listed)
		}
	}
}
