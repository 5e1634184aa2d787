// Package programs builds the laboratory's own C and C++ sources with every
// compiler that the machine has, and records them.
package programs

import (
	"embed"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

//go:embed src
var sources embed.FS

// Toolchain is a CPU variant: what compiles for it and what runs it.
type Toolchain struct {
	// Arch is the name of the variant's folder.
	Arch     string
	Compiler string
	// Name is gcc or clang, as the case's name has it.
	Name  string
	Flags []string
	// Emulator is QEMU with its arguments.
	Emulator []string
	// Strip and Objcopy know the file format.
	Strip, Objcopy string
	// Packages are Debian's, with the compiler and its C and C++ libraries.
	Packages []string
	// Opts are the variants beyond the common ones.
	Opts []Variant
	// System: a whole machine.
	System bool
	// Programs that run there; nil: all C programs.
	Programs []string
	Tracing
}

// Variant is a way to compile.
type Variant struct {
	Name  string
	Flags []string
}

// levels are the optimisation levels; frame pointer and position-independent code
// ride on -O2.
var levels = []Variant{
	{"O0", []string{"-O0"}},
	{"O1", []string{"-O1"}},
	{"O2", []string{"-O2"}},
	{"O3", []string{"-O3"}},
	{"Os", []string{"-Os"}},
	{"O2fp", []string{"-O2", "-fno-omit-frame-pointer"}},
	{"O2pic", []string{"-O2", "-fPIC"}},
}

// binutils are the tools of a target triplet.
func (t Toolchain) binutils(triplet string) Toolchain {
	t.Strip, t.Objcopy = triplet+"-strip", triplet+"-objcopy"
	return t
}

// cross is GCC for a Debian target.
func cross(arch, triplet, emulator string, flags ...string) Toolchain {
	flags = append([]string{"-fasynchronous-unwind-tables", "-static"}, flags...)
	t := Toolchain{Arch: arch, Compiler: triplet + "-gcc", Name: "gcc", Flags: flags, Emulator: []string{emulator},
		Packages: []string{"g++-" + strings.ReplaceAll(triplet, "_", "-")}}
	return t.binutils(triplet)
}

// Toolchains are all that are known.
func Toolchains() []Toolchain {
	r6 := cross("mipsr6", "mipsisa32r6-linux-gnu", "qemu-mips")
	n32 := cross("mipsn32", "mips64-linux-gnuabi64", "qemu-mipsn32", "-mabi=n32")
	n32.Packages = []string{"g++-multilib-mips64-linux-gnuabi64"}
	r6.Compiler = "mipsisa32r6-linux-gnu-gcc-12"
	r6.Emulator = []string{"qemu-mips", "-cpu", "mips32r6-generic"}
	clang := cross("x86_64", "x86_64-linux-gnu", "qemu-x86_64")
	clang.Compiler, clang.Name = newestClang(), "clang"
	clang64 := cross("aarch64", "aarch64-linux-gnu", "qemu-aarch64", "--target=aarch64-linux-gnu")
	clang64.Compiler, clang64.Name = newestClang(), "clang"
	all := []Toolchain{
		cross("mips", "mips-linux-gnu", "qemu-mips"),
		cross("mips16", "mips-linux-gnu", "qemu-mips", "-mips16"),
		cross("mipsel", "mipsel-linux-gnu", "qemu-mipsel"),
		r6,
		cross("mips64", "mips64-linux-gnuabi64", "qemu-mips64"),
		cross("mips64el", "mips64el-linux-gnuabi64", "qemu-mips64el"),
		n32,
		cross("aarch64", "aarch64-linux-gnu", "qemu-aarch64"),
		clang64,
		cross("armt2", "arm-linux-gnueabihf", "qemu-arm", "-mthumb"),
		cross("armarm", "arm-linux-gnueabihf", "qemu-arm", "-marm"),
		cross("riscv64", "riscv64-linux-gnu", "qemu-riscv64"),
		cross("i386", "i686-linux-gnu", "qemu-i386"),
		cross("x86_64", "x86_64-linux-gnu", "qemu-x86_64"),
		clang,
	}
	return slices.Concat(all, bareMetal(), tracedToolchains(), unusual())
}

// newestClang is clang, or its newest version under a name with the number only.
func newestClang() string {
	if _, err := exec.LookPath("clang"); err == nil {
		return "clang"
	}
	for v := 30; v > 9; v-- {
		name := fmt.Sprintf("clang-%d", v)
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return "clang"
}

// bareMetal are the machines without an operating system.
func bareMetal() []Toolchain {
	m3 := Toolchain{Arch: "cortexm3", Packages: []string{"gcc-arm-none-eabi"}, Compiler: "arm-none-eabi-gcc", Name: "gcc", System: true, Programs: []string{"bare"},
		Flags:    []string{"-mcpu=cortex-m3", "-mthumb", "-nostdlib", "-ffreestanding", "-Wl,-Tcortexm3.ld"},
		Emulator: []string{"qemu-system-arm", "-M", "mps2-an385", "-nographic", "-monitor", "none", "-serial", "none"}}
	rv := Toolchain{Arch: "rv32imac", Packages: []string{"gcc-riscv64-linux-gnu"}, Compiler: "riscv64-linux-gnu-gcc", Name: "gcc", System: true, Programs: []string{"bare"},
		Flags: []string{"-fasynchronous-unwind-tables", "-march=rv32imac", "-mabi=ilp32", "-nostdlib", "-ffreestanding", "-static",
			"-Wl,-Trv32.ld", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments"},
		Emulator: []string{"qemu-system-riscv32", "-M", "virt", "-m", "16M", "-bios", "none", "-nographic", "-monitor", "none", "-serial", "none"},
		Opts:     []Variant{{"Ossr", []string{"-Os", "-msave-restore"}}}}
	return []Toolchain{m3.binutils("arm-none-eabi"), rv.binutils("riscv64-linux-gnu")}
}

// compiler is what compiles a program, and whether the machine lacks it.
func (t *Toolchain) compiler(program string) (name string, missing bool) {
	name = t.Compiler
	if inCXX[program] {
		if c, ok := strings.CutPrefix(name, "clang"); ok {
			name = "clang++" + c
		} else {
			name = strings.Replace(name, "-gcc", "-g++", 1)
		}
	}
	_, err := exec.LookPath(name)
	return name, err != nil
}

// Missing names the first tool of t that the machine lacks, "" if it has all.
func (t *Toolchain) Missing() string {
	for _, tool := range []string{t.Compiler, t.Strip, t.Objcopy, t.Emulator[0]} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool
		}
	}
	return ""
}

// Variants are the ways to compile with t.
func (t *Toolchain) Variants() []Variant {
	if t.Traced {
		return t.Opts
	}
	return append(append([]Variant(nil), levels...), t.Opts...)
}
