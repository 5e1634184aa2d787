package kernellog

import (
	"slices"

	"github.com/backsight/backsight/image"
)

// A kernel that moved itself and prints symbols without addresses, as arm64's does, does not say where
// it ran. Its addresses are then shown as linked, unless a processor stood at one of them that the
// kernel has no symbol for: stacks of arm64 are mapped where kernels are linked, and a program jumped
// to its stack.
//
//	pc : 0xffff8000080b3ba8
//	lr : execute_location+0x74/0x94 [lkdtm]
//	sp : ffff8000080b3b60

const (
	// apartStep is what kernels move by on arm64 and x86-64, with pages of 4 KB.
	apartStep = 2 << 20
	// maxApart bounds the distance: no kernel's code is as large.
	maxApart = 1 << 30
)

// apart is the least distance from where a kernel is linked at which the kernel has none of the places
// without a symbol.
func (k *kernelLog) apart(img *image.Image) (distance uint64) {
	for _, at := range k.unnamed(img) {
		for img.Segments.Executable((at-distance)&img.Arch.AddrMask()) && distance < maxApart {
			distance += apartStep
		}
	}
	return distance
}

// unnamed are the places where processors stood that the kernel had no symbol for, in ascending order.
func (k *kernelLog) unnamed(img *image.Image) (list []uint64) {
	for _, r := range k.records {
		if pc := pcOf(r); pc != nil && pc.known && pc.at.symbol == "" && pc.value != 0 {
			list = append(list, pc.value&img.Arch.AddrMask())
		}
	}
	slices.Sort(list)
	return list
}
