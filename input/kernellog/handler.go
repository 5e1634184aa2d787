package kernellog

import (
	"slices"
	"strings"

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
func withoutHandlers(listed []target.Listed, r *record) []target.Listed {
	listed = withoutShown(listed, r)
	at := r.at
	if pc := r.reg("rip", "eip"); pc != nil {
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
func believeCaller(listed []target.Listed, r *record) {
	pc := r.reg("rip", "eip")
	if pc == nil || !pc.known || pc.at.symbol != "" || len(listed) == 0 || len(r.stack.words) == 0 {
		return
	}
	if w := r.stack.words[0]; w.known && w.value == listed[0].PC && listed[0].Offset != 0 {
		listed[0].Doubtful = false
	}
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
func withoutShown(listed []target.Listed, r *record) []target.Listed {
	if len(listed) == 0 || r.reg("eip", "rip") == nil || !strings.HasPrefix(listed[0].Symbol, "show_stack") && listed[0].Symbol != "show_trace" {
		return listed
	}
	for i := range listed {
		if entersKernel(listed[i].Symbol) && i+1 < len(listed) {
			rest := slices.Clone(listed[i+1:])
			rest[0].Gap = false // what was interrupted is the PC
			return rest
		}
	}
	return listed
}
