package absint

import (
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// run executes the instructions of a program from 1000 on, one after another.
func run(c disasm.Code, m *Interp, st *State) {
	cur := disasm.NewCursor(c)
	cur.Seek(disasm.Addr{PC: 0x1000})
	for pc := uint64(0x1000); ; {
		in := cur.Next(pc)
		if in == nil {
			return
		}
		m.Exec(st, in, pc)
		pc += uint64(in.Len)
	}
}

// TestExec: what instructions leave in a register, in terms of the registers before.
func TestExec(t *testing.T) {
	for _, tt := range []struct {
		name, cpu, listing, reg string
		want                    func(start func(string) Value) Value
	}{
		{"pushes", "x86_64", "1000: 53 48 83 ec 20        push %rbx; sub $32,%rsp", "rsp",
			func(s func(string) Value) Value { return s("rsp").Plus(-40) }},
		{"leave", "x86_64", "1000: 55 48 89 e5 50 c9      push %rbp; mov %rsp,%rbp; push %rax; leave", "rsp",
			func(s func(string) Value) Value { return s("rsp") }},
		{"what was pushed is popped", "x86_64", "1000: 53 31 db 5b        push %rbx; xor %ebx,%ebx; pop %rbx", "rbx",
			func(s func(string) Value) Value { return s("rbx") }},
		{"what a call clobbers", "x86_64", "1000: e8 00 10 00 00           call 2005", "rax",
			func(func(string) Value) Value { return Value{} }},
		{"what a call preserves", "x86_64", "1000: e8 00 10 00 00          call 2005", "rbx",
			func(s func(string) Value) Value { return s("rbx") }},
		{"a call of the next instruction", "i386", "1000: e8 00 00 00 00 5b  call 1005; pop %ebx", "ebx",
			func(func(string) Value) Value { return Const(0x1005) }},
		{"bal .+8", "mips o32 big", "1000: 04110001 00000000 03e04025  bal 1008; nop; move t0,ra", "ra",
			func(func(string) Value) Value { return Const(0x1008) }},
		{"a constant in two halves", "mips o32 big", "1000: 3c020041 24428000  lui v0,0x41; addiu v0,v0,-32768", "v0",
			func(func(string) Value) Value { return Const(0x40_8000) }},
		{"a frame of more than 32 KiB", "mips o32 big", "1000: 34028000 03a2e823  li v0,0x8000; subu sp,sp,v0", "sp",
			func(s func(string) Value) Value { return s("sp").Plus(-0x8000) }},
		{"a conditional move", "arm", "1000: 01a04005                 moveq r4,r5", "r4",
			func(func(string) Value) Value { return Value{} }},
		{"gp behind a call", "mips o32 big", "1000: 3c1c0041 0c000800 00000000 00000000  lui gp,0x41; jal 2000; nop; nop", "gp",
			func(func(string) Value) Value { return Const(0x41_0000) }},
		{"a literal", "arm", "1000: e51f0008 e320f000             ldr r0,[pc,#-8]; nop", "r0",
			func(func(string) Value) Value { return Const(-0x1ae0fff8) }},
		{"another stack", "x86_64", "1000: 48 8b 27               mov (%rdi),%rsp", "rsp",
			func(s func(string) Value) Value { v := s("rdi"); v.Kind = StartMemory; return v }},
		{"pointer authentication", "aarch64", "1000: d503233f             paciasp", "x30",
			func(s func(string) Value) Value { return s("x30") }},
	} {
		c := code(t, tt.cpu, tt.listing)
		m := New(c)
		var st State
		st.Start(c.Arch)
		run(c, &m, &st)
		want := tt.want(func(name string) Value { return StartOf(reg(t, c, name)) })
		if got := st.Regs[reg(t, c, tt.reg)]; got != want {
			t.Errorf("%s: %s is %+v, want %+v", tt.name, tt.reg, got, want)
		}
	}
}

// TestCallForgetsLimit: a comparison in front of a call bounds no table behind the call.
func TestCallForgetsLimit(t *testing.T) {
	c := code(t, "x86_64", "1000: 83 ff 03 e8 00 10 00 00  cmp $3,%edi; call 2008")
	m := New(c)
	var st State
	st.Start(c.Arch)
	if run(c, &m, &st); st.Limit != 0 {
		t.Errorf("a table has %d elements", st.Limit)
	}
}

// TestConstantIndex: a table is not indexed by a constant; where one seems to be, the path
// is one of several, or none.
func TestConstantIndex(t *testing.T) {
	c := code(t, "x86_64", "1000: c3")
	rax := reg(t, c, "rax")
	var st State
	st.Start(c.Arch)
	st.Regs[rax] = Const(-7)
	in := cpu.Insn{Op: cpu.OpLoad, Base: cpu.NoReg, Index: rax, Scale: 3, Imm: 0x4000, Size: 8, Dst: rax}
	if v := st.Operand(&in); v != (Value{Kind: TableAddress, Off: 0x4000}) {
		t.Errorf("the element is at %+v", v)
	}
	in.Scale = 0
	if v := st.Operand(&in); v != Const(0x3ff9) {
		t.Errorf("a byte is at %+v", v)
	}
}

// TestTableElements: the steps from a table's element to a jump's target.
func TestTableElements(t *testing.T) {
	c := code(t, "aarch64", `
		1000: 90000000  adrp  x0,1000
		1004: 91404000  add   x0,x0,#16,lsl #12
		1008: 78617801  ldrh  w1,[x0,x1,lsl #1]
		100c: 10000002  adr   x2,100c
		1010: 8b21a841  add   x1,x2,w1,sxth #2`)
	m := New(c)
	var st State
	st.Start(c.Arch)
	st.Regs[reg(t, c, "x1")] = Value{}
	st.Limit = 5
	run(c, &m, &st)
	v := st.Regs[reg(t, c, "x1")]
	if v.Kind != TableElement {
		t.Fatalf("x1 is %+v", v)
	}
	want := JumpTable{At: 0x11000, Size: 2, Signed: true, Shift: 2, Rel: 0x100c, HasRel: true, Limit: 5}
	if got := m.JumpTables.Table(v); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestManyTables: an analysis that meets more tables than there is room for knows nothing
// of the rest.
func TestManyTables(t *testing.T) {
	var ts JumpTables
	for i := range uint64(2 * maxTables) {
		v := ts.Element(JumpTable{At: i})
		if (v.Kind == TableElement) != (i < maxTables) || v.Kind == TableElement && ts.Table(v).At != i {
			t.Fatalf("the element of table %d is %+v", i, v)
		}
	}
	if v := ts.Element(JumpTable{At: 1}); v.Kind != TableElement || v.Off != 1 {
		t.Errorf("a table that is known has another number: %+v", v)
	}
}

// realigned is code that aligns its stack, and jumps through a table.
const realigned = `
	1000: 48 83 e4 e0              and  $-32,%rsp
	1004: 53                       push %rbx
	1005: 48 8b 04 c5 00 40 00 00  mov  0x4000(,%rax,8),%rax`

// TestSymbols: a stack pointer that an instruction makes unknown is one unknown, the same
// each time; there is room for so many.
func TestSymbols(t *testing.T) {
	c := code(t, "x86_64", realigned)
	m, sp := New(c), c.Arch.SP
	var first, again State
	first.Start(c.Arch)
	run(c, &m, &first)
	again.Start(c.Arch)
	run(c, &m, &again)
	if v := first.Regs[sp]; v.Kind != StartRelative || v.OfRegister() || v.Off != -8 || again.Regs[sp] != v {
		t.Errorf("SP is %+v, then %+v", v, again.Regs[sp])
	}
	if v := first.Load(first.Regs[sp], 8); v != StartOf(reg(t, c, "rbx")) {
		t.Errorf("rbx is saved as %+v", v)
	}
	known := map[Base]bool{}
	for pc := range uint64(1000) {
		if v := m.symbol(pc); v.Kind != Unknown {
			known[v.Base] = true
		}
	}
	if len(known) >= maxSymbols || len(known) < 100 {
		t.Errorf("%d symbols", len(known))
	}
}

// TestFrozen: goroutines replay what an interpreter has executed and find the same; what the
// interpreter has not met stays unknown.
func TestFrozen(t *testing.T) {
	c := code(t, "x86_64", realigned)
	m := New(c)
	var was State
	was.Start(c.Arch)
	run(c, &m, &was)
	frozen := m.Frozen()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			var st State
			st.Start(c.Arch)
			run(c, &frozen, &st)
			if st.Regs != was.Regs || st.Join(&was) {
				t.Errorf("%+v, want %+v", st, was)
			}
			if v := frozen.symbol(0x2000); v.Kind != Unknown {
				t.Errorf("a replay makes the symbol %+v", v)
			}
			if v := frozen.JumpTables.Element(JumpTable{At: 0x9000}); v.Kind != Unknown {
				t.Errorf("a replay adds the table %+v", v)
			}
		})
	}
	all.Wait()
	if m.symbol(0x2000).Kind == Unknown {
		t.Error("the interpreter itself is frozen")
	}
}

// TestFileWord: of words in writable memory, those that the linker alone decides are numbers, even 0; others
// may have changed since.
func TestFileWord(t *testing.T) {
	c := disasm.Of(codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x41_0000: {0x42_0000, 0, 0x42_0000, 0}},
		Linked: []uint64{0x41_0000, 0x41_0004}, Listing: `
	1000 <f>:
		1000: 3c020041  lui v0,0x41
		1004: 8c430000  lw  v1,0(v0)
		1008: 8c440004  lw  a0,4(v0)
		100c: 8c450008  lw  a1,8(v0)
		1010: 8c46000c  lw  a2,12(v0)`}.Image(t))
	m := New(c)
	var st State
	st.Start(c.Arch)
	run(c, &m, &st)
	for reg, want := range map[string]Value{"v1": Const(0x42_0000), "a0": Const(0), "a1": {Kind: Constant, Base: FromWritable, Off: 0x42_0000}, "a2": {}} {
		if r, _ := c.Arch.RegByName(reg); st.Get(r) != want {
			t.Errorf("%s: %+v, want %+v", reg, st.Get(r), want)
		}
	}
}
