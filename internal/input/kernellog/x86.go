package kernellog

import (
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// withoutHandlers is a chain without what ran to report the fault. Kernels for x86 whose report is printed on the
// stack that faulted search that stack from the report's own functions on, and doubt what lies before the registers
// of the fault. The last such word is the PC itself, out of those registers:
//
//	RIP: 0010:leaf_deref+0xc/0x20 [toy]
//	 ? __die_body.cold+0x1a/0x1f
//	 ? exc_page_fault+0x78/0x160
//	 ? asm_exc_page_fault+0x1e/0x30
//	 ? leaf_deref+0xc/0x20 [toy]
//	 mid_c+0x13/0x20 [toy]
//
// These entries call one another, and none of them called leaf_deref.
func withoutHandlers(e *evidence, listed []target.Listed) []target.Listed {
	at := e.at
	if pc := e.reg("rip", "eip"); pc != nil {
		at = pc.at
	}
	drop := 0
	for i := range listed {
		if !listed[i].Doubtful {
			break
		}
		if samePlace(&listed[i], &at) {
			drop = i + 1
		}
	}
	return listed[drop:]
}

// believeCaller takes the doubt from the caller of a function that is nowhere. A call through a bad pointer has pushed
// its return address last; that word of the stack is the first entry, which kernels for x86 before Linux 4.15 doubt, for
// no frame pointer leads there.
//
//	RIP: 0010:[<0000000000000000>]  [<          (null)>]           (null)
//	Stack:
//	 ffffffff814e3e4a ffff88021fc03c98
//	Call Trace:
//	 [<ffffffff814e3e4a>] ? toy_call+0x7a/0x350
func believeCaller(e *evidence, listed []target.Listed) []target.Listed {
	pc := e.reg("rip", "eip")
	if pc == nil || !pc.known || pc.at.symbol != "" || len(listed) == 0 || len(e.stack.words) == 0 {
		return listed
	}
	if w := e.stack.words[0]; w.known && w.value == listed[0].PC && listed[0].Offset != 0 {
		listed[0].Doubtful = false
	}
	return listed
}

// withoutShown is a chain without what ran to report the fault where the kernel did not doubt that: before Linux
// 2.6.24 x86's with frame pointers list themselves.
//
//	EIP is at toy_read+0x24/0x50
//	 [<c0103fea>] show_stack+0x7a/0x90
//	 [<c01043a0>] die+0x100/0x190
//	 [<c01170be>] do_page_fault+0x45e/0x644
//	 [<c0103c77>] error_code+0x2b/0x30
//	 [<c015e1e7>] vfs_read+0xc7/0x160
func withoutShown(e *evidence, listed []target.Listed) []target.Listed {
	if len(listed) == 0 || e.reg("eip", "rip") == nil || !strings.HasPrefix(listed[0].Symbol, "show_stack") && listed[0].Symbol != "show_trace" {
		return listed
	}
	for i := range listed {
		if entersKernel(listed[i].Symbol) && i+1 < len(listed) {
			rest := listed[i+1:]
			rest[0].Gap = false // what was interrupted is the PC
			return rest
		}
	}
	return listed
}

// withCallerFromFrames is a chain without a doubt about the first entry behind the PC, where the PC's function may not have
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
func withCallerFromFrames(e *evidence, listed []target.Listed) []target.Listed {
	pc, b := e.reg("eip"), e.binaries
	if !e.has(firstByFrame) || pc == nil || len(listed) == 0 || !listed[0].Exact || madeFrame(e.record, pc, b.arch) {
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

// doubtUnmarked doubts the chains of kernels for x86 before Linux 2.6.25, which list each word of the stack that
// points to code and do not mark those that they found no frame for (arch/x86/kernel/traps_64.c, dump_trace). Newer
// ones print a question mark.
func doubtUnmarked(e *evidence, listed []target.Listed) []target.Listed {
	m := e.binaries.machine
	if !m.listsUnmarked(e.release) && !m.listsUnmarked(e.binaries.facts.release) {
		return listed
	}
	for i := range listed {
		listed[i].Searched = listed[i].Searched || !listed[i].Exact
	}
	return listed
}
