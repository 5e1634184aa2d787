package code

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/unwind"
)

// TestEntryCode: code that an exception enters saves all registers and brings them back before
// the exception return. Where the handler runs, the way there tells where the interrupted
// code's registers lie, its PC among them, and that this is no return address. The CFA is the
// SP of the interrupted code.
func TestEntryCode(t *testing.T) {
	for _, c := range []struct {
		name, cpu, listing string
		behind             uint64
		rule               string
	}{
		// arm64's el1h_64_sync: the PC comes out of ELR_EL1 and goes back there.
		{"arm64", "aarch64", `
		80400000 <handler>:
			80400000: d65f03c0  ret
		80400004 <entry>:
			80400004: a90007e0  stp x0,x1,[sp]
			80400008: a90277fc  stp x28,x29,[sp,#32]
			8040000c: 910183f5  add x21,sp,#0x60
			80400010: d5384036  mrs x22,elr_el1
			80400014: a90357fe  stp x30,x21,[sp,#48]
			80400018: a9045ff6  stp x22,x23,[sp,#64]
			8040001c: 97fffff9  bl 80400000
			80400020: 14000004  b 80400030
			80400030: a9445bf5  ldp x21,x22,[sp,#64]
			80400034: d5184035  msr elr_el1,x21
			80400038: a94007e0  ldp x0,x1,[sp]
			8040003c: a94277fc  ldp x28,x29,[sp,#32]
			80400040: f9401bfe  ldr x30,[sp,#48]
			80400044: 910183ff  add sp,sp,#0x60
			80400048: d69f03e0  eret`,
			0x80400020, "CFA=sp+96 RA=[CFA-32] x0=[CFA-96] x1=[CFA-88] x21=[CFA-32] x22=[CFA-24] x28=[CFA-64] x29=[CFA-56] x30=[CFA-48]"},
		// arm64 where user space cannot see the kernel: the last instructions of the way out lie
		// in a page of their own, to which the code jumps by its address.
		{"arm64, through a trampoline", "aarch64", `
		80400000 <handler>:
			80400000: d65f03c0  ret
		80400004 <entry>:
			80400004: 97ffffff  bl 80400000
			80400008: a9445bf5  ldp x21,x22,[sp,#64]
			8040000c: d5184035  msr elr_el1,x21
			80400010: a9405bf5  ldp x21,x22,[sp]
			80400014: d2a0001e  mov x30,#0
			80400018: f2bfc01e  movk x30,#0xfe00,lsl #16
			8040001c: d61f03c0  br x30`,
			0x80400008, "CFA=sp RA=[CFA+64] x21=[CFA+0] x22=[CFA+8] x30=0xfe000000"},
		// MIPS's handle_int: the handler runs on a stack of interrupts, s0 keeps the other.
		{"mips, another stack", "mips o32", `
		80400000 <handler>:
			80400000: 03e00008  jr ra
			80400004: 00000000  nop
		80400008 <entry>:
			80400008: 03a0d825  move k1,sp
			8040000c: 27bdffc0  addiu sp,sp,-64
			80400010: afbb0030  sw k1,48(sp)
			80400014: afbf0034  sw ra,52(sp)
			80400018: afb00010  sw s0,16(sp)
			8040001c: 40037000  mfc0 v1,c0_epc
			80400020: afa30038  sw v1,56(sp)
			80400024: 3c1b8041  lui k1,0x8041
			80400028: 03a08025  move s0,sp
			8040002c: 0c100000  jal 80400000
			80400030: 277d4000  addiu sp,k1,16384
			80400034: 0200e825  move sp,s0
			80400038: 8fa30038  lw v1,56(sp)
			8040003c: 40837000  mtc0 v1,c0_epc
			80400040: 8fbf0034  lw ra,52(sp)
			80400044: 8fb00010  lw s0,16(sp)
			80400048: 8fbd0030  lw sp,48(sp)
			8040004c: 42000018  eret`,
			0x80400034, "CFA=[s0+48] RA=[s0+56] v1=[s0+56] s0=[s0+16] ra=[s0+52]"},
		// ARM's __irq_svc: all registers come back in one instruction.
		{"arm", "arm", `
		80400000 <handler>:
			80400000: e12fff1e  bx lr
		80400004 <entry>:
			80400004: ebfffffd  bl 80400000
			80400008: e8dde0f0  ldm sp,{r4-r7,sp,lr,pc}^`,
			0x80400008, "CFA=[sp+16] RA=[sp+24] r4=[sp+0] r5=[sp+4] r6=[sp+8] r7=[sp+12] lr=[sp+20]"},
		// ARM's ret_to_user: SP is that of another mode, which user space keeps.
		{"arm, to another mode", "arm", `
		80400000 <handler>:
			80400000: e12fff1e  bx lr
		80400004 <entry>:
			80400004: ebfffffd  bl 80400000
			80400008: e59de010  ldr lr,[sp,#16]
			8040000c: e8dd00f0  ldm sp,{r4-r7}^
			80400010: e28dd018  add sp,sp,#24
			80400014: e1b0f00e  movs pc,lr`,
			0x80400008, "CFA=sp+24 RA=[CFA-8] r4=[CFA-24] r5=[CFA-20] r6=[CFA-16] r7=[CFA-12] lr=[CFA-8] sp=undefined"},
		// RISC-V's handle_exception.
		{"riscv64", "riscv64", `
		80400000 <handler>:
			80400000: 00008067  ret
		80400004 <entry>:
			80400004: fc010113  addi sp,sp,-64
			80400008: 00113423  sd ra,8(sp)
			8040000c: 00813c23  sd s0,24(sp)
			80400010: 141022f3  csrr t0,sepc
			80400014: 00513023  sd t0,0(sp)
			80400018: fe9ff0ef  jal 80400000
			8040001c: 00013503  ld a0,0(sp)
			80400020: 14151073  csrw sepc,a0
			80400024: 00813083  ld ra,8(sp)
			80400028: 01813403  ld s0,24(sp)
			8040002c: 02013103  ld sp,32(sp)
			80400030: 10200073  sret`,
			0x8040001c, "CFA=[sp+32] RA=[sp+0] ra=[sp+8] s0=[sp+24] a0=[sp+0]"},
		// x86's asm_exc_page_fault: from jump to jump with nothing popped, up to the iret. User space
		// is left on another stack.
		{"x86_64", "x86_64", `
		80400000 <handler>:
			80400000: c3                       ret
		80400008 <entry>:
			80400008: e8 f3 ff ff ff           call 80400000
			8040000d: 48 89 c4                 mov %rax,%rsp
			80400010: e8 eb ff ff ff           call 80400000
			80400015: e9 06 00 00 00           jmp 80400020
		80400020 <error_return>:
			80400020: f6 44 24 28 03           testb $3,0x28(%rsp)
			80400025: 74 19                    je 80400040
			80400027: 65 48 8b 24 25 04 60 00 00  mov %gs:0x6004,%rsp
			80400030: 0f 01 f8                 swapgs
			80400033: 48 cf                    iretq
		80400040 <restore>:
			80400040: 5d                       pop %rbp
			80400041: 5b                       pop %rbx
			80400042: 58                       pop %rax
			80400043: 48 83 c4 08              add $8,%rsp
			80400047: 48 cf                    iretq`,
			0x80400015, "CFA=[rsp+56] RA=[rsp+32] rax=[rsp+16] rbx=[rsp+8] rbp=[rsp+0]"},
		// i386: the kernel, interrupted, has the same privilege, so that its SP was not pushed.
		{"i386", "i386", `
		80400000 <handler>:
			80400000: c3                       ret
		80400009 <entry>:
			80400009: e8 f2 ff ff ff           call 80400000
			8040000e: 89 c4                    mov %eax,%esp
			80400010: e8 eb ff ff ff           call 80400000
			80400015: eb 09                    jmp 80400020
		80400020 <restore>:
			80400020: 5b                       pop %ebx
			80400021: 58                       pop %eax
			80400022: 83 c4 04                 add $4,%esp
			80400025: cf                       iret`,
			0x80400015, "CFA=esp+24 RA=[CFA-12] eax=[CFA-20] ebx=[CFA-24]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			img := codetest.Program{CPU: c.cpu, Listing: c.listing}.Image(t)
			q, rule := resuming(img, c.behind, 0), new(stackwalk.Rule)
			v := New(nil).Rule(&q, rule)
			if got := recovered(rule, img.Arch).Format(img.Arch); v != unwind.Found || got != c.rule {
				t.Errorf("%v: %s\nwant %s", v, got, c.rule)
			}
			if exception := stackwalk.SignalFrame | stackwalk.ExceptionFrame; rule.Flags&exception != exception {
				t.Errorf("flags %b", rule.Flags)
			}
			if q.Try = 1; New(nil).Rule(&q, rule) != unwind.NotCovered {
				t.Errorf("another answer, %s: nobody called the code", rule.Format(img.Arch))
			}
		})
	}
}

// recovered is a rule without the registers that it gives up, but SP.
func recovered(r *stackwalk.Rule, arch *cpu.Arch) *stackwalk.Rule {
	var out stackwalk.Rule
	out.Reset()
	out.CFA, out.RA = r.CFA, r.RA
	for i := range r.N {
		if rr := r.Regs[i]; rr.Kind != stackwalk.Undefined || rr.Reg == arch.SP {
			out.Add(rr)
		}
	}
	return &out
}

// TestFirstReturn: a monitor enters the next mode by an exception return, too. The place came as
// an argument: no code was interrupted there.
func TestFirstReturn(t *testing.T) {
	img := codetest.Program{CPU: "aarch64", Listing: `
	80400000 <enter>:
		80400000: d5184020  msr elr_el1,x0
		80400004: d69f03e0  eret`}.Image(t)
	q, rule := exact(img, 0x80400004, 0), new(stackwalk.Rule)
	if New(nil).Rule(&q, rule) == unwind.Found && rule.Flags&stackwalk.ExceptionFrame != 0 {
		t.Errorf("%s", rule.Format(img.Arch))
	}
}
