// Package mapped brings a file's bytes into memory: mapped where the system can,
// so that a file of many gigabytes costs nothing until its pages are looked at,
// and read elsewhere.
package mapped

import (
	"errors"
	"math"
	"os"
)

// ErrNotRegular is a directory, a device, a FIFO or a socket. It is found out
// before opening: opening a FIFO waits for a writer, a device may have no end.
var ErrNotRegular = errors.New("not a regular file")

// ErrNoMapping is a file that the system does not map: those of /proc.
var ErrNoMapping = errors.New("the file cannot be mapped")

var errTooLarge = errors.New("file too large for this machine's memory")

// Open returns the bytes of a regular file, which nobody may write to, and how
// to release them. Whoever reads them does so within Guard, for somebody may cut the
// file short meanwhile.
func Open(path string) (data []byte, release func() error, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, nil, &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	f, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return fileOf(f)
}

// fileOf is Open for a regular file that is open. The bytes outlive f.
func fileOf(f *os.File) (data []byte, release func() error, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() { // the name may be another file's by now
		return nil, nil, &os.PathError{Op: "map", Path: f.Name(), Err: ErrNotRegular}
	}
	size := st.Size()
	if size == 0 {
		return nil, func() error { return nil }, nil
	}
	if size < 0 || size > math.MaxInt {
		return nil, nil, &os.PathError{Op: "map", Path: f.Name(), Err: errTooLarge}
	}
	return load(f, int(size))
}

// Extent is a run of a file's bytes.
type Extent struct{ Off, Size int64 }
