package kernellog

import "github.com/backsight/backsight/target"

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
