package arm

import (
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestByELF: A and M profile files differ only in the build attributes, BE8 and
// BE32 only in a flag of the header.
func TestByELF(t *testing.T) {
	set := cpu.Set(Archs())
	for _, c := range []struct {
		big     bool
		flags   uint32
		profile byte
		abi     string
	}{
		{false, 0x0500_0400, 0, ""},
		{false, 0x0500_0400, 'A', ""},
		{false, 0x0500_0400, 'R', ""},
		{false, 0x0500_0200, 'M', "cortexm"},
		{true, 0x0580_0400, 'A', "be8"},
		{true, 0x0500_0400, 0, "be32"},
	} {
		a, ok := set.ByELF(40, 1, c.big, c.flags, c.profile)
		if !ok || a.ABI != c.abi {
			t.Errorf("%+v: %v %v", c, a, ok)
		}
	}
	if _, ok := set.ByELF(40, 2, false, 0, 0); ok {
		t.Error("a 64-bit ARM file")
	}
	if a, ok := set.ByName("arm", "", false); !ok || a.ABI != "" {
		t.Errorf("arm: %v %v", a, ok)
	}
}

// TestRegisterNames: logs use many spellings.
func TestRegisterNames(t *testing.T) {
	for _, a := range Archs() {
		for name, want := range map[string]cpu.Reg{
			"r0": R0, "a1": R0, "v1": R4, "sl": R10, "fp": R11, "r11": R11, "ip": R12, "r12": R12,
			"sp": SP, "r13": SP, "lr": LR, "r14": LR, "pc": PC, "r15": PC, "cpsr": CPSR, "xpsr": CPSR,
		} {
			if r, ok := a.RegByName(name); !ok || r != want {
				t.Errorf("%s %s: %d", a.ABI, name, r)
			}
		}
	}
}

// TestStackPointers: only the M profile has two, and no GDB packet holds them: the
// stubs append them in their own orders, if at all.
func TestStackPointers(t *testing.T) {
	for _, a := range Archs() {
		for name, want := range map[string]cpu.Reg{"msp": MSP, "psp": PSP, "sp_process": PSP} {
			r, ok := a.RegByName(name)
			if ok != (a.ABI == "cortexm") || ok && r != want {
				t.Errorf("%q %s: %d %v", a.ABI, name, r, ok)
			}
		}
		l := a.Layouts[cpu.GDBPacket]
		if last := l.Slots[len(l.Slots)-1]; l.Size != 68 || len(l.Slots) != 17 || last.Reg != CPSR {
			t.Errorf("%q: packet of %d bytes with %d registers", a.ABI, l.Size, len(l.Slots))
		}
	}
}

// TestExceptionFrame reads what a Cortex-M stacks: r0–r3, r12, lr, the address
// to go on at, xpsr with T in bit 24.
func TestExceptionFrame(t *testing.T) {
	block := make([]byte, 32)
	for i := range 8 {
		block[4*i] = byte(0x10 * i)
	}
	block[31] = 0x01
	m := Archs()[1]
	regs := m.Read(m.Layouts[cpu.CortexMFrame], block)
	for r, want := range map[cpu.Reg]uint64{R0: 0, R3: 0x30, R12: 0x40, LR: 0x50, PC: 0x60, CPSR: 0x0100_0070} {
		if v, ok := regs.Lookup(r); !ok || v != want {
			t.Errorf("%s = %#x %v, want %#x", m.RegName(r), v, ok, want)
		}
	}
	if pc, mode, ok := m.PCOf(&regs); !ok || pc != 0x60 || mode != 1 {
		t.Errorf("PC %#x:%d %v", pc, mode, ok)
	}
}

// TestPCOf: on the other profiles the CPSR's T bit is the mode.
func TestPCOf(t *testing.T) {
	a := Archs()[0]
	var regs cpu.Registers
	regs.Set(PC, 0x8000)
	regs.Set(CPSR, 0x6000_0030)
	if pc, mode, _ := a.PCOf(&regs); pc != 0x8000 || mode != 1 {
		t.Errorf("PC %#x:%d", pc, mode)
	}
}

// TestSigcontext: fault_address follows the registers and is none.
func TestSigcontext(t *testing.T) {
	l := Archs()[0].Layouts[cpu.LinuxSigcontext]
	at := map[cpu.Reg]int{}
	for _, s := range l.Slots {
		at[s.Reg] = s.Offset
	}
	if l.Size != 84 || at[R0] != 12 || at[PC] != 72 || at[CPSR] != 76 {
		t.Errorf("size %d, r0 at %d, pc at %d, cpsr at %d", l.Size, at[R0], at[PC], at[CPSR])
	}
}
