//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package image

import (
	"errors"
	"io"
	"os"
)

// maxRead bounds what is read into memory where files cannot be mapped.
const maxRead = 1 << 30

var errTooLarge = errors.New("file too large to be read into memory")

// load reads the file.
func load(f *os.File, size int) ([]byte, func() error, error) {
	if size > maxRead {
		return nil, nil, errTooLarge
	}
	data := make([]byte, size)
	n, err := io.ReadFull(f, data)
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil, nil, err
	}
	return data[:n], func() error { return nil }, nil
}
