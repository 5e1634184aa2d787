//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package mapped

import (
	"os"
	"syscall"
)

// load maps the file.
func load(f *os.File, size int) ([]byte, func() error, error) {
	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, &os.PathError{Op: "map", Path: f.Name(), Err: err}
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
