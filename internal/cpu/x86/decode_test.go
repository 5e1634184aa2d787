package x86

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
)

func bytesOf(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// effects states, for an instruction at 0x1000, its bytes, objdump's text and
// the effect.
type effects []struct{ hex, text, want string }

func (list effects) check(t *testing.T, arch string) {
	t.Helper()
	a := byName(t, arch)
	for _, c := range list {
		code := bytesOf(c.hex)
		var out [2]cpu.Insn
		n := a.Decoder.Decode(code, 0x1000, 0, out[:])
		if n != 1 || int(out[0].Len) != len(code) {
			t.Errorf("%s  %s: %d instructions, the first of %d bytes", c.hex, c.text, n, out[0].Len)
			continue
		}
		if got := format(a, &out[0]); got != c.want {
			t.Errorf("%s  %s: %s, want %s", c.hex, c.text, got, c.want)
		}
	}
}

func TestStack64(t *testing.T) {
	effects{
		{"55", "push %rbp", "[rsp-0x8].8 = rbp; rsp += -8"},
		{"41 57", "push %r15", "[rsp-0x8].8 = r15; rsp += -8"},
		{"54", "push %rsp", "[rsp-0x8].8 = rsp; rsp += -8"},
		{"6a ff", "push $-1", "[rsp-0x8].8 = ?; rsp += -8"},
		{"68 00 10 00 00", "push $0x1000", "[rsp-0x8].8 = ?; rsp += -8"},
		{"ff 35 e2 2f 00 00", "push 0x2fe2(%rip)", "[rsp-0x8].8 = ?; rsp += -8"},
		{"41 ff 72 f8", "push -0x8(%r10)", "[rsp-0x8].8 = ?; rsp += -8"},
		{"66 50", "push %ax", "[rsp-0x2].2 = rax; rsp += -2"},
		{"9c", "pushf", "[rsp-0x8].8 = ?; rsp += -8"},
		{"5d", "pop %rbp", "rbp = [rsp].8; rsp += 8"},
		{"5c", "pop %rsp", "rsp = [rsp].8"},
		{"8f 00", "pop (%rax)", "rsp = rsp + 0x8"},
		{"9d", "popf", "rsp = rsp + 0x8"},
		{"0f a1", "pop %fs", "rsp = rsp + 0x8"},
		{"c9", "leave", "leave"},
		{"c8 10 00 00", "enter $0x10,$0", "clobber rbp,rsp frame"},
		{"48 83 ec 18", "sub $0x18,%rsp", "rsp = rsp + -0x18"},
		{"48 83 ec 80", "sub $-128,%rsp", "rsp = rsp + 0x80"},
		{"48 81 c4 d8 00 00 00", "add $0xd8,%rsp", "rsp = rsp + 0xd8"},
		{"48 29 c4", "sub %rax,%rsp", "rsp = rsp - rax<<0"},
		{"48 83 e4 f0", "and $-16,%rsp", "rsp = rsp & -0x10"},
		{"48 89 e5", "mov %rsp,%rbp", "rbp = rsp"},
		{"48 8d 65 d8", "lea -0x28(%rbp),%rsp", "rsp = rbp + -0x28"},
		{"4c 8d 54 24 08", "lea 0x8(%rsp),%r10", "r10 = rsp + 0x8"},
		{"49 8d 62 f8", "lea -0x8(%r10),%rsp", "rsp = r10 + -0x8"},
		{"48 8d 24 24", "lea (%rsp),%rsp", "nop padding"},
		{"48 89 5c 24 e8", "mov %rbx,-0x18(%rsp)", "[rsp-0x18].8 = rbx"},
		{"48 8b 5c 24 08", "mov 0x8(%rsp),%rbx", "rbx = [rsp+0x8].8"},
		{"48 c7 04 24 00 00 00 00", "movq $0,(%rsp)", "[rsp].8 = ?"},
		{"88 44 24 0f", "mov %al,0xf(%rsp)", "[rsp+0xf].1 = ?"},
		{"48 83 0c 24 00", "orq $0,(%rsp)", "[rsp].8 = ?"},
		{"48 94", "xchg %rax,%rsp", "clobber rax,rsp"},
	}.check(t, "x86_64")
}

func TestStack32(t *testing.T) {
	effects{
		{"55", "push %ebp", "[esp-0x4].4 = ebp; esp += -4"},
		{"5c", "pop %esp", "esp = [esp].4"},
		{"60", "pusha", "[esp-0x20].32 = ?; esp += -32"},
		{"61", "popa", "clobber eax,ecx,edx,ebx,esp,ebp,esi,edi"},
		{"1e", "push %ds", "[esp-0x4].4 = ?; esp += -4"},
		{"1f", "pop %ds", "esp = esp + 0x4"},
		{"83 ec 0c", "sub $0xc,%esp", "esp = esp + -0xc"},
		{"83 e4 f0", "and $-16,%esp", "esp = esp & -0x10"},
		{"8d 4c 24 04", "lea 0x4(%esp),%ecx", "ecx = esp + 0x4"},
		{"03 1c 8b", "add (%ebx,%ecx,4),%ebx", "ebx = ebx + [ebx+ecx*4].4"},
		{"03 1c 0b", "add (%ebx,%ecx),%ebx", "clobber ebx"},
		{"03 5b 04", "add 0x4(%ebx),%ebx", "clobber ebx"},
		{"ff 71 fc", "push -0x4(%ecx)", "[esp-0x4].4 = ?; esp += -4"},
		{"8d 61 fc", "lea -0x4(%ecx),%esp", "esp = ecx + -0x4"},
		{"8b 1c 24", "mov (%esp),%ebx", "ebx = [esp].4"},
		{"40", "inc %eax", "eax = eax + 0x1"},
		{"4c", "dec %esp", "esp = esp + -0x1"},
		{"c2 04 00", "ret $4", "return +4"},
	}.check(t, "i386")
}

func TestMoves(t *testing.T) {
	effects{
		{"b8 ff ff ff ff", "mov $0xffffffff,%eax", "rax = 0xffffffff"},
		{"48 c7 c0 ff ff ff ff", "mov $-1,%rax", "rax = 0xffffffffffffffff"},
		{"49 bb 08 07 06 05 04 03 02 01", "movabs $0x102030405060708,%r11", "r11 = 0x102030405060708"},
		{"31 c0", "xor %eax,%eax", "rax = 0x0"},
		{"45 31 c9", "xor %r9d,%r9d", "r9 = 0x0"},
		{"31 c8", "xor %ecx,%eax", "clobber rax"},
		{"48 83 c8 ff", "or $-1,%rax", "rax = 0xffffffffffffffff"},
		{"83 c8 ff", "or $-1,%eax", "rax = 0xffffffff"},
		{"48 09 c0", "or %rax,%rax", "nop"},
		{"89 f8", "mov %edi,%eax", "rax = rdi word32"},
		{"89 c0", "mov %eax,%eax", "rax = rax word32"},
		{"66 89 c1", "mov %ax,%cx", "clobber rcx"},
		{"b4 01", "mov $1,%ah", "clobber rax"},
		{"40 b4 01", "mov $1,%spl", "clobber rsp"},
		{"88 e0", "mov %ah,%al", "clobber rax"},
		{"8b 05 fa 0f 00 00", "mov 0xffa(%rip),%eax", "rax = [0x2000].4 word32"},
		{"48 8d 3d f9 0f 00 00", "lea 0xff9(%rip),%rdi", "rdi = 0x2000 address"},
		{"4c 03 1c c8", "add (%rax,%rcx,8),%r11", "r11 = r11 + [rax+rcx*8].8"},
		{"66 03 1c 88", "add (%rax,%rcx,4),%bx", "clobber rbx"},
		{"48 8d 04 77", "lea (%rdi,%rsi,2),%rax", "rax = rdi + rsi<<1"},
		{"48 8d 04 f5 00 00 00 00", "lea 0(,%rsi,8),%rax", "rax = rsi << 3"},
		{"48 8d 44 77 08", "lea 8(%rdi,%rsi,2),%rax", "clobber rax"},
		{"8d 47 01", "lea 1(%rdi),%eax", "rax = rdi + 0x1 word32"},
		{"67 8d 47 01", "lea 1(%edi),%eax", "rax = rdi + 0x1 word32"},
		{"48 c1 e0 04", "shl $4,%rax", "rax = rax << 4"},
		{"d1 e0", "shl %eax", "rax = rax << 1 word32"},
		{"d1 ee", "shr %esi", "rsi = rsi >> 1 word32"},
		{"48 c1 e8 04", "shr $4,%rax", "rax = rax >> 4"},
		{"48 c1 f8 04", "sar $4,%rax", "clobber rax"},
		{"0f b6 c0", "movzbl %al,%eax", "rax = rax & 0xff"},
		{"0f b6 c4", "movzbl %ah,%eax", "clobber rax"},
		{"0f b6 04 07", "movzbl (%rdi,%rax),%eax", "rax = [rdi+rax*1].1"},
		{"48 63 04 87", "movslq (%rdi,%rax,4),%rax", "rax = [rdi+rax*4].4 signed"},
		{"48 98", "cltq", "clobber rax"},
		{"64 48 8b 04 25 28 00 00 00", "mov %fs:0x28,%rax", "clobber rax"},
		{"64 48 89 04 25 28 00 00 00", "mov %rax,%fs:0x28", "nop"},
		{"48 0f 44 c3", "cmove %rbx,%rax", "rax = rbx conditional"},
		{"48 0f 44 44 24 08", "cmove 8(%rsp),%rax", "rax = [rsp+0x8].8 conditional"},
		{"83 f8 0a", "cmp $10,%eax", "compare rax.4 0xa"},
		{"3c 30", "cmp $0x30,%al", "compare rax.1 0x30"},
		{"80 7c 24 0f 00", "cmpb $0,0xf(%rsp)", "nop"},
		{"48 a1 08 07 06 05 04 03 02 01", "movabs 0x102030405060708,%rax", "rax = [0x102030405060708].8"},
	}.check(t, "x86_64")
	effects{
		{"b8 00 00 10 c0", "mov $0xc0100000,%eax", "eax = 0xc0100000"},
		{"a1 00 00 10 c0", "mov 0xc0100000,%eax", "eax = [0xc0100000].4"},
		{"8b 04 85 00 00 10 c0", "mov 0xc0100000(,%eax,4),%eax", "eax = [eax*4+0xc0100000].4"},
		{"8d 05 00 a0 04 08", "lea 0x804a000,%eax", "eax = 0x804a000"},
		{"8d b4 26 00 00 00 00", "lea 0x0(%esi,%eiz,1),%esi", "nop padding"},
		{"89 f6", "mov %esi,%esi", "nop padding"},
		{"65 a1 14 00 00 00", "mov %gs:0x14,%eax", "clobber eax"},
		{"67 8b 47 04", "mov 4(%bx),%eax", "clobber eax"},
		{"63 c3", "arpl %ax,%bx", "clobber ebx"},
	}.check(t, "i386")
}

func TestImplicitRegisters(t *testing.T) {
	effects{
		{"48 f7 e6", "mul %rsi", "clobber rax,rdx"},
		{"f6 f1", "div %cl", "clobber rax"},
		{"48 99", "cqto", "clobber rdx"},
		{"0f a2", "cpuid", "clobber rax,rdx,rcx,rbx"},
		{"0f 31", "rdtsc", "clobber rax,rdx"},
		{"0f 01 f9", "rdtscp", "clobber rax,rdx,rcx"},
		{"0f 01 d0", "xgetbv", "clobber rax,rdx"},
		{"f3 48 ab", "rep stos", "clobber rcx,rdi"},
		{"aa", "stosb", "clobber rdi"},
		{"f2 ae", "repnz scas", "clobber rcx,rdi"},
		{"f3 a4", "rep movsb", "clobber rcx,rsi,rdi"},
		{"ac", "lodsb", "clobber rax,rsi"},
		{"f0 0f b1 0f", "lock cmpxchg %ecx,(%rdi)", "clobber rax"},
		{"0f b1 d1", "cmpxchg %edx,%ecx", "clobber rax,rcx"},
		{"f0 48 0f c7 0f", "lock cmpxchg16b (%rdi)", "clobber rax,rdx"},
		{"f0 0f c1 07", "lock xadd %eax,(%rdi)", "clobber rax"},
		{"48 87 1c 24", "xchg %rbx,(%rsp)", "clobber rbx"},
		{"0f 94 c3", "sete %bl", "clobber rbx"},
		{"0f 94 44 24 08", "sete 8(%rsp)", "[rsp+0x8].1 = ?"},
		{"f3 48 0f 1e c8", "rdsspq %rax", "clobber rax"},
		{"f3 48 0f ae e8", "incsspq %rax", "nop"},
		{"48 0f c7 f0", "rdrand %rax", "clobber rax"},
		{"df e0", "fnstsw %ax", "clobber rax"},
		{"66 0f 3a 63 c1 0c", "pcmpistri $12,%xmm1,%xmm0", "clobber rcx"},
	}.check(t, "x86_64")
}

func TestVectorInstructions(t *testing.T) {
	effects{
		{"66 48 0f 7e c0", "movq %xmm0,%rax", "clobber rax"},
		{"66 48 0f 6e c0", "movq %rax,%xmm0", "nop"},
		{"f3 0f 7e 04 24", "movq (%rsp),%xmm0", "nop"},
		{"66 0f d7 c0", "pmovmskb %xmm0,%eax", "clobber rax"},
		{"f2 0f 2c c0", "cvttsd2si %xmm0,%eax", "clobber rax"},
		{"0f 2c c0", "cvttps2pi %xmm0,%mm0", "nop"},
		{"f2 48 0f 38 f1 c7", "crc32q %rdi,%rax", "clobber rax"},
		{"0f 38 f0 07", "movbe (%rdi),%eax", "clobber rax"},
		{"66 0f 3a 16 c7 01", "pextrd $1,%xmm0,%edi", "clobber rdi"},
		{"66 0f 3a 16 44 24 08 01", "pextrd $1,%xmm0,8(%rsp)", "[rsp+0x8].4 = ?"},
		{"0f 29 44 24 10", "movaps %xmm0,0x10(%rsp)", "[rsp+0x10].16 = ?"},
		{"f2 0f 11 44 24 08", "movsd %xmm0,8(%rsp)", "[rsp+0x8].8 = ?"},
		{"d9 7c 24 0e", "fnstcw 0xe(%rsp)", "[rsp+0xe].2 = ?"},
		{"db 3c 24", "fstpt (%rsp)", "[rsp].10 = ?"},
		{"0f 0f c1 9e", "pfadd %mm1,%mm0", "nop"},
		{"66 0f 1b 44 24 10", "bndmov %bnd0,0x10(%rsp)", "[rsp+0x10].16 = ?"},
		{"0f 1b 44 24 10", "bndstx %bnd0,0x10(%rsp)", "nop"},
		{"c4 e2 79 49 04 24", "sttilecfg (%rsp)", "[rsp].64 = ?"},
		{"0f 20 c3", "mov %cr0,%rbx", "clobber rbx"},
		{"0f 22 03", "mov %rbx,%cr0, whatever mod", "nop"},
		{"c5 f8 77", "vzeroupper", "nop"},
		{"c5 fd 7f 44 24 20", "vmovdqa %ymm0,0x20(%rsp)", "[rsp+0x20].32 = ?"},
		{"c4 e1 f9 7e c3", "vmovq %xmm0,%rbx", "clobber rbx"},
		{"c4 e2 70 f2 c2", "andn %edx,%ecx,%eax", "clobber rax"},
		{"c4 e2 fb f6 c2", "mulx %rdx,%rax,%rax", "clobber rax"},
		{"c4 e2 f3 f6 c2", "mulx %rdx,%rcx,%rax", "clobber rax,rcx"},
		{"c4 e2 f8 f3 c9", "blsr %rcx,%rax", "clobber rax"},
		{"c4 e3 fb f0 d8 07", "rorx $7,%rax,%rbx", "clobber rbx"},
		{"c5 fb 93 c1", "kmovd %k1,%eax", "clobber rax"},
		{"c5 fb 92 c8", "kmovd %eax,%k1", "nop"},
		{"8f e9 78 01 c9", "blcfill %ecx,%eax", "clobber rax"},
		{"8f ea 78 10 c1 02 01 00 00", "bextr $0x102,%ecx,%eax", "clobber rax"},
		{"62 f1 fd 48 7f 44 24 01", "vmovdqa64 %zmm0,0x40(%rsp)", "[rsp+0x40].64 = ?"},
		{"62 f1 ff 08 2d c0", "vcvtsd2si %xmm0,%rax", "clobber rax"},
		{"62 f2 7e 48 31 44 24 01", "vpmovdb %zmm0,0x10(%rsp)", "[rsp+0x10].16 = ?"},
		{"62 f3 7d 48 39 44 24 01 01", "vextracti32x4 $1,%zmm0,0x10(%rsp)", "[rsp+0x10].16 = ?"},
	}.check(t, "x86_64")
	effects{ // C4, C5, 62 and 8F with memory operands are the old instructions
		{"c5 18", "lds (%eax),%ebx", "clobber ebx"},
		{"c4 18", "les (%eax),%ebx", "clobber ebx"},
		{"62 18", "bound %ebx,(%eax)", "nop"},
		{"8f 04 24", "pop (%esp)", "esp = esp + 0x4"},
		{"c5 fd 7f 04 24", "vmovdqa %ymm0,(%esp)", "[esp].32 = ?"},
		{"66 0f 7e c0", "movd %xmm0,%eax", "clobber eax"},
	}.check(t, "i386")
}

// APX as its specification encodes it; GNU objdump knows it from 2.42 on.
func TestAPX(t *testing.T) {
	effects{
		{"d5 10 55", "push %r21", "[rsp-0x8].8 = r21; rsp += -8"},
		{"d5 08 55", "pushp %rbp", "[rsp-0x8].8 = rbp; rsp += -8"},
		{"d5 18 89 e0", "mov %rsp,%r16", "r16 = rsp"},
		{"d5 48 89 c4", "mov %r16,%rsp", "rsp = r16"},
		{"d5 80 af c3", "imul %ebx,%eax", "clobber rax"},
		{"d5 00 a1 08 07 06 05 04 03 02 01", "jmpabs $0x102030405060708", "jump 0x102030405060708"},
		{"62 f4 64 18 ff f0", "push2 %rax,%rbx", "[rsp-0x10].8 = rax,rbx; rsp += -16"},
		{"62 fc 5c 10 8f c5", "pop2 %r21,%r20", "r20,r21 = [rsp].8; rsp += 16"},
		{"62 f4 fc 08 01 c8", "{evex} add %rcx,%rax", "rax = rax + rcx<<0"},
		{"62 f4 e4 18 83 ec 10", "sub $0x10,%rsp,%rbx", "rbx = rsp + -0x10"},
		{"62 f4 e4 18 01 08", "add %rcx,(%rax),%rbx", "clobber rbx"},
		{"62 f4 fc 0c f7 d8", "{nf} neg %rax", "clobber rax"},
		{"62 f4 64 18 44 c1", "cmove %ecx,%eax,%ebx", "clobber rbx"},
		{"62 f4 84 02 83 f8 05", "ccmpb {dfv=} $5,%rax", "nop"},
	}.check(t, "x86_64")
}

func TestControlFlow(t *testing.T) {
	effects{
		{"e8 fb 0f 00 00", "call 0x2000", "call 0x2000"},
		{"e8 00 00 00 00", "call 0x1005", "call 0x1005 getpc"},
		{"66 48 e8 f9 0f 00 00", "data16 rex.W call 0x2000", "call 0x2000"},
		{"ff d0", "call *%rax", "call rax"},
		{"ff 15 fa 0f 00 00", "call *0xffa(%rip)", "call [0x2000].8"},
		{"65 ff 14 25 10 00 00 00", "call *%gs:0x10", "call [0x0].8"},
		{"e9 fb ef ff ff", "jmp 0x0", "jump 0x0"},
		{"eb fe", "jmp 0x1000", "jump 0x1000"},
		{"3e ff e0", "notrack jmp *%rax", "jump rax"},
		{"ff 24 c5 00 20 40 00", "jmp *0x402000(,%rax,8)", "jump [rax*8+0x402000].8"},
		{"f2 ff 25 f9 0f 00 00", "bnd jmp *0xff9(%rip)", "jump [0x2000].8"},
		{"74 10", "je 0x1012", "jump 0x1012 conditional"},
		{"0f 85 fa 0f 00 00", "jne 0x2000", "jump 0x2000 conditional"},
		{"e2 fe", "loop 0x1000", "jump 0x1000; clobber rcx conditional"},
		{"e3 02", "jrcxz 0x1004", "jump 0x1004 conditional"},
		{"c7 f8 02 00 00 00", "xbegin 0x1008", "jump 0x1008 conditional"},
		{"c3", "ret", "return +0"},
		{"f3 c3", "repz ret", "return +0"},
		{"48 cb", "lretq", "return +8"},
		{"48 cf", "iretq", "return +0 exception"},
		{"0f 0b", "ud2", "trap"},
		{"67 0f b9 40 02", "ud1 0x2(%eax),%eax", "trap"},
		{"f4", "hlt", "trap"},
		{"cc", "int3", "trap padding"},
		{"0f 05", "syscall", "syscall 0x0 clobber rax,rcx,r11"},
		{"f3 0f 1e fa", "endbr64", "nop entry"},
		{"f3 0f 1e fb", "endbr32", "nop"},
		{"90", "nop", "nop padding"},
		{"f3 90", "pause", "nop"},
		{"41 90", "xchg %eax,%r8d", "clobber rax,r8"},
		{"87 c0", "xchg %eax,%eax", "rax = rax word32"},
		{"66 90", "xchg %ax,%ax", "nop padding"},
		{"66 66 2e 0f 1f 84 00 00 00 00 00", "data16 cs nopw 0x0(%rax,%rax,1)", "nop padding"},
	}.check(t, "x86_64")
	effects{
		{"f3 0f 1e fb", "endbr32", "nop entry"},
		{"cd 80", "int $0x80", "syscall 0x80 clobber eax"},
		{"0f 34", "sysenter", "syscall 0x0 clobber eax,ecx,edx"},
		{"e8 fb ef ff ff", "call 0x0", "call 0x0"},
		{"e8 00 00 00 80", "call 0x80001005", "call 0x80001005"},
		{"65 ff 15 10 00 00 00", "call *%gs:0x10", "call [0x0].4"},
		{"ff 24 85 00 00 10 c0", "jmp *0xc0100000(,%eax,4)", "jump [eax*4+0xc0100000].4"},
		{"9a 00 20 00 00 33 00", "lcall $0x33,$0x2000", "call 0x2000"},
		{"ea 00 20 00 00 33 00", "ljmp $0x33,$0x2000", "jump 0x2000"},
		{"66 e9 00 20", "jmpw 0x3004", "jump 0x3004"},
	}.check(t, "i386")
}

// What is undefined takes one byte, so that an analysis steps on.
func TestUndefined(t *testing.T) {
	for _, c := range []struct{ arch, hex, why string }{
		{"x86_64", "06 00 00", "push %es does not exist"},
		{"x86_64", "60 00 00", "pusha does not exist"},
		{"x86_64", "0f 0a 00", "reserved"},
		{"x86_64", "ff ff 00", "FF /7"},
		{"x86_64", "fe d0 00", "FE /2"},
		{"x86_64", "8d c0 00", "lea of a register"},
		{"x86_64", "48 c5 f8 77", "REX before VEX"},
		{"x86_64", "c4 e0 78 77 00", "VEX map 0"},
		{"x86_64", "62 f0 7c 48 10 00", "EVEX map 0"},
		{"x86_64", "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", "16 bytes"},
		{"i386", "0f ff", "cut off in the middle"},
		{"i386", "62 fc 7c 48 10 00", "EVEX with APX bits"},
	} {
		a := byName(t, c.arch)
		var out [1]cpu.Insn
		n := a.Decoder.Decode(bytesOf(c.hex), 0, 0, out[:])
		if strings.HasPrefix(c.why, "cut off") {
			if n != 0 {
				t.Errorf("%s: decoded %s", c.hex, format(a, &out[0]))
			}
			continue
		}
		if n != 1 || out[0].Op != cpu.OpUnknown || out[0].Len != 1 {
			t.Errorf("%s %s: %d, %s of %d bytes", c.hex, c.why, n, format(a, &out[0]), out[0].Len)
		}
	}
}

func TestDecodeStopsWhereCodeEnds(t *testing.T) {
	code := bytesOf("55 48 89 e5 e8 00 00")
	var out [8]cpu.Insn
	if n := (decoder{long: true}).Decode(code, 0, 0, out[:]); n != 2 {
		t.Errorf("%d instructions, want push and mov without the cut-off call", n)
	}
	if n := (decoder{long: true}).Decode(code, 0, 0, out[:1]); n != 1 {
		t.Errorf("%d instructions into a buffer of one", n)
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	code := bytesOf("55 48 89 e5 48 8d 3d 00 00 00 00 e8 10 00 00 00 c9 c3")
	var out [8]cpu.Insn
	d := byName(t, "x86_64").Decoder
	if n := testing.AllocsPerRun(100, func() { d.Decode(code, 0, 0, out[:]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Whatever the bytes: progress, nothing beyond them, no field out of range, and
// the same instruction whether decoded alone or in a block.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"55 48 89 e5 c9 c3", "62 f1 fd 48 7f 44 24 01", "c4 e2 fb f6 c2", "d5 00 a1 08", "66 67 f2 f3 2e 0f 38", "8f ea 78 10"} {
		f.Add(bytesOf(s), true)
		f.Add(bytesOf(s), false)
	}
	f.Fuzz(func(t *testing.T, code []byte, long bool) {
		d := decoder{long: long}
		regs := cpu.Reg(34)
		if !long {
			regs = 10
		}
		var out [16]cpu.Insn
		n := d.Decode(code, 0x1000, 0, out[:])
		at := 0
		for i := range out[:n] {
			o := &out[i]
			for _, r := range []cpu.Reg{o.Dst, o.Dst2, o.Src, o.Src2, o.Base, o.Index} {
				if r != cpu.NoReg && r >= regs {
					t.Fatalf("register %d in % x", r, code[at:])
				}
			}
			var one [1]cpu.Insn
			if d.Decode(code[at:], 0x1000+uint64(at), 0, one[:]) != 1 || one[0] != *o {
				t.Fatalf("% x: %+v in a block, %+v alone", code[at:], *o, one[0])
			}
			if o.Len == 0 || o.Len > maxLen || o.Scale > 3 || o.List>>regs != 0 {
				t.Fatalf("%+v", *o)
			}
			at += int(o.Len)
		}
		if at > len(code) {
			t.Fatalf("%d bytes decoded of %d", at, len(code))
		}
		for _, c := range d.Calls(code, 0x1000, 0, nil) {
			if c.Site-0x1000 >= uint64(len(code)) {
				t.Fatalf("call at %#x", c.Site)
			}
			var calls cpu.CallBlock
			d.InStep(code, int(c.Site-0x1000), 0, &calls)
		}
		d.CallBefore(code, 0x1000, 0)
	})
}
