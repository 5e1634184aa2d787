package mips

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/difftest"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// long asks for the tests that take more than a few seconds.
func long() bool { return difftest.Long() }

// realProgram is a compiled program and how to read it.
type realProgram struct {
	name       string
	arch       *cpu.Arch
	compressed encoding
	path       string
}

// TestPrograms compares effects, return addresses and direct calls with objdump
// over real programs.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	for _, p := range realPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			lines := objdump(t, p.arch.BigEndian, "-d", p.path)
			check(t, p.arch, p.compressed, lines)
			checkCallBefore(t, p, lines)
			checkCalls(t, p, lines)
		})
	}
}

// realPrograms are recorded programs, small ones in the compressed encodings, and in
// the long run the libraries of the cross compilers.
func realPrograms(t *testing.T) (list []realProgram) {
	t.Helper()
	for _, c := range []struct {
		file, abi  string
		v          variant
		compressed encoding
	}{
		{"mips16.elf", "o32", plain, inMIPS16}, {"micromips.elf", "o32", microMIPS, inMicro},
	} {
		list = append(list, realProgram{c.file, archOf(t, c.abi, true, c.v), c.compressed, recorded.Testdata(t, "modes", c.file)})
	}
	for _, c := range []struct {
		cases, tier, abi string
		big              bool
		v                variant
		compressed       encoding
		long             bool
	}{
		{"mips/*-O2", "naked", "o32", true, plain, inWords, false},
		{"mips16/*", "sym", "o32", true, plain, inMIPS16, false},
		{"mipsr6/*-O[23]", "naked", "o32", true, release6, inWords, false},
		{"mips64el/*-O2", "naked", "n64", false, plain, inWords, false},
		{"mipsel/*", "naked", "o32", false, plain, inWords, true},
		{"mipsn32/*", "naked", "n32", true, plain, inWords, true},
	} {
		for _, rec := range recorded.Cases(t, c.cases) {
			if path, ok := recorded.Program(t, &rec, c.tier); ok && (long() || !c.long) {
				list = append(list, realProgram{rec.Name, archOf(t, c.abi, c.big, c.v), c.compressed, path})
			}
		}
	}
	return append(list, libraries(t)...)
}

// libraries are those of the cross compilers, in the long run.
func libraries(t *testing.T) (list []realProgram) {
	for _, c := range []struct {
		path, abi string
		big       bool
	}{
		{"/usr/mips-linux-gnu/lib/libc.so.6", "o32", true},
		{"/usr/mipsel-linux-gnu/lib/libc.so.6", "o32", false},
		{"/usr/mips64-linux-gnuabi64/lib/libc.so.6", "n64", true},
		{"/usr/mips64el-linux-gnuabi64/lib/libc.so.6", "n64", false},
		{"/usr/mips64-linux-gnuabi64/libn32/libc.so.6", "n32", true},
	} {
		if _, err := os.Stat(c.path); err == nil && long() {
			list = append(list, realProgram{c.path, archOf(t, c.abi, c.big, plain), inWords, c.path})
		}
	}
	return list
}

// TestFurtherPrograms compares the effects in them.
func TestFurtherPrograms(t *testing.T) {
	for _, p := range furtherPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			check(t, p.arch, p.compressed, objdump(t, p.arch.BigEndian, "-d", p.path))
		})
	}
}

// furtherPrograms are what BACKSIGHT_BINARIES names: o32, but for those of 64 bits, and
// in mode 1 microMIPS or MIPS16 as their flags say.
func furtherPrograms(t *testing.T) (list []realProgram) {
	const flagMIPS16, flagMicro = 0x0400_0000, 0x0200_0000 // EF_MIPS_ARCH_ASE_M16, EF_MIPS_MICROMIPS
	for _, path := range difftest.Files(elf.EM_MIPS, nil) {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		abi, big := "o32", f.ByteOrder == binary.BigEndian
		if f.Class == elf.ELFCLASS64 {
			abi = "n64"
		}
		p := realProgram{path, archOf(t, abi, big, plain), inWords, path}
		switch flags := flagsOf(f, path); {
		case flags&flagMicro != 0:
			p.arch, p.compressed = archOf(t, abi, big, microMIPS), inMicro
		case flags&flagMIPS16 != 0:
			p.compressed = inMIPS16
		}
		f.Close()
		list = append(list, p)
	}
	return list
}

// flagsOf reads e_flags, which debug/elf leaves out.
func flagsOf(f *elf.File, path string) uint32 {
	head, err := os.ReadFile(path)
	if err != nil || len(head) < 64 {
		return 0
	}
	if f.Class == elf.ELFCLASS64 {
		return f.ByteOrder.Uint32(head[48:])
	}
	return f.ByteOrder.Uint32(head[36:])
}
