package x86

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
)

func byName(t *testing.T, name string) *cpu.Arch {
	t.Helper()
	a, ok := cpu.Set(Archs()).ByName(name, "", false)
	if !ok {
		t.Fatalf("no %s", name)
	}
	return a
}

func TestArchsAreFoundByELFHeader(t *testing.T) {
	for _, c := range []struct {
		machine uint16
		class   uint8
		want    string
	}{{62, 2, "x86_64"}, {3, 1, "i386"}, {62, 1, ""}, {3, 2, ""}} {
		a, ok := cpu.Set(Archs()).ByELF(c.machine, c.class, false, 0, 0)
		if ok != (c.want != "") || ok && a.Name != c.want {
			t.Errorf("machine %d class %d: %v, want %q", c.machine, c.class, a, c.want)
		}
	}
}

func TestRegisterNamesAndDWARFNumbers(t *testing.T) {
	for _, c := range []struct {
		arch, name string
		reg        cpu.Reg
		dwarf      uint64
	}{
		{"x86_64", "rdx", RDX, 1}, {"x86_64", "rcx", RCX, 2}, {"x86_64", "sp", RSP, 7},
		{"x86_64", "fp", RBP, 6}, {"x86_64", "pc", RIP, 16}, {"x86_64", "efl", RFLAGS, 49},
		{"x86_64", "r31", R31, 145},
		{"i386", "ecx", ECX, 1}, {"i386", "sp", ESP, 4}, {"i386", "fp", EBP, 5},
		{"i386", "pc", EIP, 8}, {"i386", "eflags", EFLAGS, 9},
	} {
		a := byName(t, c.arch)
		if r, ok := a.RegByName(c.name); !ok || r != c.reg {
			t.Errorf("%s %s = %d, want %d", c.arch, c.name, r, c.reg)
		}
		if r, ok := a.RegByDWARF(c.dwarf); !ok || r != c.reg {
			t.Errorf("%s DWARF %d = %d, want %d", c.arch, c.dwarf, r, c.reg)
		}
	}
	for _, a := range Archs() {
		if len(a.Regs) > cpu.MaxRegs {
			t.Errorf("%s has %d registers", a.Name, len(a.Regs))
		}
	}
}

// Every slot of a block is read from where the kernel's or GDB's struct has it.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		arch    string
		carrier cpu.Carrier
		size    int
		offsets map[cpu.Reg]int
	}{
		{"x86_64", cpu.LinuxPrstatus, 216, map[cpu.Reg]int{R15: 0, RBP: 32, RBX: 40, RAX: 80, RDI: 112, RIP: 128, RFLAGS: 144, RSP: 152}},
		{"i386", cpu.LinuxPrstatus, 68, map[cpu.Reg]int{EBX: 0, EBP: 20, EAX: 24, EIP: 48, EFLAGS: 56, ESP: 60}},
		{"x86_64", cpu.LinuxSigcontext, 256, map[cpu.Reg]int{R8: 0, RDI: 64, RBP: 80, RCX: 112, RSP: 120, RIP: 128, RFLAGS: 136}},
		{"i386", cpu.LinuxSigcontext, 88, map[cpu.Reg]int{EDI: 16, EBP: 24, ESP: 28, EAX: 44, EIP: 56, EFLAGS: 64}},
		{"x86_64", cpu.GDBPacket, 536, map[cpu.Reg]int{RAX: 0, RBX: 8, RSP: 56, R15: 120, RIP: 128, RFLAGS: 136}},
		{"i386", cpu.GDBPacket, 308, map[cpu.Reg]int{EAX: 0, ESP: 16, EBP: 20, EIP: 32, EFLAGS: 36}},
	} {
		a := byName(t, c.arch)
		l := a.Layouts[c.carrier]
		if l.Size != c.size {
			t.Errorf("%s carrier %d: size %d, want %d", c.arch, c.carrier, l.Size, c.size)
		}
		block := make([]byte, l.Size)
		for i := 0; i+2 <= len(block); i += 4 {
			binary.LittleEndian.PutUint16(block[i:], uint16(i)) // each word holds its own offset
		}
		regs := a.Read(l, block)
		for r, off := range c.offsets {
			if v, ok := regs.Lookup(r); !ok || int(uint16(v)) != off {
				t.Errorf("%s carrier %d: %s at %d, want %d", c.arch, c.carrier, a.RegName(r), uint16(v), off)
			}
		}
	}
}
