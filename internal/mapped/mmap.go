//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package mapped

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// mostMapped is what of a file may be mapped at least where addresses have 64 bits. /proc/kcore claims
// all of the address space, in which there is no room before the system looks at the file.
const mostMapped = 1 << 46

// Maps tells whether the system maps files. Where it does not, large ones are better read in parts.
const Maps = true

// open is os.Open for a file that is mapped and closed at once. os.Open asks the system with five calls more
// whether the file can be waited for.
func open(path string) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case syscall.EINTR: // as file systems in user space have it
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// load maps the file.
func load(f *os.File, size int) ([]byte, func() error, error) {
	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
	switch {
	case errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.EIO), errors.Is(err, syscall.ENOMEM) && int64(size) > mostMapped:
		return nil, nil, fmt.Errorf("%w: %w", ErrNoMapping, &os.PathError{Op: "map", Path: f.Name(), Err: err})
	case err != nil:
		return nil, nil, &os.PathError{Op: "map", Path: f.Name(), Err: err}
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
