package image

import (
	"fmt"
	"io"
	"math"
	"os"
)

// Map brings a regular file that begins with magic into memory, mapped where the
// system can, and returns how to release it. The error is an *Error or of
// package os.
//
// What is not a regular file is refused before opening it: opening a FIFO waits
// for a writer, and a device may have no end. The magic is compared first, so
// that a huge file of another kind costs nothing where files cannot be mapped.
func Map(path, magic string) (data []byte, release func() error, err error) {
	fail := func(reason string, err error) ([]byte, func() error, error) {
		return nil, nil, &Error{Path: path, Reason: reason, Err: err}
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return fail("not a regular file ("+st.Mode().String()+")", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	switch size := st.Size(); {
	case size == 0:
		return fail("empty file", nil)
	case size > math.MaxInt:
		return fail("file larger than the address space of this process", nil)
	}
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(len(magic))), begin); err != nil || string(begin) != magic {
		return fail(fmt.Sprintf("does not begin with %q", magic), nil)
	}
	if data, release, err = load(f, int(st.Size())); err != nil {
		return fail("cannot be read", err)
	}
	return data, release, nil
}
