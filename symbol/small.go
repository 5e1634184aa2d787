//go:build small

package symbol

import (
	"slices"

	"github.com/backsight/backsight/image"
)

// filter leaves names as they are in the file, for c++filt and rustfilt of another machine.
func filter(name string) string { return name }

// debugInfo is none: devices have no room for it. Addresses in a report have lines where the binaries with debug information are.
type debugInfo struct{ issue string }

func debugOf(*image.Image, *names) *debugInfo { return &debugInfo{} }

func (*debugInfo) locate(uint64) (l Location) { return l }

func (*debugInfo) locateInObject(uint64) (l Location) { return l }

// readAhead sorts addresses, and reads nothing.
func (*debugInfo) readAhead(addrs []uint64) (done func()) {
	slices.Sort(addrs)
	return func() {}
}
