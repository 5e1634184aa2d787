package programs

import (
	"slices"
	"strings"
)

// flagged is a variant of some ports: with flags that few programs are compiled with, but some are. Each changes
// prologues, calls or ends of functions.
type flagged struct {
	// ports are folders, compiler gcc or clang; "" for all.
	ports, compiler, name, flags string
}

// flaggedVariants has the flags of GCC 12 and clang 19, by "Program Instrumentation", "Code Generation" and the
// machines' chapters of GCC's manual, and clang's command line reference. -O2 stands before those that name no level.
func flaggedVariants() []flagged {
	return slices.Concat(flaggedAll(), flaggedX86(), flaggedARM(), flaggedAArch64(), flaggedMIPS(), flaggedRISCV())
}

func flaggedAll() []flagged {
	return []flagged{
		{"", "", "O3vec", "-O3 -funroll-loops -fno-strict-aliasing"},
		{"", "", "pg", "-pg"},
		{"", "", "instrument", "-finstrument-functions"},
		{"", "", "patchable", "-fpatchable-function-entry=16,8"},
		{"", "gcc", "profile", "-fprofile-generate -fprofile-update=atomic"},
		{"", "gcc", "ubsan", "-fsanitize=undefined -static-libubsan"},
		{"", "clang", "ubsan", "-fsanitize=undefined -fsanitize-trap=undefined"},
		{"i386 armt2", "gcc", "asan", "-fsanitize=address"},
		{"", "", "protect", "-fstack-protector-all -fstack-clash-protection -fno-plt"},
		{"", "", "trapv", "-ftrapv"},
		{"", "gcc", "nowrap", "-fno-shrink-wrap -fno-ipa-ra -fno-jump-tables"},
		{"", "", "zeroregs", "-fzero-call-used-regs=all -ftrivial-auto-var-init=zero"},
		{"", "gcc", "sections", "-ffunction-sections -Wl,--gc-sections -fno-toplevel-reorder -freorder-blocks-algorithm=simple"},
		{"", "clang", "icf", "-ffunction-sections -fuse-ld=lld-19 -Wl,--gc-sections,--icf=all"},
		{"x86_64", "clang", "split", "-fbasic-block-sections=all"},
		{"", "gcc", "partition", "-Os -fpartial-inlining -fipa-icf -fgcse-las -fsplit-wide-types-early -fschedule-insns -fschedule-insns2"},
	}
}

func flaggedX86() []flagged {
	const x86 = "x86_64 i386"
	return []flagged{
		{x86, "gcc", "fentry", "-pg -mfentry -fno-pie -no-pie"},
		{x86, "gcc", "nopmcount", "-pg -mfentry -mnop-mcount -fno-pie -no-pie"},
		{x86, "gcc", "splitstack", "-fsplit-stack"},
		{x86, "gcc", "retpoline", "-mindirect-branch=thunk -mfunction-return=thunk -mindirect-branch-register"},
		{x86, "gcc", "retinline", "-mindirect-branch=thunk-inline -mfunction-return=thunk-inline"},
		{x86, "clang", "retpoline", "-mretpoline -fno-jump-tables"},
		{"x86_64", "clang", "lvi", "-mlvi-cfi"},
		{"x86_64", "clang", "lvihard", "-mlvi-hardening"},
		{x86, "", "sls", "-mharden-sls=all"},
		{x86, "", "noredzone", "-mno-red-zone -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"},
		{x86, "gcc", "accumulate", "-maccumulate-outgoing-args -mno-push-args"},
		{x86, "", "realign", "-mstackrealign"},
		{"i386", "gcc", "boundary", "-msse2 -mfpmath=sse -mincoming-stack-boundary=2 -mpreferred-stack-boundary=5 -fomit-frame-pointer"},
		{"i386", "clang", "regparm", "-mregparm=3 -fomit-frame-pointer"},
		{"x86_64", "", "large", "-mcmodel=large -fno-pic -no-pie"},
		{"x86_64", "", "avx2", "-O3 -march=x86-64-v3 -mtune=skylake"},
		{"x86_64", "gcc", "noSSE", "-Os -mgeneral-regs-only"},
		{"x86_64", "", "shstk", "-fcf-protection=full -mshstk -fno-plt"},
		{"x86_64", "gcc", "ms", "-mcall-ms2sysv-xlogues -mno-sse4"},
		{x86, "gcc", "prologuemove", "-O2 -mtune-ctrl=prologue_using_move,epilogue_using_move,^use_leave -mmanual-endbr -fcf-protection"},
	}
}

func flaggedARM() []flagged {
	const arms = "armarm armt2 armel"
	return []flagged{
		{arms, "gcc", "apcs", "-mapcs-frame -fno-omit-frame-pointer"},
		{"armt2 armel", "gcc", "tpcs", "-mthumb -mtpcs-frame -mtpcs-leaf-frame -fno-omit-frame-pointer"},
		{arms, "", "longcalls", "-mlong-calls"},
		{arms, "gcc", "longcallsOs", "-Os -mlong-calls"},
		{"armarm armt2", "gcc", "reloc", "-mword-relocations"},
		{"armel", "gcc", "thumb1", "-mthumb -march=armv5te"},
		{"armel", "gcc", "thumb1Os", "-Os -mthumb -march=armv5te"},
		{"armel", "gcc", "thumb1fp", "-O0 -mthumb -march=armv5te -fno-omit-frame-pointer"},
		{"armel", "clang", "thumb1", "-mthumb -march=armv6"},
		{"armel", "clang", "thumb1O0", "-O0 -mthumb -march=armv5te"},
		{"armel", "gcc", "armv4", "-marm -march=armv4t"},
		{"armarm armt2", "", "neon", "-O3 -mcpu=cortex-a15 -mfpu=neon-vfpv4 -ffast-math"},
		{"armarm armt2", "clang", "v8", "-O2 -march=armv8.2-a"},
		{"armarm", "", "interwork", "-marm -mthumb-interwork -fno-optimize-sibling-calls"},
		{"armt2", "clang", "fpall", "-mthumb -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"},
	}
}

func flaggedAArch64() []flagged {
	return []flagged{
		{"aarch64", "", "bkey", "-mbranch-protection=pac-ret+leaf+b-key"},
		{"aarch64", "", "pacbti", "-march=armv8.5-a -mbranch-protection=standard"},
		{"aarch64", "", "sve", "-O3 -march=armv8.5-a+sve -msve-vector-bits=256"},
		{"aarch64", "", "sve2", "-O3 -march=armv8.5-a+sve2"},
		{"aarch64", "gcc", "large", "-mcmodel=large -fno-pic -no-pie"},
		{"aarch64", "", "tiny", "-mcmodel=tiny"},
		{"aarch64", "", "inlineatomics", "-mno-outline-atomics -march=armv8.1-a -mgeneral-regs-only -Os"},
		{"aarch64", "", "leaffp", "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"},
		{"aarch64", "gcc", "nofp", "-O2 -fomit-frame-pointer -mlow-precision-sqrt"},
		{"aarch64", "", "sls", "-mharden-sls=all"},
		{"aarch64", "clang", "fixederrata", "-mfix-cortex-a53-835769 -ffixed-x18"},
		{"aarch64", "gcc", "guard", "-fstack-protector-strong -mstack-protector-guard=sysreg -mstack-protector-guard-reg=tpidr_el0 -mstack-protector-guard-offset=0"},
	}
}

func flaggedMIPS() []flagged {
	const mipses = "mips mipsel mips64 mips64el"
	return []flagged{
		{mipses, "gcc", "xgot", "-mxgot"},
		{mipses, "clang", "xgot", "-mxgot"},
		{mipses, "gcc", "longcalls", "-mlong-calls -mno-abicalls -fno-pic -static"},
		{mipses, "gcc", "macros", "-mno-explicit-relocs"},
		{mipses, "gcc", "plt", "-mno-shared -mplt -fno-pic -no-pie"},
		{mipses, "gcc", "framed", "-Os -mframe-header-opt -fno-omit-frame-pointer"},
		{"mips mipsel", "gcc", "minterlink", "-mips32r2 -minterlink-mips16 -mno-shared"},
		{"mips mipsel", "gcc", "fp64", "-mips32r2 -mfp64"},
		{mipses, "gcc", "likely", "-mbranch-likely -mbranch-cost=1"},
		{mipses, "gcc", "nodelay", "-fno-delayed-branch"},
		{mipses, "gcc", "small", "-G8 -mno-abicalls -fno-pic -static -mgpopt"},
		{mipses, "gcc", "r10k", "-mfix-24k -mno-imadd -mno-check-zero-division -Os"},
		{"mips mipsel", "gcc", "mips1", "-march=mips1"},
		{"mips mipsel", "", "mips2", "-march=mips2"},
		{"mips mipsel", "gcc", "hazards", "-O3 -march=24kf -mtune=74kc -mdsp"},
		{"mips64 mips64el", "gcc", "octeon", "-march=octeon2"},
		{"mips64 mips64el", "gcc", "mips3", "-march=mips3"},
		{"mips64 mips64el", "gcc", "sym32", "-msym32 -mno-abicalls -fno-pic -static"},
		{"mips mipsel", "clang", "fixed", "-mips32r2 -mno-madd4 -Oz"},
		{"mips16", "gcc", "Osfp", "-Os -fno-omit-frame-pointer"},
		{"mips16", "gcc", "mips16e2", "-mips32r2 -Os -mcode-readable=pcrel"},
	}
}

func flaggedRISCV() []flagged {
	return []flagged{
		{"riscv64", "clang", "vector", "-O3 -march=rv64gcv_zba_zbb_zbs"},
		{"riscv64", "", "bits", "-march=rv64imafdc_zba_zbb_zbs"},
		{"riscv64", "clang", "zicond", "-march=rv64gc_zba_zbb_zbs_zicond -Oz"},
		{"riscv64", "", "medany", "-mcmodel=medany -msmall-data-limit=0"},
		{"riscv64", "", "norelax", "-mno-relax -fno-plt"},
		{"riscv64", "gcc", "norvc", "-march=rv64g -fno-omit-frame-pointer"},
		{"riscv64", "gcc", "mlarge", "-Os -mstrict-align -mno-plt -mbranch-cost=9"},
		{"riscv64", "clang", "nofpc", "-march=rv64ima_zicsr_zifencei_zca -mabi=lp64d"},
		{"riscv64", "gcc", "guard", "-fstack-protector-all -mstack-protector-guard=tls -mstack-protector-guard-reg=tp -mstack-protector-guard-offset=0"},
	}
}

// unusual are the toolchains of those variants.
func unusual() (all []Toolchain) {
	for _, p := range ports() {
		gcc := p.toolchain("gcc", p.triplet+"-gcc-12", p.flagged("gcc"))
		all = append(all, gcc)
		if !p.gccOnly {
			all = append(all, p.clangOf("19", p.flagged("clang")))
		}
	}
	for i := range all {
		all[i].Group, all[i].Programs = "flags", []string{"mixed", "odd", "throws"}
	}
	return all
}

// flagged are the variants for a compiler of p.
func (p *port) flagged(compiler string) (all []Variant) {
	for _, f := range flaggedVariants() {
		if (f.ports == "" || slices.Contains(strings.Fields(f.ports), p.folder)) && (f.compiler == "" || f.compiler == compiler) {
			all = append(all, Variant{f.name, append([]string{"-O2"}, strings.Fields(f.flags)...)})
		}
	}
	return all
}
