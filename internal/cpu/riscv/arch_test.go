package riscv

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestABIs: e_flags of real files (readelf -h) and what they choose.
func TestABIs(t *testing.T) {
	set := cpu.Set(Archs())
	for _, c := range []struct {
		what  string
		class uint8
		flags uint32
		name  string
		abi   string
		zcmp  bool
	}{
		{"Debian riscv64: RVC, double", 2, 0x5, "riscv64", "lp64d", false},
		{"Linux kernel: RVC, soft", 2, 0x1, "riscv64", "lp64", true},
		{"rv32imac: RVC, soft", 1, 0x1, "riscv32", "ilp32", true},
		{"rv32imafc: RVC, single", 1, 0x3, "riscv32", "ilp32", true},
		{"rv32gc: RVC, double", 1, 0x5, "riscv32", "ilp32d", false},
		{"rv32ec: RVC, RVE", 1, 0x9, "riscv32", "ilp32e", true},
	} {
		a, ok := set.ByELF(machine, c.class, false, c.flags, 0)
		if !ok || a.Name != c.name || a.ABI != c.abi || a.Decoder.(decoder).zcmp != c.zcmp {
			t.Errorf("%s: got %+v", c.what, a)
		}
	}
	for name, abi := range map[string]string{"riscv64": "lp64d", "riscv32": "ilp32"} {
		if a, ok := set.ByName(name, "", false); !ok || a.ABI != abi {
			t.Errorf("default of %s is %s", name, a.ABI)
		}
	}
}

// TestLayouts: where pc, ra and s0 lie in each carrier of registers.
func TestLayouts(t *testing.T) {
	for _, a := range Archs() {
		block := make([]byte, 33*a.RegSize)
		for i := range 33 {
			if a.RegSize == 4 {
				binary.LittleEndian.PutUint32(block[4*i:], uint32(0x1000+i))
			} else {
				binary.LittleEndian.PutUint64(block[8*i:], uint64(0x1000+i))
			}
		}
		for what, carrier := range map[string]cpu.Carrier{"prstatus": cpu.LinuxPrstatus, "sigcontext": cpu.LinuxSigcontext} {
			l := a.Layouts[carrier]
			regs := a.Read(l, block)
			if l.Size != 32*a.RegSize || regs.Val[PC] != 0x1000 || regs.Val[RA] != 0x1001 || regs.Val[S0] != 0x1008 {
				t.Errorf("%s %s: %x", a.ABI, what, regs.Val)
			}
		}
		regs := a.Read(a.Layouts[cpu.GDBPacket], block)
		if pc := uint64(0x1000 + regs.Known.Len() - 1); regs.Val[SP] != 0x1002 || regs.Val[PC] != pc {
			t.Errorf("%s g packet: %x", a.ABI, regs.Val)
		}
	}
}

// TestNames: registers have the names and the DWARF numbers of the psABI.
func TestNames(t *testing.T) {
	a := Archs()[0]
	for name, want := range map[string]cpu.Reg{
		"zero": 0, "ra": 1, "x1": 1, "sp": 2, "s0": 8, "fp": 8, "x8": 8, "s11": 27, "t6": 31, "pc": PC, "epc": PC, "mepc": PC,
	} {
		if r, ok := a.RegByName(name); !ok || r != want {
			t.Errorf("%s is %d", name, r)
		}
	}
	if r, ok := a.RegByDWARF(32); ok {
		t.Errorf("DWARF 32, which is f0, is %s", a.RegName(r))
	}
	if a.Preserved != cpu.SetOf(8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27) {
		t.Errorf("preserved: %b", a.Preserved)
	}
}
