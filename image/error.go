package image

import "fmt"

// Error is what is wrong with a file. All readers of files, executables, captures and unwind
// tables alike, return it, so that errors.As finds an *Error in their errors. Its text is one line.
type Error struct {
	Path   string // as the caller named the file; "" where the caller adds the path
	Offset int64  // in the file, of the fault; negative where no place is at fault
	Reason string // in words; "" where Err says all
	Err    error  // the cause, where there is one
	// Recoverable: the error concerns one snapshot of a capture of several, and the
	// next can be read.
	Recoverable bool
}

func (e *Error) Error() string {
	s := e.Path
	if e.Offset >= 0 {
		s = join(s, fmt.Sprintf("offset %#x", e.Offset))
	}
	if e.Reason != "" {
		s = join(s, e.Reason)
	}
	if e.Err != nil {
		s = join(s, e.Err.Error())
	}
	return s
}

func join(s, t string) string {
	if s == "" {
		return t
	}
	return s + ": " + t
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf is an Error at an offset of the file.
func (f *File) Errorf(offset uint64, format string, args ...any) error {
	return &Error{Path: f.Name, Offset: int64(offset), Reason: fmt.Sprintf(format, args...)}
}
