// Package heights finds, in one pass through a function, where the stack pointer stands
// before each instruction and where each preserved register has been saved. The
// literature calls this stack-height analysis; a height is an offset from SP on entry.
//
//	entry ──┬─ push %rbx       SP height 0
//	        ├─ sub  $32,%rsp   SP height -8    rbx saved at -8
//	        ├─ je   1f         SP height -40       │
//	        ├─ …                   │               │
//	     1: ├─ add  $32,%rsp   SP height -40   ◄───┘ must say the same
//	        ├─ pop  %rbx       SP height -8
//	        └─ ret             SP height 0     and everything is as it was on entry
//
// Nearly all functions that compilers make have the same frame on every path to an
// instruction. The analysis demands that and joins nothing to a fixpoint: a path that
// says otherwise, a stack pointer that is not SP on entry plus a constant, a return
// with anything else than on entry, and the function has no table; package dataflow,
// which does join, answers then. So two derivations agree on all that a table says:
// forward from the entry, and from the instruction to a return that undoes everything.
package heights
