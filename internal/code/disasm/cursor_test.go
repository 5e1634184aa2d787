package disasm

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/codetest"
)

func at(pc uint64) Addr { return Addr{PC: pc} }

func code(t testing.TB, p codetest.Program) Code { return Of(p.Image(t)) }

// TestDecodeTogether: instructions that a decoder reads together are read together where
// they meet the end of what is decoded at a time.
func TestDecodeTogether(t *testing.T) {
	for _, tt := range []struct {
		name    string
		mode    cpu.Mode
		listing string
		want    [2]cpu.Insn // what begins the next run: Op and Flags
	}{
		{"a call in two instructions", 0, `
			400000: e2800001  add r0,r0,#1
			400004: e2800001  add r0,r0,#1
			400008: e1a0e00f  mov lr,pc
			40000c: e12fff13  bx  r3`,
			[2]cpu.Insn{{Op: cpu.OpConst, Flags: cpu.FlagAddress}, {Op: cpu.OpCall}}},
		{"an IT block", 1, `
			400000: 3001  adds  r0,#1
			400002: 3001  adds  r0,#1
			400004: bf08  it    eq
			400006: 4605  moveq r5,r0
			400008: 4770  bx    lr`,
			[2]cpu.Insn{{Op: cpu.OpNop}, {Op: cpu.OpMove, Flags: cpu.FlagConditional}}},
	} {
		c := code(t, codetest.Program{CPU: "arm", Listing: tt.listing})
		var buf [3]cpu.Insn
		if n := c.decodeRun(Addr{0x400000, tt.mode}, buf[:]); n != 2 {
			t.Fatalf("%s: %d instructions at a time", tt.name, n)
		}
		c.decodeRun(Addr{0x400000 + uint64(buf[0].Len+buf[1].Len), tt.mode}, buf[:])
		for i, want := range tt.want {
			if got := buf[i]; got.Op != want.Op || got.Flags != want.Flags {
				t.Errorf("%s: instruction %d has op %v, flags %#x", tt.name, i, got.Op, got.Flags)
			}
		}
	}
}

// TestAheadInBlock: in an IT block at the end of what is decoded, the instructions ahead are
// as conditional as they are behind the IT.
func TestAheadInBlock(t *testing.T) {
	c := code(t, codetest.Program{CPU: "arm", Listing: `
		400000: 2800  cmp   r0,#0
		400002: bf1c  itt   ne
		400004: b003  addne sp,#12
		400006: bd30  popne {r4,r5,pc}`})
	cur := NewCursor(c)
	cur.Seek(Addr{0x400000, 1})
	for pc := uint64(0x400000); pc <= 0x400004; pc += 2 {
		cur.Next(pc)
	}
	for i, in := range cur.Ahead(0x400004) {
		if in.Flags&cpu.FlagConditional == 0 {
			t.Errorf("number %d ahead of addne is not conditional", i)
		}
	}
}

// counted is MIPS code of more instructions than a cursor decodes at a time, the number i
// of which sets v0 to i.
func counted(t testing.TB, n int) Code {
	img := codetest.Program{CPU: "mips o32 big", Listing: "1000: 00000000"}.Image(t)
	s := &img.Segments[0]
	s.Data = nil
	for i := range n {
		s.Data = append(s.Data, 0x24, 0x02, byte(i>>8), byte(i)) // li v0,i
	}
	s.Size = uint64(len(s.Data))
	return Of(img)
}

// TestCursor: a cursor reads what stands where it was sent to, wherever it was before.
func TestCursor(t *testing.T) {
	const n = 3 * window
	cur := NewCursor(counted(t, n))
	for _, from := range []int{0, 5, 2, window - 1, window, 0, 2 * window, n - 1, 1} {
		pc := 0x1000 + 4*uint64(from)
		cur.Seek(at(pc))
		for i := from; i < n; i++ {
			in := cur.Next(pc)
			if in == nil || in.Imm != int64(i) || cur.Last() != in {
				t.Fatalf("from %d: instruction %d is %+v", from, i, in)
			}
			pc += 4
		}
		if in := cur.Next(pc); in != nil {
			t.Errorf("behind the code stands %+v", in)
		}
	}
}

// TestStepAndAhead: the delay slot and what comes next, wherever the decoded run ends. Each instruction is
// a branch, the number i over i instructions.
func TestStepAndAhead(t *testing.T) {
	const n = 2*window + 3
	img := codetest.Program{CPU: "mips o32 big", Listing: "1000: 00000000"}.Image(t)
	s := &img.Segments[0]
	s.Data, s.Size = nil, 4*n
	for i := range n {
		s.Data = append(s.Data, 0x14, 0x80, 0, byte(i)) // bnez a0
	}
	is := func(in *cpu.Insn, i int) bool { return in.Target == 0x1000+4*uint64(2*i+1) }
	for i := range n {
		cur := NewCursor(Of(img))
		cur.Seek(at(0x1000))
		for pc := uint64(0x1000); pc <= 0x1000+4*uint64(i); pc += 4 {
			cur.Next(pc)
		}
		pc := 0x1000 + 4*uint64(i)
		if ahead := cur.Ahead(pc); !is(&ahead[0], i) || len(ahead) < min(window/2, n-i) {
			t.Fatalf("%d instructions ahead of number %d, the first branches to %#x", len(ahead), i, ahead[0].Target)
		}
		step := cur.Step(cur.Last(), pc)
		if last := i == n-1; !is(step.In, i) || step.Cut != last || (step.Slot == nil) != last || !last && (!is(step.Slot, i+1) || step.Next != pc+8) {
			t.Fatalf("the step of instruction %d is %+v", i, step)
		}
		if next := cur.Next(step.Next); !step.Cut && (next == nil) != (i+2 >= n) || next != nil && !is(next, i+2) {
			t.Fatalf("behind the slot of instruction %d stands %+v", i, next)
		}
	}
}
