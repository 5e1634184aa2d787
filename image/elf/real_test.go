package elf

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// archs describe just what choosing an ABI needs, so that these tests do not
// depend on any decoder.
func testArchs() cpu.Set {
	var set cpu.Set
	add := func(name, abi string, big bool, size int, isa bool, m cpu.ELFMatch) {
		set = append(set, &cpu.Arch{Name: name, ABI: abi, BigEndian: big, AddrSize: size, ISABit: isa, ModeOnly: m.Profile == 'M', ELF: m})
	}
	for _, big := range []bool{false, true} {
		add("mips", "o32", big, 4, true, cpu.ELFMatch{Machine: 8, Class: 1})
		add("mips", "n32", big, 4, true, cpu.ELFMatch{Machine: 8, Class: 1, Mask: 0x20, Flags: 0x20})
		add("mips64", "n64", big, 8, true, cpu.ELFMatch{Machine: 8, Class: 2})
	}
	add("arm", "", false, 4, true, cpu.ELFMatch{Machine: 40, Class: 1})
	add("arm", "m", false, 4, true, cpu.ELFMatch{Machine: 40, Class: 1, Profile: 'M'})
	add("aarch64", "", false, 8, false, cpu.ELFMatch{Machine: 183, Class: 2})
	add("riscv32", "", false, 4, false, cpu.ELFMatch{Machine: 243, Class: 1})
	add("riscv64", "", false, 8, false, cpu.ELFMatch{Machine: 243, Class: 2})
	add("x86_64", "", false, 8, false, cpu.ELFMatch{Machine: 62, Class: 2})
	add("i386", "", false, 4, false, cpu.ELFMatch{Machine: 3, Class: 1})
	return set
}

func TestOpensAll(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/truth/public/*/*/*.elf")
	for _, path := range files {
		img, err := Open(path, Options{Archs: testArchs()})
		if err != nil {
			t.Error(err)
			continue
		}
		n := 0
		img.Functions(func(uint64, cpu.Mode, uint64) bool { n++; return true })
		m, ok := img.SymbolNamed("main")
		s, _ := img.SymbolAt(m.Addr + 2)
		eh, ok2 := img.Section(".eh_frame")
		ex, ok3 := img.Section(".ARM.exidx")
		t.Log(path[len("../../../shared/truth/public/"):], img.Arch.Name, img.Arch.ABI, n, m, ok, s.Name, len(eh.Data), ok2, len(ex.Data), ok3, len(img.BuildID), img.PHdr, img.EHFrameHdr)
		img.Close()
	}
	_ = os.Stdout
}
