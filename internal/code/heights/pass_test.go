package heights

import (
	"strings"
	"testing"
)

// TestTables: frames of several processors, instruction by instruction.
func TestTables(t *testing.T) {
	for _, tt := range []struct{ name, arch, text string }{
		{"two paths meet", "x86_64", `
			1000 <f>:
			1000:	53             	push %rbx          => 0
			1001:	48 83 ec 20    	sub $32,%rsp       => -8 rbx=[-8]
			1005:	85 ff          	test %edi,%edi     => -40 rbx=[-8]
			1007:	74 08          	je 1011            => -40 rbx=[-8]
			1009:	48 89 fb       	mov %rdi,%rbx      => -40 rbx=[-8]
			100c:	e8 06 00 00 00 	call 1017 <g>      => -40 rbx=[-8] | -40 rbx=[-8]
			1011:	48 83 c4 20    	add $32,%rsp       => -40 rbx=[-8]
			1015:	5b             	pop %rbx           => -8 rbx=[-8]
			1016:	c3             	ret                => 0
			1017 <g>:
			1017:	c3             	ret                => none`},
		{"frame pointer", "x86_64", `
			1000 <f>:
			1000:	55             	push %rbp          => 0
			1001:	48 89 e5       	mov %rsp,%rbp      => -8 rbp=[-8]
			1004:	41 54          	push %r12          => -8 rbp=[-8]
			1006:	48 83 ec 18    	sub $24,%rsp       => -16 rbp=[-8] r12=[-16]
			100a:	4c 8b 65 f8    	mov -8(%rbp),%r12  => -40 rbp=[-8] r12=[-16]
			100e:	c9             	leave              => -40 rbp=[-8]
			100f:	c3             	ret                => 0`},
		{"the callee pops its arguments", "i386", `
			1000 <f>:
			1000:	53             	push %ebx          => 0
			1001:	6a 01          	push $1            => -4 ebx=[-4]
			1003:	6a 02          	push $2            => -8 ebx=[-4]
			1005:	e8 06 00 00 00 	call 1010 <g>      => -12 ebx=[-4] | -12 ebx=[-4]
			100a:	5b             	pop %ebx           => -4 ebx=[-4]
			100b:	c3             	ret                => 0
			1010 <g>:
			1010:	c2 08 00       	ret $8`},
		{"a call reads the PC", "i386", `
			1000 <f>:
			1000:	53             	push %ebx          => 0
			1001:	e8 00 00 00 00 	call 1006          => -4 ebx=[-4]
			1006:	5b             	pop %ebx           => -8 ebx=[-4]
			1007:	83 c3 02       	add $2,%ebx        => -4 ebx=[-4]
			100a:	5b             	pop %ebx           => -4 ebx=[-4]
			100b:	c3             	ret                => 0`},
		{"a pair is stored with write-back", "aarch64", `
			400000 <f>:
			400000:	a9bf7bfd 	stp x29,x30,[sp,#-16]! => 0
			400004:	910003fd 	mov x29,sp             => -16 x29=[-16] x30=[-8]
			400008:	940001fe 	bl 400800              => -16 x29=[-16] x30=[-8] | -16 x29=[-16] x30=[-8]
			40000c:	11000400 	add w0,w0,#0x1         => -16 x29=[-16] x30=[-8]
			400010:	a8c17bfd 	ldp x29,x30,[sp],#16   => -16 x29=[-16] x30=[-8]
			400014:	d65f03c0 	ret                    => 0`},
		{"returns on a condition, by a load of PC", "arm", `
			400000 <f>:
			400000:	e3500000 	cmp r0,#0              => 0
			400004:	012fff1e 	bxeq lr                => 0
			400008:	e92d4010 	push {r4,lr}           => 0
			40000c:	e1a04000 	mov r4,r0              => -8 r4=[-8] lr=[-4]
			400010:	eb0001fa 	bl 400800              => -8 r4=[-8] lr=[-4] | -8 r4=[-8] lr=[-4]
			400014:	e3500000 	cmp r0,#0              => -8 r4=[-8] lr=[-4]
			400018:	18bd8010 	popne {r4,pc}          => -8 r4=[-8] lr=[-4]
			40001c:	e1a00004 	mov r0,r4              => -8 r4=[-8] lr=[-4]
			400020:	e8bd4010 	pop {r4,lr}            => -8 r4=[-8] lr=[-4]
			400024:	e12fff1e 	bx lr                  => 0`},
		{"a call on a condition", "arm", `
			400000 <f>:
			400000:	e92d4010 	push {r4,lr}           => 0
			400004:	e1a04000 	mov r4,r0              => -8 r4=[-8] lr=[-4]
			400008:	e3500000 	cmp r0,#0              => -8 r4=[-8] lr=[-4]
			40000c:	1b000800 	blne 402014            => -8 r4=[-8] lr=[-4] | -8 r4=[-8] lr=[-4]
			400010:	08bd8010 	popeq {r4,pc}          => -8 r4=[-8] lr=[-4]
			400014:	eb000800 	bl 40201c              => -8 r4=[-8] lr=[-4] | -8 r4=[-8] lr=[-4]
			400018:	e8bd8010 	pop {r4,pc}            => -8 r4=[-8] lr=[-4]`},
		{"a delay slot that executes when the branch is taken", "mips", `
			400000 <f>:
			400000:	27bdffe8 	addiu sp,sp,-24        => 0
			400004:	afbf0014 	sw ra,20(sp)           => -24
			400008:	50800004 	beqzl a0,40001c        => -24 ra=[-4]
			40000c:	8fbf0014 	lw ra,20(sp)           => -24 ra=[-4]
			400010:	0c000200 	jal 400800             => -24 ra=[-4]
			400014:	00000000 	nop                    => -24 ra=[-4] | -24 ra=[-4]
			400018:	8fbf0014 	lw ra,20(sp)           => -24 ra=[-4]
			40001c:	03e00008 	jr ra                  => -24
			400020:	27bd0018 	addiu sp,sp,24         => -24`},
		{"the frame goes in the delay slot", "mips", `
			400000 <f>:
			400000:	27bdffe8 	addiu sp,sp,-24        => 0
			400004:	afbf0014 	sw ra,20(sp)           => -24
			400008:	0c100200 	jal 400800             => -24 ra=[-4]
			40000c:	00000000 	nop                    => -24 ra=[-4] | -24 ra=[-4]
			400010:	8fbf0014 	lw ra,20(sp)           => -24 ra=[-4]
			400014:	24420001 	addiu v0,v0,1          => -24
			400018:	03e00008 	jr ra                  => -24
			40001c:	27bd0018 	addiu sp,sp,24         => -24`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := parse(t, arch(t, tt.arch), tt.text)
			table := l.table()
			l.check(t, table)
			if !table.MakesFrame || !table.Effect.Returns {
				t.Errorf("a frame is made: %t, it returns: %t", table.MakesFrame, table.Effect.Returns)
			}
		})
	}
}

// TestNoTable: what one pass cannot prove has no table.
func TestNoTable(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"SP is not restored", `
			1000:	50             	push %rax
			1001:	c3             	ret`},
		{"a preserved register is not restored", `
			1000:	bb 01 00 00 00 	mov $1,%ebx
			1005:	c3             	ret`},
		{"the slot of rbx is overwritten", `
			1000:	53             	push %rbx
			1001:	bb 01 00 00 00 	mov $1,%ebx
			1006:	48 89 04 24    	mov %rax,(%rsp)
			100a:	5b             	pop %rbx
			100b:	c3             	ret`},
		{"two paths come with different heights", `
			1000:	85 ff          	test %edi,%edi
			1002:	74 01          	je 1005
			1004:	50             	push %rax
			1005:	90             	nop
			1006:	c3             	ret`},
		{"alloca", `
			1000:	55             	push %rbp
			1001:	48 89 e5       	mov %rsp,%rbp
			1004:	48 29 c4       	sub %rax,%rsp
			1007:	c9             	leave
			1008:	c3             	ret`},
		{"a label, where rbx is in use", `
			1000:	48 89 df       	mov %rbx,%rdi
			1003:	c3             	ret`},
		{"rbx is stored where the frame of the caller is", `
			1000:	48 89 5c 24 08 	mov %rbx,8(%rsp)
			1005:	bb 01 00 00 00 	mov $1,%ebx
			100a:	48 8b 5c 24 08 	mov 8(%rsp),%rbx
			100f:	c3             	ret`},
		{"the upper half of SP is lost", `
			1000:	83 c4 f8       	add $-8,%esp
			1003:	83 c4 08       	add $8,%esp
			1006:	c3             	ret`},
		{"no code that the processor knows", `
			1000:	06             	(bad)
			1001:	c3             	ret`},
	} {
		if table := parse(t, arch(t, "x86_64"), tt.text).table(); table != nil {
			t.Errorf("%s: %+v", tt.name, table)
		}
	}
}

// TestFallsIntoVisited: control falls into a loop that was visited with the return address in its
// slot, with the return address reloaded: gnuplot's del_udv_by_name for mips64. No state holds
// on both paths, and what was found for the loop stands until that is known.
func TestFallsIntoVisited(t *testing.T) {
	l := parse(t, arch(t, "mips"), `
		400000:	27bdffe8 	addiu sp,sp,-24
		400004:	afbf0014 	sw ra,20(sp)
		400008:	10000003 	b 400018
		40000c:	00000000 	nop
		400010:	12000005 	beqz s0,400028
		400014:	8fbf0014 	lw ra,20(sp)
		400018:	0320f809 	jalr t9
		40001c:	00000000 	nop
		400020:	1000fffb 	b 400010
		400024:	00000000 	nop
		400028:	03e00008 	jr ra
		40002c:	27bd0018 	addiu sp,sp,24`)
	if table := l.table(); table != nil {
		t.Errorf("%+v", table)
	}
}

// TestPathsMeet: where paths meet that know different things, what all of them know holds.
// rbp is a frame pointer on one of three paths to 100d.
func TestPathsMeet(t *testing.T) {
	l := parse(t, arch(t, "x86_64"), `
		1000:	55       	push %rbp       => 0
		1001:	85 ff    	test %edi,%edi  => -8 rbp=[-8]
		1003:	74 08    	je 100d         => -8 rbp=[-8]
		1005:	48 89 e5 	mov %rsp,%rbp   => -8 rbp=[-8]
		1008:	85 f6    	test %esi,%esi  => -8 rbp=[-8]
		100a:	74 01    	je 100d         => -8 rbp=[-8]
		100c:	90       	nop             => -8 rbp=[-8]
		100d:	90       	nop             => -8 rbp=[-8]
		100e:	5d       	pop %rbp        => -8 rbp=[-8]
		100f:	c3       	ret             => 0`)
	table := l.table()
	l.check(t, table)
	if before, met := table.At(0x100c), table.At(0x100d); before == met {
		t.Error("100d has the frame that only one of the paths knows")
	}
}

// TestAttempts: a second pass knows which registers are no pointers, or are.
func TestAttempts(t *testing.T) {
	for _, tt := range []struct{ name, arch, text string }{
		// The way back to 1004 shows, behind what was written down there, that rbp moves.
		{"a pointer moves in a loop", "x86_64", `
			1000:	55       	push %rbp        => 0
			1001:	48 89 e5 	mov %rsp,%rbp    => -8 rbp=[-8]
			1004:	ff cf    	dec %edi         => -8 rbp=[-8]
			1006:	48 8d 6d 08 	lea 8(%rbp),%rbp => -8 rbp=[-8]
			100a:	75 f8    	jne 1004         => -8 rbp=[-8]
			100c:	5d       	pop %rbp         => -8 rbp=[-8]
			100d:	c3       	ret              => 0`},
		{"another register points into the frame", "x86_64", `
			1000:	53             	push %rbx           => 0
			1001:	41 54          	push %r12           => -8 rbx=[-8]
			1003:	4c 8d 64 24 08 	lea 8(%rsp),%r12    => -16 rbx=[-8] r12=[-16]
			1008:	48 83 ec 28    	sub $40,%rsp        => -16 rbx=[-8] r12=[-16]
			100c:	49 8d 64 24 f8 	lea -8(%r12),%rsp   => -56 rbx=[-8] r12=[-16]
			1011:	41 5c          	pop %r12            => -16 rbx=[-8] r12=[-16]
			1013:	5b             	pop %rbx            => -8 rbx=[-8]
			1014:	c3             	ret                 => 0`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := parse(t, arch(t, tt.arch), tt.text)
			l.check(t, l.table())
		})
	}
}

// switched is a function with a jump whose targets nobody knows, in front of two cases.
const switched = `
	1000:	48 83 ec 08 	sub $8,%rsp     => 0
	1004:	83 ff 03    	cmp $3,%edi     => -8
	1007:	77 0e       	ja 1017         => -8
	1009:	ff e0       	jmp *%rax       => -8
	100b:	48 83 c4 08 	add $8,%rsp     => -8
	100f:	c3          	ret             => 0
	1010:	31 c0       	xor %eax,%eax   => -8
	1012:	48 83 c4 08 	add $8,%rsp     => -8
	1016:	c3          	ret             => 0
	1017:	48 83 c4 08 	add $8,%rsp     => -8
	101b:	c3          	ret             => 0`

// TestGaps: what lies between the blocks of a function with a frame are the targets of
// its jumps. Where such code does not fit, the function has no table.
func TestGaps(t *testing.T) {
	l := parse(t, arch(t, "x86_64"), switched)
	l.check(t, l.table())
	misfit := strings.Replace(switched, "48 83 c4 08 	add $8,%rsp     => -8\n\t1016", "48 83 c4 10 	add $16,%rsp\n\t1016", 1)
	if table := parse(t, arch(t, "x86_64"), misfit).table(); table != nil {
		t.Errorf("a gap does not fit: %+v", table)
	}
}

// TestGapsEnd: the last of what lies between the blocks may be the next function, which saves the return address anew.
func TestGapsEnd(t *testing.T) {
	l := parse(t, arch(t, "arm"), `
		1000 <f>:
		1000:	e92d4010 	push {r4, lr}      => 0
		1004:	e12fff11 	bx r1              => -8 r4=[-8] lr=[-4]
		1008:	e8bd8010 	pop {r4, pc}       => -8 r4=[-8] lr=[-4]
		100c:	e92d4030 	push {r4, r5, lr}  => none
		1010:	e8bd8030 	pop {r4, r5, pc}   => none`)
	l.check(t, l.table())
}

// TestLabelsWithoutFrame: where a function has no frame any code fits, and none is taken
// for a target. Then no path is known to lead to an exit.
func TestLabelsWithoutFrame(t *testing.T) {
	l := parse(t, arch(t, "x86_64"), `
		1000:	ff e0 	jmp *%rax      => none
		1002:	31 c0 	xor %eax,%eax  => none
		1004:	c3    	ret            => none`)
	l.check(t, l.table())
}

// TestNoReturn: a table says nothing of code from which no path leads to an exit, nor of
// what stands behind a call that never returns.
func TestNoReturn(t *testing.T) {
	l := parse(t, arch(t, "x86_64"), `
		1000 <f>:
		1000:	53             	push %rbx       => 0
		1001:	85 ff          	test %edi,%edi  => -8 rbx=[-8]
		1003:	74 02          	je 1007         => -8 rbx=[-8]
		1005:	5b             	pop %rbx        => -8 rbx=[-8]
		1006:	c3             	ret             => 0
		1007:	e8 14 00 00 00 	call 1020 <g>   => none | none
		100c:	b8 01 00 00 00 	mov $1,%eax     => none
		1020 <g>:
		1020:	0f 0b          	ud2             => none`)
	table := l.table()
	l.check(t, table)
	if len(table.Code) != 1 || table.Code[0] != (Range{0, 7}) || table.End() != 0x1007 {
		t.Errorf("code that leads to an exit: %v", table.Code)
	}
}

// TestLiteralBehindCall: a call did not come back that has a word behind it which an instruction loads.
func TestLiteralBehindCall(t *testing.T) {
	l := parse(t, arch(t, "arm"), `
		1000 <f>:
		1000:	e92d4010 	push {r4, lr}      => 0
		1004:	e59f100c 	ldr r1, [pc, #12]  => -8 r4=[-8] lr=[-4]
		1008:	e3510000 	cmp r1, #0         => -8 r4=[-8] lr=[-4]
		100c:	0a000000 	beq 1014           => -8 r4=[-8] lr=[-4]
		1010:	e8bd8010 	pop {r4, pc}       => -8 r4=[-8] lr=[-4]
		1014:	e12fff33 	blx r3             => none | none
		1018:	ffffffff 	.word              => none`)
	l.check(t, l.table())
}

// TestConditionalNoReturn: behind a call on a condition of a function that never returns
// (blne __stack_chk_fail) nothing has changed, the link register neither.
func TestConditionalNoReturn(t *testing.T) {
	l := parse(t, arch(t, "arm"), `
		1000 <f>:
		1000:	e3500000 	cmp r0,#0  => 0
		1004:	1b000000 	blne 100c  => 0
		1008:	e12fff1e 	bx lr      => 0
		100c <g>:
		100c:	e7f000f0 	udf #0     => none`)
	l.check(t, l.table())
}

// TestNextFunction: where the next function begins this one ends, be it behind a call of
// a function of which nobody knows that it never returns, or by failing to go on.
func TestNextFunction(t *testing.T) {
	for _, behind := range []string{`
		1007:	ff d0 	call *%rax      => none | none
		1009 <g>:
		1009:	5b    	pop %rbx        => none
		100a:	c3    	ret             => none`, `
		1007:	ff d0 	call *%rax      => none | none
		1009:	90    	nop             => none
		100a <g>:
		100a:	c3    	ret             => none`,
	} {
		l := parse(t, arch(t, "x86_64"), `
		1000 <f>:
		1000:	53    	push %rbx       => 0
		1001:	85 ff 	test %edi,%edi  => -8 rbx=[-8]
		1003:	74 02 	je 1007         => -8 rbx=[-8]
		1005:	5b    	pop %rbx        => -8 rbx=[-8]
		1006:	c3    	ret             => 0`+behind)
		l.check(t, l.table())
	}
}

// TestFalseEntry: what was taken for the beginning of another function is a part of this
// one, if the frame of this one fits.
func TestFalseEntry(t *testing.T) {
	l := parse(t, arch(t, "x86_64"), `
		1000 <f>:
		1000:	53    	push %rbx       => 0
		1001:	85 ff 	test %edi,%edi  => -8 rbx=[-8]
		1003:	74 02 	je 1007         => -8 rbx=[-8]
		1005:	5b    	pop %rbx        => -8 rbx=[-8]
		1006:	c3    	ret             => 0
		1007 <label>:
		1007:	5b    	pop %rbx        => -8 rbx=[-8]
		1008:	c3    	ret             => 0`)
	l.check(t, l.table())
}
