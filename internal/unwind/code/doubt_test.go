package code

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// TestDoubtIsInherited: what only a guess leads to, by however sure a jump, gives way
// to what is known.
func TestDoubtIsInherited(t *testing.T) {
	const guess, shared = text + 0x10, text + 0x20
	an := mips(t, []uint64{text},
		0x10000007, // b 400020
		nop, nop, nop,
		0x10000003, // 400010: b 400020
		nop, nop, nop,
		jrRA, // 400020
		nop)
	frame := &openJump{}
	frame.st.reset(an.arch)
	frame.st.regs[an.arch.SP] = startOf(an.arch.SP).plus(-24)
	f := analyzeFrom(an, text, 0, frame, guess)
	b, _ := f.at(shared)
	if b == nil || !b.in.regs[an.arch.SP].isStart(an.arch.SP) || b.via != edgeJump {
		t.Errorf("the shared block begins with %+v", b)
	}
	alone := analyzeFrom(mips(t, []uint64{text}, jrRA, nop, nop, nop, 0x10000003, nop, nop, nop, jrRA, nop), text, 0, frame, guess)
	if b, _ := alone.at(shared); b == nil || b.via != edgeGap {
		t.Errorf("what only a guess leads to: %+v", b)
	}
}

// TestConstantIndex: a table is not indexed by a constant; where one seems to be, the
// path is one of several, or none.
func TestConstantIndex(t *testing.T) {
	an := New(nil).of(program(arch(t, "x86_64", "", false), []byte{0xc3}, nil, text))
	m := newMachine(an.img)
	rax, _ := an.arch.RegByName("rax")
	var st state
	st.reset(an.arch)
	st.regs[rax] = constant(-7)
	in := cpu.Insn{Op: cpu.OpLoad, Base: cpu.NoReg, Index: rax, Scale: 3, Imm: 0x4000, Size: 8, Dst: rax}
	if v := m.operand(&st, &in); v != (value{kind: indexed, off: 0x4000}) {
		t.Errorf("the element is at %+v", v)
	}
}

// TestLandingPad: code that uses what its function left in rbx, calls and never
// returns is no function, whatever points at it: no answer beats CFA=rsp+8.
func TestLandingPad(t *testing.T) {
	const pad = text + 0x10
	code := bytes.Repeat([]byte{0x90}, 0x40)
	copy(code, "\xc3")
	copy(code[0x10:], "\xf7\x03\x00\x80\x00\x00"+ // testl $0x8000,(%rbx)
		"\x75\x07"+ // jne
		"\x48\x8b\xbb\x88\x00\x00\x00"+ // mov 0x88(%rbx),%rdi
		"\xe8\x0c\x00\x00\x00") // call resume
	copy(code[0x30:], "\x0f\x0b") // resume: ud2
	data := image.Segment{Addr: 0x41_0000, Size: 8, Data: binary.LittleEndian.AppendUint64(nil, pad), Read: true}
	an := New(nil).of(program(arch(t, "x86_64", "", false), code, []image.Segment{data}, text, text+0x30))
	for _, pc := range []uint64{pad, pad + 8, pad + 15} {
		if got := first(t, an, pc); got != "none" {
			t.Errorf("at %#x: %s", pc, got)
		}
	}
}
