package arm64

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// words is a block of words that tell their place in it.
func words(n int, order binary.ByteOrder) []byte {
	block := make([]byte, 8*n)
	for i := range n {
		order.PutUint64(block[8*i:], uint64(0x1000+i))
	}
	return block
}

// TestLayouts: the size of each carrier of registers, and where x0 lies in it.
func TestLayouts(t *testing.T) {
	a := Archs()[0]
	for _, c := range []struct {
		what    string
		carrier cpu.Carrier
		size    int
		first   uint64 // the value of x0
	}{
		{"user_pt_regs", cpu.LinuxPrstatus, 272, 0x1000},
		{"struct sigcontext", cpu.LinuxSigcontext, 280, 0x1001},
		{"g packet", cpu.GDBPacket, 268, 0x1000},
	} {
		l := a.Layouts[c.carrier]
		if l.Size != c.size {
			t.Errorf("%s: size %d, want %d", c.what, l.Size, c.size)
		}
		regs := a.Read(l, words(40, binary.LittleEndian))
		for _, r := range []cpu.Reg{X0, X29, X30, SP, PC, PSTATE} {
			if v, ok := regs.Lookup(r); !ok || v != c.first+uint64(r) {
				t.Errorf("%s: %s is %#x %v", c.what, a.RegName(r), v, ok)
			}
		}
	}
}

func TestBigEndianData(t *testing.T) {
	a, ok := cpu.Set(Archs()).ByELF(machine, 2, true, 0, 0)
	if !ok {
		t.Fatal("no big-endian AArch64")
	}
	regs := a.Read(a.Layouts[cpu.LinuxPrstatus], words(34, binary.BigEndian))
	if v, _ := regs.Lookup(SP); v != 0x1000+31 {
		t.Errorf("sp is %#x", v)
	}
}

// TestNames: registers have the names and the DWARF numbers of the ABI.
func TestNames(t *testing.T) {
	a := Archs()[0]
	for name, want := range map[string]cpu.Reg{
		"x0": X0, "x29": X29, "fp": X29, "x30": X30, "lr": X30, "sp": SP, "pc": PC, "elr": PC,
		"cpsr": PSTATE, "pstate": PSTATE, "ip0": X16,
	} {
		if r, ok := a.RegByName(name); !ok || r != want {
			t.Errorf("%s is %d", name, r)
		}
	}
	for number, want := range map[uint64]cpu.Reg{0: X0, 30: X30, 31: SP, 32: PC, 34: RASignState} {
		if r, ok := a.RegByDWARF(number); !ok || r != want {
			t.Errorf("DWARF %d is %d", number, r)
		}
	}
	if len(a.Regs) > cpu.MaxRegs {
		t.Error("too many registers")
	}
	if a.Preserved != cpu.SetOf(19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29) {
		t.Errorf("preserved: %b", a.Preserved)
	}
}
