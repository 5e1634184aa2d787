package image

import "fmt"

// Error is a file that cannot be used as an image. It names the first offset
// where the file is wrong and why.
type Error struct {
	Path   string
	Offset uint64 // in the file
	Reason string
	Err    error // the cause, where there is one
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: offset %#x: %s", e.Path, e.Offset, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
