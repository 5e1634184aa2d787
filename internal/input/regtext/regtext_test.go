package regtext

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/phrases"
)

// vocabulary knows registers as ARM and RISC-V name them.
func vocabulary() *Vocabulary {
	var arm, riscv cpu.Arch
	for i := range 13 {
		arm.Regs = append(arm.Regs, cpu.RegInfo{Names: []string{fmt.Sprintf("r%d", i)}})
	}
	for _, n := range []string{"sp r13", "lr r14", "pc r15", "xpsr psr"} {
		arm.Regs = append(arm.Regs, cpu.RegInfo{Names: strings.Fields(n)})
	}
	for _, n := range []string{"ra x1", "sp x2", "gp x3", "a0 x10", "s0 fp", "pc mepc epc"} {
		riscv.Regs = append(riscv.Regs, cpu.RegInfo{Names: strings.Fields(n)})
	}
	return NewVocabulary(cpu.Set{&arm, &riscv})
}

func values(v *Vocabulary, line string) string {
	var out []string
	for _, val := range v.Line(nil, line) {
		out = append(out, fmt.Sprintf("%s=%x", val.Name, val.Value))
	}
	return strings.Join(out, " ")
}

// TestForms: one line of each form of the package's comment, and lines that only look so.
func TestForms(t *testing.T) {
	v := vocabulary()
	for _, c := range []struct{ line, want string }{
		{"  R12: ffffffff  LR : 00000185  PC : 0000016c  PSR: 010c0000", "r12=ffffffff lr=185 pc=16c psr=10c0000"},
		{"[00:00:00.010,000] <err> os: r3/a4:  0x20000648 r12/ip:  0x00000000 r14/lr:  0x0000a0f5", "r3=20000648 r12=0 r14=a0f5"},
		{"Faulting instruction address (r15/pc): 0x000004a0", "pc=4a0"},
		{"PC: 0033:0x47b7a0 SP: 002b:00007fff271507e8", "pc=47b7a0 sp=7fff271507e8"},
		{"PC: 0010:leaf+0xc/0x20 [toy]", ""},
		{"LR [R14] = 8000b1d  subroutine call return address", "lr=8000b1d"},
		{"R   0: 0000002A", "r0=2a"},
		{"r01: 0x20000010", "r1=20000010"},
		{"up_registerdump: R0: 00000000 20003a80 00000001", "r0=0 r1=20003a80 r2=1"},
		{"MEPC    : 0x42006e56  RA      : 0x42006e50  S0/FP   : 0x00000000", "mepc=42006e56 ra=42006e50 s0=0"},
		{"(15) pc (/32): 0x08000184", "pc=8000184"},
		{"SP(R13)= 20001FB0, R14(LR) = 080001BB", "sp=20001fb0 r14=80001bb"},
		{"pc             0x8000184           0x8000184 <main+12>", "pc=8000184"},
		{"trap: mcause 5 mepc 800001cc mtval 10", "mcause=5 mepc=800001cc mtval=10"},
		{"x1  00000000800001e6 x2  0000000080006720", "x1=800001e6 x2=80006720"},
		{"BFAR Address: 0x50008158", "bfar=50008158"},
		{"SCB_CFSR_BFSR:0x82 PRECISERR", "bfsr=82"},
		{"Cause: Bad memory access", ""},
		{"  Code was executing from address 0x1C6A", "pc=1c6a"},
		{"CFSR (Configurable Fault Status): 0x00000082", "cfsr=82"},
		{"<error> hardfault: HARD FAULT at 0x0002F1A0", "pc=2f1a0"},
		{"panic: runtime error at 0x08001f40: index out of range", "pc=8001f40"},
		{" exe return:0xffffffe9", "exc_return=ffffffe9"},
		{"xpsr: 0x61000000 Faulting instruction address (r15/pc): 0x000004a0", "xpsr=61000000 pc=4a0"},
		{"Unexpected trap: Context { ra: 1107303842, mepc: 0x42, a0: 7fff }", "ra=42001da2 mepc=42 a0=7fff"},
		{"fault { pc: 08000184, lr: 0800012b } sp=20001fb0", "pc=8000184 lr=800012b sp=20001fb0"},
		{"reg[08](s0/fp) = 0x00000000803a8fd0, reg[01](ra   ) = 0x00000000800fb2cc", "s0=803a8fd0 ra=800fb2cc"},
		{"Interrupt sp: 20001000", ""},
		{"#03 pc 000a96ec  /lib/ld-musl.so", ""},
		{"The bus fault occurred address is a0000000", "bfar=a0000000"},
		{"the sp is 12", ""},
		{"a0 10 20 30", ""},
		{"pc: nothing", ""},
		{"pc: 0x80001g84", ""},
	} {
		if got := values(v, c.line); got != c.want {
			t.Errorf("%q: %s; want %s", c.line, got, c.want)
		}
	}
}

// TestMemory: rows of memory as handlers and debuggers print them, and lines that only look alike.
func TestMemory(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"200029c0: 00000004 00007eb4", "200029c0 04000000b47e0000"},
		{"3fc8f7f0: 0x00000000 0x42015f8a", "3fc8f7f0 000000008a5f0142"},
		{"  addr: 20002b00    data: 20002b32", "20002b00 322b0020"},
		{"arm_stackdump: 20003a80: 00000000 0800b0cd", "20003a80 00000000cdb00008"},
		{"0x20000000 | 00 30 00 20 c1 01 00 08  .0. ....", "20000000 00300020c1010008"},
		{"0000000080006720: 0000000000000001", "80006720 0100000000000000"},
		{"[0]Stack interval :[0x000000008000ab50 - 0x000000008000abb0]", ""},
		{"0x200210b8 0x20021100", "200210b8 00110220"},
		{"0x200210b9 0x20021100", ""},
		{"12:34:56 boot", ""},
		{"20002b00: hello", ""},
	} {
		r, ok := Memory(c.line)
		got := ""
		if ok {
			got = fmt.Sprintf("%x %x", r.Addr, r.Bytes(false))
		}
		if got != c.want {
			t.Errorf("%q: %q; want %q", c.line, got, c.want)
		}
	}
}

// FuzzLine: any line; what is found stands in the line.
func FuzzLine(f *testing.F) {
	f.Add("r0/a1:  0x00000004  pc [r15] = 8 sp(r13)= 20")
	f.Add("R0: 00000000 20003a80\taddr: 20002b00    data: 20002b32")
	v := vocabulary()
	f.Fuzz(func(t *testing.T, line string) {
		if got := v.Line(nil, line); len(got) > len(line) {
			t.Errorf("%d registers", len(got))
		}
		if r, ok := Memory(line); ok && len(r.Words) > len(line) {
			t.Errorf("%d words", len(r.Words))
		}
	})
}

// TestSigns: each line in which Line finds a register that is enough, or two of any name, has a sign.
func TestSigns(t *testing.T) {
	v := vocabulary()
	enough := func(name string) bool { return name == "pc" }
	list := v.Signs(enough)
	for i := range list {
		list[i].For = 1
	}
	signs := phrases.NewSigns(list)
	for _, line := range []string{"PC: 1", "at pc=12", "lr 0x1 sp 0x2", "a device's pc [R15] = 8000b1d", "r3/a4:  0x20000648", "R   0: 00000000", "x _pc (address): 1",
		"HARD FAULT at 12345678", "pc" + strings.Repeat(" ", 300) + "0x12345678"} {
		if signs.In([]byte(line)) == 0 {
			t.Errorf("%q has no sign", line)
		}
	}
	for _, line := range []string{"", "pc", "ipc: 1", "pc: x", "pc is here", "a sp 0x1234", "xpc 12345678", "pc 1234"} {
		if signs.In([]byte(line)) != 0 {
			t.Errorf("%q has a sign", line)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"pc", "SP", "r3", "R 4", "lr/ra", "mcause", " ", " ", ":", " = ", "0x12", "12345678", "4", "(r15)", "[x]", "_", "/", "address", "0010:", "[<", ">]", "- ", "x", "\t", "user "}
	for range 20_000 {
		line := ""
		for range 1 + r.IntN(9) {
			line += pieces[r.IntN(len(pieces))]
		}
		found := v.Line(nil, line)
		if matters := len(found) > 1 || len(found) == 1 && enough(found[0].Name); matters && signs.In([]byte(line)) == 0 {
			t.Fatalf("%q has no sign of %v", line, found)
		}
	}
}
