package programs

import (
	"slices"
	"strings"
)

// host is the root of the machine's own libraries.
const host = "/"

// rust is the compiler's name in cases.
const rust = "rust"

// port is a CPU for which every compiler's code is traced.
type port struct {
	folder, triplet, emulator string
	cpu                       CPU
	// flags are what each compiler is told.
	flags []string
	// gcc and clang are the variants of this CPU beside those of all.
	gcc, clang []Variant
	// linker is what clang is told where GNU ld fails with its code.
	linker []string
	// gccOnly: clang does not compile for it.
	gccOnly bool
}

// ports are Debian's CPUs, and modes of them.
func ports() []port {
	thumb := Variant{"Osthumb", []string{"-Os", "-mthumb"}}
	outlined := Variant{"Ozoutline", []string{"-Oz", "-moutline"}}
	pac := Variant{"O2pac", []string{"-O2", "-mbranch-protection=standard"}}
	cet := Variant{"O2cet", []string{"-O2", "-fcf-protection=full"}}
	free := Variant{"O2nofp", []string{"-O2", "-fomit-frame-pointer"}}
	push := Variant{"Ospush", []string{"-Os", "-fomit-frame-pointer", "-mpush-args", "-mno-accumulate-outgoing-args"}}
	regparm := Variant{"O2stack4", []string{"-O2", "-fomit-frame-pointer", "-mpreferred-stack-boundary=2"}}
	frames := Variant{"O0r11", []string{"-O0", "-marm", "-fno-omit-frame-pointer"}}
	saves := Variant{"Ossave", []string{"-Os", "-msave-restore"}}
	o32 := CPU{"mips", "o32", true}
	const n64, n64el = "mips64-linux-gnuabi64", "mips64el-linux-gnuabi64"
	return []port{
		{folder: "x86_64", triplet: "x86_64-linux-gnu", emulator: "qemu-x86_64", cpu: CPU{Name: "x86_64"}, gcc: []Variant{cet}, clang: []Variant{cet}},
		{folder: "i386", triplet: "i686-linux-gnu", emulator: "qemu-i386", cpu: CPU{Name: "i386"}, gcc: []Variant{push, regparm}, clang: []Variant{free}},
		{folder: "aarch64", triplet: "aarch64-linux-gnu", emulator: "qemu-aarch64", cpu: CPU{Name: "aarch64"}, gcc: []Variant{pac}, clang: []Variant{pac, outlined}},
		{folder: "armarm", triplet: "arm-linux-gnueabihf", emulator: "qemu-arm", cpu: CPU{Name: "arm"}, flags: []string{"-marm"}, clang: []Variant{frames}},
		{folder: "armt2", triplet: "arm-linux-gnueabihf", emulator: "qemu-arm", cpu: CPU{Name: "arm"}, flags: []string{"-mthumb"}, clang: []Variant{outlined}},
		{folder: "armel", triplet: "arm-linux-gnueabi", emulator: "qemu-arm", cpu: CPU{Name: "arm"}, gcc: []Variant{thumb}, clang: []Variant{thumb}},
		{folder: "riscv64", triplet: "riscv64-linux-gnu", emulator: "qemu-riscv64", cpu: CPU{Name: "riscv64"}, gcc: []Variant{saves}, clang: []Variant{saves},
			linker: []string{"-fuse-ld=lld-19"}},
		{folder: "mips", triplet: "mips-linux-gnu", emulator: "qemu-mips", cpu: o32},
		{folder: "mips16", triplet: "mips-linux-gnu", emulator: "qemu-mips", cpu: o32, flags: []string{"-mips16", "-static"}, gccOnly: true},
		{folder: "mipsel", triplet: "mipsel-linux-gnu", emulator: "qemu-mipsel", cpu: CPU{Name: "mips", ABI: "o32"}},
		{folder: "mips64", triplet: n64, emulator: "qemu-mips64", cpu: CPU{"mips64", "n64", true}},
		{folder: "mips64el", triplet: n64el, emulator: "qemu-mips64el", cpu: CPU{Name: "mips64", ABI: "n64"}},
	}
}

// Each compiler's ways: what distributions, embedded systems and optimisers do.
var (
	gccVariants = []Variant{
		{"O0", []string{"-O0"}}, {"O2", []string{"-O2"}}, {"Os", []string{"-Os"}},
		{"O3lto", []string{"-O3", "-flto=1"}},
		{"O2hard", []string{"-O2", "-fstack-protector-strong", "-fstack-clash-protection", "-fno-plt", "-Wl,-z,now"}},
		{"O2static", []string{"-O2", "-static"}},
	}
	clangVariants = []Variant{{"O0", []string{"-O0"}}, {"O2", []string{"-O2"}}, {"Oz", []string{"-Oz"}}}
	lldVariants   = []Variant{{"O2lto", []string{"-O2", "-flto", "-fuse-ld=lld-19"}}}
)

// clangs are the versions that Debian 12 has packages of.
var clangs = []string{"14", "16", "19"}

// tracedToolchains are the compilers for all ports.
func tracedToolchains() (all []Toolchain) {
	c := slices.Concat(linux, long)
	for _, p := range ports() {
		gcc := p.toolchain("gcc", p.triplet+"-gcc", append(slices.Clone(gccVariants), p.gcc...))
		gcc.Programs = append(slices.Clone(c), "nested")
		all = append(all, gcc)
		if p.gccOnly {
			continue
		}
		for _, v := range clangs {
			variants := slices.Concat(clangVariants, p.clang)
			if v == "19" {
				variants = append(variants, lldVariants...)
			}
			t := p.clangOf(v, variants)
			t.Programs = c
			all = append(all, t)
		}
	}
	return append(all, native()...)
}

// clangOf is a version of clang for p.
func (p *port) clangOf(version string, variants []Variant) Toolchain {
	t := p.toolchain("clang"+version, "clang-"+version, variants)
	t.Flags = append(t.Flags, "--target="+p.triplet)
	if t.Root != host {
		t.Flags = append(t.Flags, "-isystem", t.Root+"/include")
	}
	t.Flags = append(t.Flags, p.linker...)
	t.Packages = append(t.Packages, "clang-"+version, "lld-19")
	return t
}

// native are the compilers that make programs of this machine only.
func native() []Toolchain {
	x := ports()[0]
	musl := x.toolchain("musl", "musl-gcc", []Variant{{"O0", []string{"-O0", "-static"}}, {"O2", []string{"-O2", "-static"}}, {"Os", []string{"-Os", "-static"}}})
	musl.Packages = []string{"musl-tools"}
	musl.Programs = slices.DeleteFunc(slices.Concat(linux, long), func(p string) bool { return inCXX[p] })
	r := x.toolchain(rust, "rustc", []Variant{{"O0", []string{"-Copt-level=0"}}, {"O2", []string{"-Copt-level=2"}}, {"Oz", []string{"-Copt-level=z"}},
		{"O2fp", []string{"-Copt-level=2", "-Cforce-frame-pointers=yes"}}})
	r.Flags, r.Packages, r.Programs = nil, []string{"rustc"}, []string{"unwinds", "closures", "parses"}
	return append([]Toolchain{musl, r}, freestanding()...)
}

// toolchain is a compiler for p.
func (p *port) toolchain(name, compiler string, variants []Variant) Toolchain {
	t := cross(p.folder, p.triplet, "", append([]string{"-pthread"}, p.flags...)...)
	t.Flags = slices.DeleteFunc(t.Flags, func(f string) bool { return f == "-static" })
	t.Name, t.Compiler, t.Opts = name, compiler, variants
	t.Emulator = strings.Fields(p.emulator)
	t.Tracing = Tracing{Traced: true, Group: "traced", Root: "/usr/" + p.triplet, CPU: p.cpu}
	if p.triplet == "x86_64-linux-gnu" {
		t.Root = host
	}
	return t
}
