//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package image

import (
	"os"
	"syscall"
)

// load maps the file; pages are read when they are looked at.
func load(f *os.File, size int) ([]byte, func() error, error) {
	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
