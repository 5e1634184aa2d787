package sigframe

import (
	"bytes"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
)

// Listed calls yield with the rule at each instruction, from lo up to hi, of Linux's signal trampolines in an
// image (the C library's sa_restorer, a vDSO), until yield returns false. All registers lie where the kernel
// has left them, relative to SP:
//
//	mov $15, %rax     CFA=[sp+160] RA=[sp+168] rbx=[sp+128] …
//	syscall
//
// The first rule begins a byte early unless a call stands before the trampoline: readers of unwind
// tables look a return address up by the byte before (glibc's own table of __restore_rt begins a byte
// early, too).
func Listed(img *image.Image, yield func(lo, hi uint64, mode cpu.Mode, r *stackwalk.Rule) bool) {
	layout, ok := img.Arch.Layouts[cpu.LinuxSigcontext]
	if !ok || img.System == system {
		return
	}
	for i := range img.Segments {
		s := &img.Segments[i]
		if !s.Exec {
			continue
		}
		for k := range trampolinesOf(img.Arch) {
			t := &trampolinesOf(img.Arch)[k]
			if t.abi == "" || t.abi == img.Arch.ABI {
				t.each(img, s, func(at uint64) bool { return t.list(img, &layout, at, yield) })
			}
		}
	}
}

// each finds a trampoline's instructions in a segment, in either byte order.
func (t *trampoline) each(img *image.Image, s *image.Segment, found func(at uint64) bool) {
	align := img.Arch.InsnAlignIn(t.mode)
	for _, big := range [2]bool{true, false} {
		first := t.bytes(&t.code[0], big)
		for at := 0; ; at++ {
			n := bytes.Index(s.Data[at:], first)
			if n < 0 {
				break
			}
			at += n
			if addr := s.Addr + uint64(at); addr%align == 0 && t.ordered(s.Data[at:], 0, big) && !found(addr) {
				return
			}
		}
		if t.unit == 1 {
			return
		}
	}
}

// bytes are those of an instruction as memory has them.
func (t *trampoline) bytes(in *insn, bigEndian bool) (b []byte) {
	for i := range in.size {
		k := i
		if !bigEndian {
			k = i - i%t.unit + t.unit - 1 - i%t.unit
		}
		b = append(b, byte(in.bits>>(8*(in.size-1-k))))
	}
	return b
}

// longestCall is more than any call with its delay slot takes, in bytes.
const longestCall = 16

// list yields the rules of the instructions of a trampoline at an address.
func (t *trampoline) list(img *image.Image, layout *cpu.Layout, at uint64, yield func(lo, hi uint64, mode cpu.Mode, r *stackwalk.Rule) bool) bool {
	lo := at
	if _, called := img.Arch.Decoder.CallBefore(img.Segments.Before(at, longestCall), at, t.mode); !called {
		lo--
	}
	for i, in := range t.code {
		hi := at + uint64(in.size)
		if !yield(lo, hi, t.mode, t.rule(img.Arch, layout, i)) {
			return false
		}
		lo, at = hi, hi
	}
	return true
}

// rule is that before the i-th instruction.
func (t *trampoline) rule(arch *cpu.Arch, layout *cpu.Layout, i int) *stackwalk.Rule {
	r := &stackwalk.Rule{Flags: stackwalk.SignalFrame}
	for _, slot := range layout.Slots {
		at := stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: slot.Reg, Base: arch.SP, Off: t.context - t.moved(i) + int64(slot.Offset)}
		switch slot.Reg {
		case arch.PC:
			at.Reg = cpu.NoReg
			r.RA = at
		case arch.SP:
			at.Reg = cpu.NoReg
			r.CFA = at
		case arch.Status, arch.Zero:
		default:
			r.Add(at)
		}
	}
	return r
}
