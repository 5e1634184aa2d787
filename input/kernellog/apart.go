package kernellog

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// A kernel that moved itself and prints symbols without addresses, as arm64's does, does not say where
// it ran. Its addresses are then shown as linked, unless a processor stood at one of them that the
// kernel has no symbol for: stacks of arm64 are mapped where kernels are linked, and a program jumped
// to its stack.
//
//	pc : 0xffff8000080b3ba8
//	lr : execute_location+0x74/0x94 [lkdtm]
//	sp : ffff8000080b3b60

// apartStep is what kernels move by on arm64 and x86-64, with pages of 4 KB.
const apartStep = 2 << 20

// apart is the least distance from where a kernel is linked at which the kernel has none of the places
// without a symbol.
func (k *kernelLog) apart(img *image.Image) (distance uint64) {
	span := target.Range{Lo: ^uint64(0)}
	for _, s := range img.Segments {
		span.Lo, span.Hi = min(span.Lo, s.Addr), max(span.Hi, s.Addr+cmp.Or(s.Size, uint64(len(s.Data))))
	}
	for _, at := range k.unnamed(img) {
		if at-distance >= span.Lo && at-distance < span.Hi {
			distance += (at - distance - span.Lo + apartStep) &^ (apartStep - 1)
		}
	}
	return distance
}

// unnamed are the places where processors stood that the kernel had no symbol for, in ascending order.
func (k *kernelLog) unnamed(img *image.Image) (list []uint64) {
	for _, r := range k.records {
		if pc := r.reg("pc", "epc", "rip", "eip"); pc != nil && pc.known && pc.at.symbol == "" && pc.value != 0 {
			list = append(list, pc.value&img.Arch.AddrMask())
		}
	}
	slices.Sort(list)
	return list
}
