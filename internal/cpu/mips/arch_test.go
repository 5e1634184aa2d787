package mips

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// TestByELF: real e_flags and the variant that each must select.
func TestByELF(t *testing.T) {
	set := cpu.Set(Archs())
	for _, c := range []struct {
		what  string
		class uint8
		flags uint32
		abi   string
		v     variant
	}{
		{"gcc -mips32r2 o32 pic", 1, 0x70001007, "o32", plain},
		{"MIPS I o32", 1, 0x00001001, "o32", plain},
		{"QEMU's cores have no flags", 1, 0, "o32", plain},
		{"gcc -mips16", 1, 0x74001007, "o32", plain},
		{"gcc -mmicromips", 1, 0x72001007, "o32", microMIPS},
		{"gcc -mips32r6", 1, 0x90001407, "o32", release6},
		{"gcc -mips32r6 -mmicromips", 1, 0x92001407, "o32", release6},
		{"gcc -mabi=n32 -mips64r2", 1, 0x80000025, "n32", plain},
		{"gcc -mabi=n32 -mips64r6", 1, 0xa0000425, "n32", release6},
		{"gcc -mabi=64 -mips64r2", 2, 0x80000007, "n64", plain},
		{"gcc -mabi=64 -march=octeon", 2, 0x808b0007, "n64", plain},
		{"gcc -mabi=64 -mips64r6", 2, 0xa0000407, "n64", release6},
		{"gcc -mabi=64 -march=loongson3a", 2, 0x80a20007, "n64", loongson},
		{"gcc -mabi=n32 -march=loongson2f", 1, 0x30a10027, "n32", loongson},
	} {
		for _, big := range []bool{false, true} {
			a, ok := set.ByELF(8, c.class, big, c.flags, 0)
			want := archOf(t, c.abi, big, c.v)
			if !ok || a.ABI != c.abi || a.BigEndian != big || *a.Decoder.(*decoder) != *want.Decoder.(*decoder) {
				t.Errorf("%s (%#x): wrong descriptor", c.what, c.flags)
			}
		}
	}
}

// TestByName: the words of the snapshot format find the plain descriptors, with
// MIPS16e as the other mode.
func TestByName(t *testing.T) {
	set := cpu.Set(Archs())
	for _, c := range []struct{ name, abi, want string }{
		{"mips", "", "o32"}, {"mips", "o32", "o32"},
		{"mips64", "", "n64"}, {"mips64", "n64", "n64"}, {"mips64", "n32", "n32"},
	} {
		a, ok := set.ByName(c.name, c.abi, true)
		if !ok || a.ABI != c.want || *a.Decoder.(*decoder) != *archOf(t, c.want, true, plain).Decoder.(*decoder) {
			t.Errorf("%s %s: wrong descriptor", c.name, c.abi)
		}
	}
}

// TestRegisterNames: aliases from logs, GDB and the two naming schemes.
func TestRegisterNames(t *testing.T) {
	o32, n64 := archOf(t, "o32", true, plain), archOf(t, "n64", true, plain)
	for _, c := range []struct {
		a    *cpu.Arch
		name string
		want cpu.Reg
	}{
		{o32, "t0", 8}, {n64, "t0", 12}, {n64, "a4", 8}, {n64, "a7", 11},
		{o32, "$29", SP}, {o32, "r31", RA}, {o32, "fp", S8}, {o32, "s8", S8}, {o32, "$30", S8},
		{o32, "epc", PC}, {o32, "pc", PC}, {o32, "sr", Status}, {o32, "bad", BadVAddr}, {o32, "badva", BadVAddr},
		{o32, "hi", HI}, {n64, "lo", LO}, {n64, "cause", Cause},
	} {
		if r, ok := c.a.RegByName(c.name); !ok || r != c.want {
			t.Errorf("%s: register %d, want %d", c.name, r, c.want)
		}
	}
	if r, _ := o32.RegByDWARF(64); r != HI {
		t.Errorf("DWARF register 64 is %s", o32.RegName(r))
	}
	if o32.Preserved.Has(GP) || !n64.Preserved.Has(GP) {
		t.Error("gp is preserved in n32 and n64 only")
	}
}

// TestPrstatus reads the registers of optional cores and finds the known PC of the
// crashed thread in one of them, with SP in mapped memory.
func TestPrstatus(t *testing.T) {
	for _, name := range []string{
		"mips/crash-static-O2.deref", "mipsel/crash-dyn-O2.deref",
		"mips64/crash-static-O2.deref", "mips64el/crash-dyn-O2.deref",
	} {
		t.Run(name, func(t *testing.T) {
			core := recorded.Shared(t, "inputs/user-cores", name+".core.gz")
			checkPrstatus(t, core, crashPC(t, strings.TrimSuffix(core, ".core.gz")+".expected.json"))
		})
	}
}

// TestPrstatusOfCore is the same for testdata's core; want.txt there was compared
// with the source.
func TestPrstatusOfCore(t *testing.T) {
	checkPrstatus(t, recorded.Testdata(t, "mips-deref/core.gz"), 0x4000_07d0)
}

func checkPrstatus(t *testing.T, path string, want uint64) {
	t.Helper()
	core := readCore(t, path)
	a, ok := cpu.Set(Archs()).ByELF(8, uint8(core.Class), core.Data == elf.ELFDATA2MSB, 0, 0)
	if !ok {
		t.Fatal("no descriptor")
	}
	offset := 72 // of pr_reg in struct elf_prstatus
	if a.AddrSize == 8 {
		offset = 112
	}
	for _, status := range notes(t, core, 1) {
		regs := a.Read(a.Layouts[cpu.LinuxPrstatus], status[offset:])
		if pc, _, _ := a.PCOf(&regs); pc == want && mapped(core, regs.Val[SP]) {
			return
		}
	}
	t.Errorf("no thread at %#x", want)
}

func readCore(t *testing.T, path string) *elf.File {
	t.Helper()
	core, err := elf.NewFile(bytes.NewReader(recorded.Unzip(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// crashPC is the innermost pc of the crashed thread.
func crashPC(t *testing.T, path string) uint64 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	var expected struct {
		Threads []struct {
			Crashed bool
			Frames  []struct{ PC string }
		}
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	for _, thread := range expected.Threads {
		if thread.Crashed {
			pc, err := strconv.ParseUint(strings.TrimPrefix(thread.Frames[0].PC, "0x"), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return pc
		}
	}
	t.Fatal("nobody crashed")
	return 0
}

// notes returns the descriptions of a core's notes of one type.
func notes(t *testing.T, core *elf.File, kind uint32) (list [][]byte) {
	t.Helper()
	for _, p := range core.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		data := make([]byte, p.Filesz)
		if _, err := p.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		for len(data) >= 12 {
			name := int(core.ByteOrder.Uint32(data)+3) &^ 3
			size := int(core.ByteOrder.Uint32(data[4:]))
			if core.ByteOrder.Uint32(data[8:]) == kind {
				list = append(list, data[12+name:12+name+size])
			}
			data = data[min(len(data), 12+name+(size+3)&^3):]
		}
	}
	return list
}

func mapped(core *elf.File, addr uint64) bool {
	for _, p := range core.Progs {
		if p.Type == elf.PT_LOAD && addr-p.Vaddr < p.Memsz {
			return true
		}
	}
	return false
}

// TestSigcontext pins the offsets of struct sigcontext: o32 keeps 64-bit fields
// of which the low half counts, in either byte order.
func TestSigcontext(t *testing.T) {
	offsets := func(abi string, big bool) map[cpu.Reg]int {
		m := map[cpu.Reg]int{}
		for _, s := range archOf(t, abi, big, plain).Layouts[cpu.LinuxSigcontext].Slots {
			m[s.Reg] = s.Offset
		}
		return m
	}
	big, little, n64 := offsets("o32", true), offsets("o32", false), offsets("n64", true)
	if big[PC] != 12 || little[PC] != 8 || n64[PC] != 576 {
		t.Errorf("pc at %d, %d, %d", big[PC], little[PC], n64[PC])
	}
	if big[RA] != 16+31*8+4 || little[RA] != 16+31*8 || n64[RA] != 31*8 {
		t.Errorf("ra at %d, %d, %d", big[RA], little[RA], n64[RA])
	}
}

// TestEntry: struct pt_regs as Linux 6.1 has it, 184 bytes of 32-bit kernels (arch/mips/kernel/asm-offsets.c).
func TestEntry(t *testing.T) {
	for _, c := range []struct {
		abi                       string
		size, r0, sp, status, epc int
	}{{"o32", 184, 32, 148, 160, 180}, {"n64", 304, 0, 232, 256, 296}} {
		a, ok := cpu.Set(Archs()).ByName(map[string]string{"o32": "mips", "n64": "mips64"}[c.abi], c.abi, false)
		if !ok {
			t.Fatal("no descriptor")
		}
		l := a.Layouts[cpu.LinuxEntry]
		at := map[cpu.Reg]int{}
		for _, s := range l.Slots {
			at[s.Reg] = s.Offset
		}
		if l.Size != c.size || at[Zero] != c.r0 || at[SP] != c.sp || at[Status] != c.status || at[PC] != c.epc {
			t.Errorf("%s: size %d, %v", c.abi, l.Size, at)
		}
	}
}
