package disasm

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestIsText: pointers to strings are none to code, whatever the strings decode as.
func TestIsText(t *testing.T) {
	for code, want := range map[string]bool{
		"llvm.x86.monitorx\x00llvm.x":          true,
		"AWAVAUATUSH\x83\xec\x18":              false, // push r15 … push rbx; sub rsp,24
		"Uh\x00":                               false,
		strings.Repeat("no end in sight, ", 8): true,
		"short":                                false,
		"":                                     false,
	} {
		if isText([]byte(code)) != want {
			t.Errorf("%q: want %t", code, want)
		}
	}
}

// TestLooksLikeCode: what may begin a function that only data points to.
func TestLooksLikeCode(t *testing.T) {
	for _, tt := range []struct {
		cpu, listing string
		mode         cpu.Mode
		want         bool
	}{
		{"x86_64", "1000: 53 5b c3           push %rbx; pop %rbx; ret", 0, true},
		{"x86_64", "1000: 06                 (bad)", 0, false},
		{"x86_64", "1000: 90 06              nop; (bad)", 0, false},
		{"x86_64", "1000: c3 06              nothing behind a return counts", 0, true},
		{"x86_64", "1000: 0f 0b              a trap begins no function", 0, false},
		{"x86_64", "1000: 68 65 6c 6c 6f 20 77 6f 72 6c 64 00  \"hello world\"", 0, false},
		{"arm", "1000: e92d4010 e8bd8010     push {r4,lr}; pop {r4,pc}", 0, true},
		{"arm", "1000: 4604b510 4604bd10     push {r4,lr}; mov r4,r0; pop {r4,pc}; mov r4,r0, read as A32", 0, false},
		{"arm", "1000: b510 4604 bd10        push {r4,lr}; mov r4,r0; pop {r4,pc}", 1, true},
	} {
		c := code(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing})
		if got := LooksLikeCode(c, Addr{0x1000, tt.mode}); got != tt.want {
			t.Errorf("%s, mode %d: %s: %t", tt.cpu, tt.mode, tt.listing, got)
		}
	}
}

// TestPCThunk: a function that does nothing but load its return address.
func TestPCThunk(t *testing.T) {
	for _, tt := range []struct{ cpu, listing, want string }{
		{"i386", "1000: 8b 1c 24 c3        mov (%esp),%ebx; ret", "ebx"},
		{"i386", "1000: 8b 04 24 c3        mov (%esp),%eax; ret", "eax"},
		{"i386", "1000: 8b 5c 24 04 c3     mov 4(%esp),%ebx; ret", ""},
		{"i386", "1000: 8b 1c 24 c2 04 00  mov (%esp),%ebx; ret $4", ""},
		{"i386", "1000: 8b 1c 24 90        mov (%esp),%ebx; nop", ""},
		{"i386", "1000: 8b 1c 24           cut off", ""},
		{"x86_64", "1000: 48 8b 1c 24 c3   mov (%rsp),%rbx; ret", "rbx"},
		{"mips o32 big", "1000: 8fbf0000 03e00008 00000000  lw ra,0(sp); jr ra", ""},
	} {
		c := code(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing})
		r, ok := PCThunk(c, at(0x1000))
		if ok != (tt.want != "") || ok && c.Arch.RegName(r) != tt.want {
			t.Errorf("%s: %s: %t", tt.cpu, tt.listing, ok)
		}
	}
}

// TestThunk: code that a call goes on from to anywhere.
func TestThunk(t *testing.T) {
	for _, tt := range []struct {
		cpu, listing string
		want         bool
	}{
		{"x86_64", "1000: e8 01 00 00 00 cc 48 89 04 24 c3  call 1006; int3; 1006: mov %rax,(%rsp); ret", true},
		{"x86_64", "1000: ff e0                    jmp *%rax", true},
		{"x86_64", "1000: e9 00 01 00 00 0f b9 cc  jmp 1105; ud1 %esp,%ecx", true},
		{"x86_64", "1000: e9 00 01 00 00 cc cc cc  jmp 1105; int3", false},
		{"x86_64", "1000: ff 25 00 01 00 00        jmp *0x100(%rip), as a PLT stub has it", false},
		{"x86_64", "1000: e8 01 00 00 00 cc 50 c3  call 1006; int3; 1006: push %rax; ret", false},
		{"aarch64", "1000: d61f0200                br x16", false},
	} {
		if got := Thunk(code(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing}), at(0x1000)); got != tt.want {
			t.Errorf("%s: %s: %t", tt.cpu, tt.listing, got)
		}
	}
}

// TestRetpoline: code that overwrites or drops its return address and returns.
func TestRetpoline(t *testing.T) {
	for _, tt := range []struct {
		cpu, listing string
		want         bool
	}{
		{"x86_64", "1000: 48 89 04 24 c3     mov %rax,(%rsp); ret", true},
		{"x86_64", "1000: 48 8d 64 24 08 c3  lea 8(%rsp),%rsp; ret", true},
		{"x86_64", "1000: 48 8d 64 24 10 c3  lea 16(%rsp),%rsp; ret", false},
		{"x86_64", "1000: 48 89 44 24 08 c3  mov %rax,8(%rsp); ret", false},
		{"x86_64", "1000: 50 c3              push %rax; ret", false},
		{"x86_64", "1000: 48 89 04 24 eb 02 cc cc c3  mov %rax,(%rsp); jmp 1008; 1008: ret", true},
		{"x86_64", "1000: 48 89 04 24 eb 02 cc cc 50  mov %rax,(%rsp); jmp 1008; 1008: push %rax", false},
		{"i386", "1000: 89 04 24 c3          mov %eax,(%esp); ret", true},
		{"aarch64", "1000: f90003e0 d65f03c0  str x0,[sp]; ret", false},
	} {
		if got := Retpoline(code(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing}), at(0x1000)); got != tt.want {
			t.Errorf("%s: %s: %t", tt.cpu, tt.listing, got)
		}
	}
}
