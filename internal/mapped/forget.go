//go:build linux

package mapped

import (
	"os"
	"syscall"
	"unsafe"
)

// Forget gives back the memory of the whole pages in part, which must be a part of what Open or
// File returned: nobody else's bytes can be read from a file again.
func Forget(part []byte) {
	page := uintptr(os.Getpagesize())
	first := uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	skip := int(-first & (page - 1))
	if skip >= len(part) {
		return
	}
	if whole := part[skip:][:(len(part)-skip)&^int(page-1)]; len(whole) > 0 {
		_ = syscall.Madvise(whole, syscall.MADV_DONTNEED) // where it fails, the pages stay
	}
}
