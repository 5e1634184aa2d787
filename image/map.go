package image

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/backsight/backsight/internal/mapped"
)

// Map brings a regular file that begins with magic into memory, mapped where the
// system can, and returns how to release it. The error is an *Error or of
// package os.
//
// What is not a regular file is refused before opening it: opening a FIFO waits
// for a writer. The magic is compared first, so that a huge file of another kind
// costs nothing where files cannot be mapped.
func Map(path, magic string) (data []byte, release func() error, err error) {
	fail := func(reason string, err error) ([]byte, func() error, error) {
		return nil, nil, &Error{Path: path, Reason: reason, Err: err}
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, err
	case !st.Mode().IsRegular():
		return fail("not a regular file ("+st.Mode().String()+")", nil)
	case st.Size() == 0:
		return fail("empty file", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	begin := make([]byte, len(magic))
	_, err = io.ReadFull(io.NewSectionReader(f, 0, int64(len(magic))), begin)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err == nil && string(begin) != magic {
		return fail(fmt.Sprintf("does not begin with %q", magic), nil)
	}
	if err == nil {
		data, release, err = mapped.File(f)
	}
	if err != nil {
		return fail("cannot be read", err)
	}
	return data, release, nil
}
