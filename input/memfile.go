//go:build linux

package input

import (
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile is a file without a directory: for machines that have no place for temporary
// files. Holes of it take no memory.
func memoryFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("backsight", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "memory"), nil
}
