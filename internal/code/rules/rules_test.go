package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
)

func at(pc uint64) disasm.Addr { return disasm.Addr{PC: pc} }

// analysis is that of a program.
func analysis(t testing.TB, p codetest.Program) *dataflow.Analysis { return ofImage(p.Image(t)) }

func ofImage(img *image.Image) *dataflow.Analysis {
	c := disasm.Of(img)
	entries := discover.New(c, nil)
	tables := heights.New(c, entries)
	return dataflow.New(c, entries, tables.Effects(), tables)
}

// exact is a query for a place at which a thread stopped, resuming one for a place at which
// a thread will go on.
func exact(an *dataflow.Analysis, pc uint64) *stackwalk.Query {
	return &stackwalk.Query{Image: an.Img, Arch: an.Arch, PC: pc, Resume: pc, Exact: true}
}

func resuming(an *dataflow.Analysis, pc uint64) *stackwalk.Query {
	return &stackwalk.Query{Image: an.Img, Arch: an.Arch, PC: pc - 1, Resume: pc}
}

// framePointer is a function with everything that rules are about: a frame pointer, saved
// registers, a call.
const framePointer = `
	1000 <f>:
		1000: 55           push %rbp
		1001: 48 89 e5     mov  %rsp,%rbp
		1004: 53           push %rbx
		1005: 48 83 e4 e0  and  $-32,%rsp
		1009: ff d0        call *%rax
		100b: 48 8b 5d f8  mov  -8(%rbp),%rbx
		100f: c9           leave
		1010: c3           ret`

// fromState is the rule at a place of the function at 0x1000.
func fromState(t *testing.T, an *dataflow.Analysis, q *stackwalk.Query) string {
	t.Helper()
	p, ok := PointOf(an.Code, q)
	var st absint.State
	var r stackwalk.Rule
	r.Reset()
	if !ok || !p.StateIn(an.Function(at(0x1000)), &st) || !FromState(&st, an.Arch, &r) {
		t.Fatalf("%x: no rule", q.PC)
	}
	return r.Format(an.Arch)
}

// TestFromState: what is true at a place, as a rule over the registers that hold it.
func TestFromState(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "x86_64", Listing: framePointer})
	for _, tt := range []struct {
		q    *stackwalk.Query
		want string
	}{
		{exact(an, 0x1000), "CFA=rsp+8 RA=[CFA-8]"},
		{exact(an, 0x1001), "CFA=rsp+16 RA=[CFA-8]"},
		{exact(an, 0x1004), "CFA=rsp+16 RA=[CFA-8] rbp=[CFA-16]"},
		{exact(an, 0x1009), "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]"},
		{resuming(an, 0x100b), "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]"}, // rbx still has its value
		{exact(an, 0x1010), "CFA=rsp+8 RA=[CFA-8]"},
	} {
		if got := fromState(t, an, tt.q); got != tt.want {
			t.Errorf("%x: %s, want %s", tt.q.PC, got, tt.want)
		}
	}
}

// TestPreservedBase: where the stack pointer has moved by an unknown size, the CFA is found by the register
// that the function keeps for that, not by one that holds a variable's address for a while, preserved or not.
func TestPreservedBase(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
		1000 <f>:
			1000: 27bdffe0  addiu sp,sp,-32
			1004: afbe001c  sw    s8,28(sp)
			1008: 03a0f025  move  s8,sp
			100c: afb00018  sw    s0,24(sp)
			1010: 03a4e823  subu  sp,sp,a0
			1014: 27c20010  addiu v0,s8,16
			1018: 27d00008  addiu s0,s8,8
			101c: 03c0e825  move  sp,s8
			1020: 8fb00018  lw    s0,24(sp)
			1024: 8fbe001c  lw    s8,28(sp)
			1028: 03e00008  jr    ra
			102c: 27bd0020  addiu sp,sp,32`})
	if got, want := fromState(t, an, exact(an, 0x101c)), "CFA=s8+32 RA=ra s0=[CFA-8] s8=[CFA-4]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSavedBase: a function that never returns saves the frame pointer alone, and neither do those that it calls
// save more. s0 has the room that alloca has made, below where s8 points, and is another's when the call is looked at.
func TestSavedBase(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
		1000 <f>:
			1000: 27bdffe0  addiu sp,sp,-32
			1004: afbf001c  sw    ra,28(sp)
			1008: afbe0018  sw    s8,24(sp)
			100c: 03a0f025  move  s8,sp
			1010: 27bdfff0  addiu sp,sp,-16
			1014: 03a08025  move  s0,sp
			1018: 03a4e823  subu  sp,sp,a0
			101c: 0040f809  jalr  v0
			1020: 00000000  nop
			1024: 1000fffd  b     101c
			1028: 00000000  nop`})
	if got, want := fromState(t, an, resuming(an, 0x1024)), "CFA=s8+32 RA=[CFA-4] s0=undefined s8=[CFA-8]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestKeptInRegister: a function that has its return address in a register, and outside of its frame, has it there.
func TestKeptInRegister(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "arm", Listing: `
		1000 <f>:
			1000: e58be0d8  str  lr,[fp,#216]
			1004: e1a0400e  mov  r4,lr
			1008: e12fff37  blx  r7
			100c: e59ba008  ldr  sl,[fp,#8]
			1010: e12fff14  bx   r4`})
	if got, want := fromState(t, an, resuming(an, 0x100c)), "CFA=sp RA=r4 r4=undefined"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestReleasedSlot: what Linux's ftrace_caller saved of RISC-V's registers below the function's frame
// is not where the frame has the return address.
func TestReleasedSlot(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "riscv64", Listing: `
		1000 <f>:
		1030 <tracer>:
			1000: 030002ef  jal  t0,1030
			1004: 1101      addi sp,sp,-32
			1006: ec06      sd   ra,24(sp)
			1008: 9502      jalr a0
			100a: 60e2      ld   ra,24(sp)
			100c: 6105      addi sp,sp,32
			100e: 8082      ret
			1030: 7139      addi sp,sp,-64
			1032: e006      sd   ra,0(sp)
			1034: 6082      ld   ra,0(sp)
			1036: 6121      addi sp,sp,64
			1038: 8282      jr   t0`})
	if got, want := fromState(t, an, resuming(an, 0x100a)), "CFA=sp+32 RA=[CFA-8]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestStatesWithoutRules: registers that are lost, and frames that cannot be.
func TestStatesWithoutRules(t *testing.T) {
	a := analysis(t, codetest.Program{CPU: "aarch64", Listing: "1000: d65f03c0"}).Arch
	x19, _ := a.RegByName("x19")
	sp := absint.StartOf(a.SP)
	for _, tt := range []struct {
		name   string
		change func(st *absint.State)
		want   string
	}{
		{"nothing happened", func(*absint.State) {}, "CFA=sp RA=x30"},
		{"SP is nowhere", func(st *absint.State) { st.Regs[a.SP] = absint.Value{} }, "none"},
		{"SP is in another register", func(st *absint.State) { st.Regs[a.SP], st.Regs[9] = absint.Value{}, sp }, "CFA=x9 RA=x30"},
		{"the old SP is in a slot below an aligned one", func(st *absint.State) {
			aligned := absint.Value{Kind: absint.StartRelative, Base: absint.Base(cpu.MaxRegs)}
			st.Regs[a.SP] = aligned
			st.Store(aligned.Plus(16), sp.Plus(-8), 8)
		}, "CFA=[sp+16]+8 RA=x30"},
		{"the return address is lost", func(st *absint.State) { st.Regs[a.LR] = absint.Value{} }, "none"},
		{"the return address was cleared", func(st *absint.State) { st.Regs[a.LR] = absint.Const(0) }, "CFA=sp RA=0x0"},
		{"the return address is where the caller's frame is", func(st *absint.State) {
			st.Store(sp.Plus(8), absint.StartOf(a.LR), 8)
			st.Regs[a.LR] = absint.Value{}
		}, "none"},
		{"x19 is saved", func(st *absint.State) {
			st.Store(sp.Plus(-8), absint.StartOf(x19), 8)
			st.Regs[x19] = absint.Value{}
		}, "CFA=sp RA=x30 x19=[CFA-8]"},
		{"x19 is in another register", func(st *absint.State) { st.Regs[x19], st.Regs[3] = absint.Value{}, absint.StartOf(x19) }, "CFA=sp RA=x30 x19=x3"},
		{"x19 is lost", func(st *absint.State) { st.Regs[x19] = absint.Value{} }, "CFA=sp RA=x30 x19=undefined"},
	} {
		var st absint.State
		var r stackwalk.Rule
		st.Start(a)
		tt.change(&st)
		r.Reset()
		got := "none"
		if FromState(&st, a, &r) {
			got = r.Format(a)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if lost := strings.Contains(tt.want, "undefined"); Undefines(&r) != lost {
			t.Errorf("%s: a preserved register is given up: %t", tt.name, !lost)
		}
	}
}

// TestFromPath: what a way out implies at the place where it begins, and that this agrees
// with what is true from the entry on.
func TestFromPath(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "x86_64", Listing: framePointer})
	f := an.Function(at(0x1000))
	for _, tt := range []struct {
		pc     uint64
		want   string
		agrees bool
	}{
		{0x100b, "CFA=rbp+16 RA=[CFA-8] rbx=[CFA-24] rbp=[CFA-16]", true},
		{0x100f, "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]", true},
		{0x1010, "CFA=rsp+8 RA=[CFA-8]", true},
	} {
		paths := an.ReturnPaths(at(tt.pc), false)
		if len(paths) != 1 {
			t.Fatalf("%x: %d ways out", tt.pc, len(paths))
		}
		r := FromPath(&paths[0], an.Arch)
		if got := r.Format(an.Arch); got != tt.want {
			t.Errorf("%x: %s, want %s", tt.pc, got, tt.want)
		}
		var st absint.State
		if !f.StateAt(at(tt.pc), &st) || Agrees(&st, &r, an.Arch) != tt.agrees {
			t.Errorf("%x: what the way out says agrees with the way in: %t", tt.pc, !tt.agrees)
		}
	}
}

// TestAgrees: rules that recover the CFA and the return address as the state has them.
func TestAgrees(t *testing.T) {
	mips := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: "1000: 03e00008"}).Arch
	amd64 := analysis(t, codetest.Program{CPU: "x86_64", Listing: "1000: c3"}).Arch
	for _, tt := range []struct {
		arch    *cpu.Arch
		cfa, ra stackwalk.RegRule
		want    bool
	}{
		{mips, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: mips.SP, Off: 24}, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: mips.LR}, true},
		{mips, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: mips.SP, Off: 24}, stackwalk.RegRule{Kind: stackwalk.AtCFA, Off: -4}, true},
		{mips, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: mips.SP, Off: 24}, stackwalk.RegRule{Kind: stackwalk.AtReg, Base: mips.SP, Off: 20}, true},
		{mips, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: mips.SP, Off: 24}, stackwalk.RegRule{Kind: stackwalk.AtCFA, Off: -8}, false},
		{mips, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: mips.SP, Off: 16}, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: mips.LR}, false},
		{amd64, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: amd64.SP, Off: 32}, stackwalk.RegRule{Kind: stackwalk.AtCFA, Off: -8}, true},
		{amd64, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: amd64.SP, Off: 32}, stackwalk.RegRule{Kind: stackwalk.AtReg, Base: amd64.SP, Off: 24}, true},
		{amd64, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: amd64.SP, Off: 32}, stackwalk.RegRule{Kind: stackwalk.AtReg, Base: amd64.SP, Off: 16}, false},
		{amd64, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: amd64.SP, Off: 32}, stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: 0}, false},
	} {
		var st absint.State
		var r stackwalk.Rule
		st.Start(tt.arch)
		st.Regs[tt.arch.SP].Off = -24
		st.Store(absint.StartOf(tt.arch.SP).Plus(-4), absint.StartOf(tt.arch.LR), 4)
		r.Reset()
		r.CFA, r.RA = tt.cfa, tt.ra
		if got := Agrees(&st, &r, tt.arch); got != tt.want {
			t.Errorf("%s: %s agrees: %t", tt.arch.Name, r.Format(tt.arch), got)
		}
	}
}

// TestFromHeights: the heights of SP and of the slots, as a rule.
func TestFromHeights(t *testing.T) {
	for _, tt := range []struct {
		cpu, listing string
		want         map[uint64]string
	}{
		{"x86_64", "1000 <f>:\n1000: 53 48 83 ec 10 31 db 48 83 c4 10 5b c3  push %rbx; sub $16,%rsp; xor %ebx,%ebx; add $16,%rsp; pop %rbx; ret",
			map[uint64]string{0x1000: "CFA=rsp+8 RA=[CFA-8]", 0x1001: "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]", 0x1005: "CFA=rsp+32 RA=[CFA-8] rbx=[CFA-16]", 0x100c: "CFA=rsp+8 RA=[CFA-8]"}},
		{"mips o32 big", "1000 <f>:\n1000: 27bdffe8 afbf0014 0c140000 00000000 8fbf0014 03e00008 27bd0018",
			map[uint64]string{0x1000: "CFA=sp RA=ra", 0x1004: "CFA=sp+24 RA=ra", 0x1010: "CFA=sp+24 RA=[CFA-4]", 0x1018: "CFA=sp+24 RA=ra"}},
	} {
		an := analysis(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing})
		for pc, want := range tt.want {
			table, saved := an.Heights.In(at(0x1000), pc)
			var r stackwalk.Rule
			if saved == nil || !FromHeights(table, saved, an.Arch, &r) {
				t.Errorf("%s, %x: no rule", tt.cpu, pc)
				continue
			}
			if got := r.Format(an.Arch); got != want || r.Flags != HeightFlags {
				t.Errorf("%s, %x: %s, want %s", tt.cpu, pc, got, want)
			}
		}
	}
}

// TestPoints: places without code, or without a call before them, are none.
func TestPoints(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: "400000: 0c100000 00000000 03e00008 00000000"})
	for _, tt := range []struct {
		q    *stackwalk.Query
		site uint64 // 0: no place
	}{
		{exact(an, 0x400008), 0x400008},
		{exact(an, 0x400010), 0},
		{exact(an, 0x100), 0},
		{resuming(an, 0x400008), 0x400000},
		{resuming(an, 0x400010), 0},
		{resuming(an, 0), 0},
	} {
		p, ok := PointOf(an.Code, tt.q)
		if ok != (tt.site != 0) || ok && (p.Site != tt.site || p.SiteAddr() != at(tt.site) || p.Addr() != at(tt.q.Resume)) {
			t.Errorf("%x: %t, %+v", tt.q.Resume, ok, p)
		}
	}
}

// TestLostRA: a function that overwrote the return address has been called from one of the
// places that call the function.
func TestLostRA(t *testing.T) {
	listing := `
	1000 <f>:
	1010 <g>:
		1000: 94000004  bl  1010
		1004: 94000003  bl  1010
		1008: d65f03c0  ret
		1010: d503201f  nop
		1014: d280001e  mov x30,#0
		1018: 14000000  b   .`
	for _, tt := range []struct {
		name string
		data map[uint64][]uint64
		want string
	}{
		{"called from two places", nil, "[CFA=sp RA=pc-20 CFA=sp RA=pc-16]"},
		{"data points to it: anybody may have called", map[uint64][]uint64{0x4000: {0x1010}}, "[]"},
	} {
		an := analysis(t, codetest.Program{CPU: "aarch64", Listing: listing, Data: tt.data})
		f := an.Function(at(0x1010))
		p, _ := PointOf(an.Code, exact(an, 0x1018))
		var st absint.State
		if !p.StateIn(f, &st) {
			t.Fatal("not reached")
		}
		got := []string{}
		list, _ := LostRA(an, f, p, &st)
		for _, r := range list {
			got = append(got, r.Format(an.Arch))
			if r.Flags&stackwalk.Inferred == 0 {
				t.Error("the rule is not marked as inferred")
			}
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
}
