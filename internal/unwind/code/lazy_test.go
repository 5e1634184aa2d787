package code_test

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/unwind"
)

// resolvers are glibc's (2.36, dl-trampoline): how a call through a PLT that is not bound
// yet comes to its function. x86's and AArch64's find two words on the stack that PLT0
// pushed, ARM's one, lr, which PLT0 then overwrites. MIPS's is called by the stub, with the
// return address in t7; the loader of Debian's mipsel has this code.
var resolvers = []codetest.Program{{CPU: "x86_64", Listing: `
	400000 <_dl_runtime_resolve>:
	400000: 53              push   %rbx
	400001: 48 89 e3        mov    %rsp,%rbx
	400004: 48 83 e4 c0     and    $-64,%rsp
	400008: 48 81 ec 80 03 00 00  sub  $0x380,%rsp
	40000f: 48 89 04 24     mov    %rax,(%rsp)
	400013: 48 8b 73 10     mov    0x10(%rbx),%rsi
	400017: 48 8b 7b 08     mov    0x8(%rbx),%rdi
	40001b: e8 20 00 00 00  call   400040 <_dl_fixup>
	400020: 49 89 c3        mov    %rax,%r11
	400023: 48 8b 04 24     mov    (%rsp),%rax
	400027: 48 89 dc        mov    %rbx,%rsp
	40002a: 48 8b 1c 24     mov    (%rsp),%rbx
	40002e: 48 83 c4 18     add    $0x18,%rsp
	400032: 41 ff e3        jmp    *%r11
	400040 <_dl_fixup>:
	400040: c3              ret`,
}, {CPU: "i386", Listing: `
	400000 <_dl_runtime_resolve>:
	400000: 50              push   %eax
	400001: 51              push   %ecx
	400002: 52              push   %edx
	400003: 8b 54 24 10     mov    0x10(%esp),%edx
	400007: 8b 44 24 0c     mov    0xc(%esp),%eax
	40000b: e8 30 00 00 00  call   400040 <_dl_fixup>
	400010: 5a              pop    %edx
	400011: 8b 0c 24        mov    (%esp),%ecx
	400014: 89 04 24        mov    %eax,(%esp)
	400017: 8b 44 24 04     mov    0x4(%esp),%eax
	40001b: c2 0c 00        ret    $0xc
	400040 <_dl_fixup>:
	400040: c3              ret`,
}, {CPU: "aarch64", Listing: `
	400000 <_dl_runtime_resolve>:
	400000: a9b327e8        stp    x8, x9, [sp, #-208]!
	400004: a90407e0        stp    x0, x1, [sp, #64]
	400008: f9406be1        ldr    x1, [sp, #208]
	40000c: 9400000d        bl     400040 <_dl_fixup>
	400010: aa0003f0        mov    x16, x0
	400014: a94407e0        ldp    x0, x1, [sp, #64]
	400018: a8cd27e8        ldp    x8, x9, [sp], #208
	40001c: a8c17bf1        ldp    x17, x30, [sp], #16
	400020: d61f0200        br     x16
	400040 <_dl_fixup>:
	400040: d65f03c0        ret`,
}, {CPU: "arm", Listing: `
	400000 <_dl_runtime_resolve>:
	400000: e92d001f        push   {r0, r1, r2, r3, r4}
	400004: e51e0004        ldr    r0, [lr, #-4]
	400008: e04c100e        sub    r1, ip, lr
	40000c: eb00000b        bl     400040 <_dl_fixup>
	400010: e1a0c000        mov    ip, r0
	400014: e8bd401f        pop    {r0, r1, r2, r3, r4, lr}
	400018: e12fff1c        bx     ip
	40001c: e24dd0c4        sub    sp, sp, #196    _dl_runtime_profile
	400020: e28dd0c8        add    sp, sp, #200
	400024: e49de004        pop    {lr}
	400028: e12fff1c        bx     ip
	400040 <_dl_fixup>:
	400040: e12fff1e        bx     lr`,
}, {CPU: "mips o32", Listing: `
	400000 <_dl_runtime_resolve>:
	400000: 03801825        move   v1,gp
	400004: 27bdffd8        addiu  sp,sp,-40
	400008: afbc0020        sw     gp,32(sp)
	40000c: afaf0024        sw     t7,36(sp)
	400010: 03002025        move   a0,t8
	400014: 0411000a        bal    400040 <_dl_fixup>
	400018: 00000000        nop
	40001c: 8fbc0020        lw     gp,32(sp)
	400020: 8fbf0024        lw     ra,36(sp)
	400024: 27bd0028        addiu  sp,sp,40
	400028: 0040c825        move   t9,v0
	40002c: 03200008        jr     t9
	400030: 00000000        nop
	400040 <_dl_fixup>:
	400040: 03e00008        jr     ra
	400044: 00000000        nop`,
}}

// TestLazyBinding: the frame of the dynamic linker's resolver begins where the caller of the
// PLT stub left SP, above the words that PLT0 pushed.
func TestLazyBinding(t *testing.T) {
	for i, places := range [][]struct {
		pc    uint64
		exact bool
		want  string
	}{{
		{0x400000, true, "CFA=rsp+24 RA=[CFA-8]"},
		{0x40000f, true, "CFA=rbx+32 RA=[CFA-8] rbx=[CFA-32]"},
		{0x400020, false, "CFA=rbx+32 RA=[CFA-8] rbx=[CFA-32]"},
		{0x40002a, true, "CFA=rsp+32 RA=[CFA-8] rbx=[CFA-32]"},
		{0x400032, true, "CFA=rsp+8 RA=[CFA-8]"},
	}, {
		{0x400000, true, "CFA=esp+12 RA=[CFA-4]"},
		{0x400010, false, "CFA=esp+24 RA=[CFA-4]"},
		{0x40001b, true, "CFA=esp+20 RA=[CFA-4]"},
	}, {
		{0x400000, true, "CFA=sp+16 RA=[CFA-8]"},
		{0x400010, false, "CFA=sp+224 RA=[CFA-8]"},
		{0x40001c, true, "CFA=sp+16 RA=[CFA-8]"},
		{0x400020, true, "CFA=sp RA=x30"},
	}, {
		{0x400000, true, "CFA=sp+4 RA=[CFA-4]"},
		{0x400010, false, "CFA=sp+24 RA=[CFA-4]"},
		{0x400018, true, "CFA=sp RA=lr"},
	}, {
		{0x400000, true, "CFA=sp RA=t7"},
		{0x400008, true, "CFA=sp+40 RA=t7"},
		{0x40001c, false, "CFA=sp+40 RA=[CFA-4]"},
		{0x40002c, true, "CFA=sp RA=ra"},
	}} {
		img := resolvers[i].Image(t)
		for _, p := range places {
			q := stackwalk.Query{Image: img, Arch: img.Arch, PC: p.pc, Resume: p.pc, Exact: p.exact}
			if !p.exact {
				q.PC--
			}
			var r stackwalk.Rule
			if v := code.New(nil).Rule(&q, &r); v != unwind.Found || r.Format(img.Arch) != p.want {
				t.Errorf("%s %x: %v, %s, want %s", resolvers[i].CPU, p.pc, v, r.Format(img.Arch), p.want)
			}
		}
	}
}

// TestFirstPLTEntry: the first entry of a PLT is entered with a word on the stack. On i386
// the stub behind it leads there; other code of 16 bytes with a jump at the end is no PLT.
func TestFirstPLTEntry(t *testing.T) {
	const plt0 = `
		2020: ff b3 04 00 00 00  push 4(%ebx)
		2026: ff a3 08 00 00 00  jmp  *8(%ebx)
		`
	const caller = `
		2060: e8 1b 00 00 00     call 2080
		2065: 81 c3 9b 1f 00 00  add  $0x1f9b,%ebx
		206b: e8 c0 ff ff ff     call 2030
		2070: c3                 ret
		2080: 8b 1c 24           mov  (%esp),%ebx
		2083: c3                 ret`
	for _, c := range []struct {
		name, behind string
		pc           uint64
		want         string
	}{
		{"its push", "2030: ff a3 0c 00 00 00 68 00 00 00 00 e9 e0 ff ff ff", 0x2020, "CFA=esp+8 RA=[CFA-4]"},
		{"its jump", "2030: ff a3 0c 00 00 00 68 00 00 00 00 e9 e0 ff ff ff", 0x2026, "CFA=esp+12 RA=[CFA-4]"},
		{"a stub that jumps elsewhere", "2030: ff a3 0c 00 00 00 68 00 00 00 00 e9 30 00 00 00", 0x2020, ""},
		{"no stub behind", "2030: 8b 44 24 04 c3", 0x2020, ""},
	} {
		img := codetest.Program{CPU: "i386", Listing: plt0 + c.behind + caller, Imports: map[uint64]string{0x400c: "f"}}.Image(t)
		q := stackwalk.Query{Image: img, Arch: img.Arch, PC: c.pc, Resume: c.pc, Exact: true}
		var r stackwalk.Rule
		v := code.New(nil).Rule(&q, &r)
		if got := r.Format(img.Arch); v == unwind.Found && got != c.want || v != unwind.Found && c.want != "" {
			t.Errorf("%s: %v, %s, want %q", c.name, v, got, c.want)
		}
	}
}

// TestStubOfStaticProgram: the tables of a static program list its functions, not the stubs of those that
// the start chooses; a stub is known by its word, which is the stub's end at first, and no function is sought for it.
func TestStubOfStaticProgram(t *testing.T) {
	const listing = `
		4010c0: ff 25 3a 0f 00 00  jmp  *0xf3a(%rip)       402000
		4010c6: 66 90              xchg %ax,%ax
		4010c8: e8 03 00 00 00     call 4010d0             what follows the last stub
		4010cd: 00 00 00
		4010d0: 48 83 ec 08        sub  $8,%rsp
		4010d4: e8 e7 ff ff ff     call 4010c0
		4010d9: 48 83 c4 08        add  $8,%rsp
		4010dd: c3                 ret`
	sought := false
	tables := func(_ *image.Image, yield func(lo, hi uint64) bool) { sought = true; yield(0x4010d0, 0x4010de) }
	for word, known := range map[uint64]bool{0x4010c6: true, 0x4010c8: false} {
		img := codetest.Program{CPU: "x86_64", Listing: listing, Data: map[uint64][]uint64{0x402000: {word}},
			Sections: map[string]uint64{".text": 0x4010d0}}.Image(t)
		q := stackwalk.Query{Image: img, Arch: img.Arch, PC: 0x4010c0, Resume: 0x4010c0, Exact: true}
		var r stackwalk.Rule
		sought = false
		v := code.New(&discover.Tables{Functions: tables}).Rule(&q, &r)
		got := v == unwind.Found && r.Format(img.Arch) == "CFA=rsp+8 RA=[CFA-8]" && r.Flags&stackwalk.FromEntry != 0
		if got != known || sought == known {
			t.Errorf("functions were sought: %t; a word of %#x: %v, %s, from an entry: %t; want %t", sought, word, v, r.Format(img.Arch), got, known)
		}
	}
}
