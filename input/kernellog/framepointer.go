package kernellog

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// withFirstCaller is a chain without a doubt about the first entry behind the PC, where the PC's function may not have
// made its frame yet. i386's kernels unwind by frame pointers, of which the first is the caller's then: the list
// lacks the caller, and has it among the words that were found on the stack only.
//
//	EIP: leaf_deref+0xd/0x20 [toy]      push ebp; mov eax,[eax]; mov ebp,esp: stopped at the second
//	 ? mid_c+0x15/0x20 [toy]
//	 mid_b+0x41/0x70 [toy]
//
// So it does where a call through a bad pointer led to no function at all: the kernel takes what calls of address 0
// pushed for a frame, and of no other (arch/x86/kernel/unwind_frame.c).
//
//	EIP: 0x12345678
//	 ? call_ptr+0x22/0x30 [toy]
//	 ptr_b+0xd/0x20 [toy]
//
// The entry is a guess all the same. Where the code of the PC's function is known, code tells. A tracer's trampoline
// is listed as the end of the function that lies before: ftrace_graph_caller+0x1c/0x1c.
func withFirstCaller(listed []target.Listed, r *record, b *binaries) []target.Listed {
	pc := r.reg("eip")
	if b.arch.Name != "i386" || pc == nil || len(listed) == 0 || !listed[0].Exact || madeFrame(r, pc, b.arch) {
		return listed
	}
	if m := b.moduleOf(&pc.at); pc.at.symbol != "" && m != nil && m.Image != nil {
		return listed
	}
	first := 0
	for i := 1; i < len(listed); i++ {
		switch l := &listed[i]; {
		case l.Doubtful && first == 0 && l.Offset != l.Size:
			first = i
		case !l.Doubtful && first > 0: // else all are doubted, and not for their places
			listed[first].Doubtful, listed[first].Gap = false, true
			return listed
		case !l.Doubtful:
			return listed
		}
	}
	return listed
}

// maxPrologue bounds the instructions of x86 that make a frame, a call of the tracer in front of them, in bytes.
const maxPrologue = 32

// madeFrame tells whether a function has set its frame pointer before it came to pc: whether the printed code says so,
// or the function is past its first instructions. Where no function is, none did.
func madeFrame(r *record, pc *register, arch *cpu.Arch) bool {
	if pc.at.symbol == "" {
		return !pc.known || pc.value == 0
	}
	if pc.at.offset >= maxPrologue {
		return true
	}
	data, at := r.code.bytes(arch.BigEndian)
	first := at - int(pc.at.offset)
	if !r.hasCode || first < 0 {
		return false
	}
	var buf [maxPrologue]cpu.Insn
	n := arch.Decoder.Decode(data[first:at], 0, 0, buf[:])
	for i := range n {
		if in := &buf[i]; in.Op == cpu.OpMove && in.Dst == arch.FP && in.Src == arch.SP {
			return true
		}
	}
	return false
}
