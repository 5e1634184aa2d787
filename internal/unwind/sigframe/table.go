package sigframe

import "github.com/backsight/backsight/cpu"

// trampoline is one way in which Linux returns from a signal handler: the
// instructions that the handler returns to, and where the kernel left the
// interrupted registers.
type trampoline struct {
	abi  string // cpu.Arch's ABI; empty for all
	mode cpu.Mode
	// unit is the size in bytes of the code units that are stored in the code's
	// byte order: 1 for x86 (a string of bytes), 2 for the halfwords of Thumb
	// and microMIPS, 4 for words.
	unit int
	code []insn
	// context is the distance from SP at the first instruction to the struct
	// sigcontext, whose inside is cpu.LinuxSigcontext.
	context int64
}

// family is the trampolines of a processor, by cpu.Arch's Name.
type family struct {
	arch        string
	trampolines []trampoline
}

// insn is one instruction of a trampoline: its size bytes as the architecture's
// manual writes them, the first code unit in the highest bits.
type insn struct {
	bits uint64
	size int
	// moves is what it adds to SP.
	moves int64
}

// Where struct sigcontext lies, from the structures in the kernel's
// arch/*/kernel/signal.c and uapi/asm/ucontext.h. A siginfo is 128 bytes
// everywhere; struct ucontext starts with uc_flags, uc_link and the three words
// of uc_stack.
const (
	siginfo = 128

	// x86_64, rt_sigframe: pretcode (popped by the handler's return), ucontext.
	// The siginfo follows.
	contextX86_64 = 2*8 + 24
	// i386, sigframe_ia32: pretcode (popped), sig, sigcontext.
	contextI386 = 4
	// i386, rt_sigframe_ia32: pretcode (popped), sig, pinfo, puc, siginfo, ucontext.
	contextI386RT = 3*4 + siginfo + 2*4 + 12

	// AArch64, rt_sigframe: siginfo, ucontext with a sigset_t padded to 1024
	// bits before the 16-byte aligned mcontext.
	contextARM64 = siginfo + 2*8 + 24 + 1024/8 + 8

	// ARM since Linux 2.6.18, sigframe: ucontext; rt_sigframe: siginfo, ucontext.
	contextARM   = 2*4 + 12
	contextARMRT = siginfo + contextARM

	// MIPS, sigframe: 16 bytes of argument save area and 8 that held the
	// trampoline once, then the sigcontext; rt_sigframe: the same, siginfo,
	// ucontext with an 8-byte aligned mcontext.
	contextMIPS   = 16 + 8
	contextMIPSRT = 16 + 8 + siginfo + 2*4 + 12 + 4
	contextMIPS64 = 16 + 8 + siginfo + 2*8 + 24

	// RISC-V, rt_sigframe: like AArch64; on RV32 the 1024 bits end at 148.
	contextRV64 = siginfo + 2*8 + 24 + 1024/8 + 8
	contextRV32 = siginfo + 2*4 + 12 + 1024/8 + 12
)

// trampolines lists the sequences of the kernels' vDSOs and signal pages, of the
// code that old kernels wrote to the stack, and of the C libraries' sa_restorer.
var trampolines = [...]family{
	{"x86_64", []trampoline{
		// mov $15, %rax or %eax; syscall (glibc, musl, bionic, Go).
		{"", 0, 1, []insn{{0x48c7c00f000000, 7, 0}, {0x0f05, 2, 0}}, contextX86_64},
		{"", 0, 1, []insn{{0xb80f000000, 5, 0}, {0x0f05, 2, 0}}, contextX86_64},
	}},
	{"i386", []trampoline{
		// pop %eax; mov $119, %eax; int $0x80 (or syscall in the vDSO of AMD's first
		// 64-bit kernels).
		{"", 0, 1, []insn{{0x58, 1, 4}, {0xb877000000, 5, 0}, {0xcd80, 2, 0}}, contextI386},
		{"", 0, 1, []insn{{0x58, 1, 4}, {0xb877000000, 5, 0}, {0x0f05, 2, 0}}, contextI386},
		// mov $173, %eax; int $0x80.
		{"", 0, 1, []insn{{0xb8ad000000, 5, 0}, {0xcd80, 2, 0}}, contextI386RT},
		{"", 0, 1, []insn{{0xb8ad000000, 5, 0}, {0x0f05, 2, 0}}, contextI386RT},
	}},
	{"aarch64", []trampoline{
		// mov x8, #139; svc #0.
		{"", 0, 4, []insn{{0xd2801168, 4, 0}, {0xd4000001, 4, 0}}, contextARM64},
	}},
	{"arm", []trampoline{
		// mov r7, #119 or #173; svc 0 (libraries), svc 0x900000+n (kernel: serves
		// both system call conventions).
		{"", 0, 4, []insn{{0xe3a07077, 4, 0}, {0xef000000, 4, 0}}, contextARM},
		{"", 0, 4, []insn{{0xe3a07077, 4, 0}, {0xef900077, 4, 0}}, contextARM},
		{"", 0, 4, []insn{{0xe3a070ad, 4, 0}, {0xef000000, 4, 0}}, contextARMRT},
		{"", 0, 4, []insn{{0xe3a070ad, 4, 0}, {0xef9000ad, 4, 0}}, contextARMRT},
		// OABI: the number is in the instruction alone.
		{"", 0, 4, []insn{{0xef900077, 4, 0}}, contextARM},
		{"", 0, 4, []insn{{0xef9000ad, 4, 0}}, contextARMRT},
		// movs r7, #n; svc 0 (kernel), mov.w r7, #n; svc 0 (glibc's Thumb build).
		{"", 1, 2, []insn{{0x2777, 2, 0}, {0xdf00, 2, 0}}, contextARM},
		{"", 1, 2, []insn{{0x27ad, 2, 0}, {0xdf00, 2, 0}}, contextARMRT},
		{"", 1, 2, []insn{{0xf04f0777, 4, 0}, {0xdf00, 2, 0}}, contextARM},
		{"", 1, 2, []insn{{0xf04f07ad, 4, 0}, {0xdf00, 2, 0}}, contextARMRT},
	}},
	{"mips", []trampoline{
		// li v0, n; syscall, in the standard encoding and in microMIPS.
		{"o32", 0, 4, []insn{{0x24021017, 4, 0}, {0x0000000c, 4, 0}}, contextMIPS},
		{"o32", 0, 4, []insn{{0x24021061, 4, 0}, {0x0000000c, 4, 0}}, contextMIPSRT},
		{"o32", 1, 2, []insn{{0x30401017, 4, 0}, {0x00008b7c, 4, 0}}, contextMIPS},
		{"o32", 1, 2, []insn{{0x30401061, 4, 0}, {0x00008b7c, 4, 0}}, contextMIPSRT},
	}},
	{"mips64", []trampoline{
		{"n64", 0, 4, []insn{{0x2402145b, 4, 0}, {0x0000000c, 4, 0}}, contextMIPS64},
		{"n64", 1, 2, []insn{{0x3040145b, 4, 0}, {0x00008b7c, 4, 0}}, contextMIPS64},
		{"n32", 0, 4, []insn{{0x24021843, 4, 0}, {0x0000000c, 4, 0}}, contextMIPSRT},
		{"n32", 1, 2, []insn{{0x30401843, 4, 0}, {0x00008b7c, 4, 0}}, contextMIPSRT},
	}},
	{"riscv64", []trampoline{
		// li a7, 139; ecall. 139 does not fit c.li, so there is no shorter form.
		{"", 0, 4, []insn{{0x08b00893, 4, 0}, {0x00000073, 4, 0}}, contextRV64},
	}},
	{"riscv32", []trampoline{
		{"", 0, 4, []insn{{0x08b00893, 4, 0}, {0x00000073, 4, 0}}, contextRV32},
	}},
}

// at tells whether the instructions at the start of code are the trampoline's,
// from its first-th on.
//
// Code is in the byte order of the data or little-endian whatever the data is
// (AArch64, ARM BE8). Either order is tried: a sequence read in the wrong one
// is no sensible code on any of these CPUs.
func (t *trampoline) at(code []byte, first int) bool {
	return t.ordered(code, first, true) || t.unit > 1 && t.ordered(code, first, false)
}

func (t *trampoline) ordered(code []byte, first int, bigEndian bool) bool {
	for _, in := range t.code[first:] {
		if len(code) < in.size {
			return false
		}
		for i := range in.size {
			k := i // index of the byte in the manual's order
			if !bigEndian {
				k = i - i%t.unit + t.unit - 1 - i%t.unit
			}
			if code[i] != byte(in.bits>>(8*(in.size-1-k))) {
				return false
			}
		}
		code = code[in.size:]
	}
	return true
}
