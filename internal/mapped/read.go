//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package mapped

import (
	"io"
	"os"
)

// maxRead bounds what is read into memory where files cannot be mapped.
const maxRead = 1 << 30

// load reads the file.
func load(f *os.File, size int) ([]byte, func() error, error) {
	if size > maxRead {
		return nil, nil, &os.PathError{Op: "read", Path: f.Name(), Err: errTooLarge}
	}
	data := make([]byte, size)
	n, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), data)
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil, nil, err
	}
	return data[:n], func() error { return nil }, nil
}
