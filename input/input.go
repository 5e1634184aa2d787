// Package input turns captures (core files, snapshots, logs) into
// target.Snapshots. Each format is one package below; a Format is recognised by
// content, never by name.
package input

import (
	"context"
	"errors"
	"io"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// Env is what captures are opened with: what the program knows, and the files that a
// capture refers to.
type Env struct {
	Archs cpu.Set
	// Formats are the kinds of captures, in the order in which they are tried.
	Formats []Format
	Files   *Files
	// RAM are files of memory as the processor sees it without translation, at their Bias: a
	// microcontroller's RAM, a machine's physical memory. They stand beside a capture, whose
	// format reads them with OpenRAM, or are the capture.
	RAM []NamedImage
	// Regs is a file of registers as a debugger or a probe prints them, "" for none.
	Regs string
	// MaxSpill bounds in bytes what is kept of a capture that can be read once only, a
	// compressed file or a reader, in a temporary file; 0: 64 GiB.
	MaxSpill int64
}

// Format is one kind of capture.
type Format struct {
	Name string
	// Sniff tells by the head of the file (at least 64 bytes where there are so
	// many) whether it is this format. It is nil where no file is: see OpenMemory, OpenStopped.
	Sniff func(head []byte) bool
	// Set tells of a file that is one of several, which are one capture together: a name that all of
	// them have, and no file of another capture; "" for all other files. It is nil where a format
	// always writes one file.
	Set func(file io.ReaderAt) string
	// Open starts reading. ctx ends Open, not what the Stream does later. Errors are *Error.
	Open func(ctx context.Context, c *Capture, env *Env) (Stream, error)
	// Reports reads the crash reports of a text that is read as it comes, of which the last may not be whole; nil where
	// the format is no text of reports. The memory beside a capture, RAM, is left out.
	Reports func(ctx context.Context, text []byte, env *Env) Reports
	// OpenMemory starts reading where raw memory is the capture; nil where the format
	// never is that. It returns ErrUnrecognised where another format is to be asked.
	// The Stream must not close ram.
	OpenMemory func(ctx context.Context, ram *RAM, env *Env) (Stream, error)
	// OpenStopped starts reading what a debugger's server has stopped; nil where the format never
	// is that. It returns ErrUnrecognised where another format is to be asked.
	OpenStopped func(ctx context.Context, s *Stopped, env *Env) (Stream, error)
}

// Reports are those of a text, in order.
type Reports struct {
	Extents []Extent
	// Open reads the snapshots of the first n reports, once. Their memory is theirs: text may change.
	Open func(ctx context.Context, n int) (Stream, error)
}

// Extent is where a report lies in a text, in bytes: the lines from its first to its last so far, and other
// lines between them.
type Extent struct {
	From, To int
	// Ended: no line behind To can belong to the report.
	Ended bool
}

// Stream yields the snapshots of a capture in order: one for a core file, one a
// line for a batch. Snapshots refer to the capture's bytes and must not be used after
// Close.
type Stream interface {
	// Next reads the next snapshot, and returns io.EOF after the last. Behind an
	// Error that is Recoverable the next one can be read, behind any other error
	// nothing. Where ctx has ended, Next reads nothing and returns ctx's error; a
	// reader that blocks is not interrupted.
	Next(ctx context.Context) (*target.Snapshot, error)
	Close() error
}

// Error is what is wrong with a capture or a binary: one line that names the file,
// the offset and the reason.
type Error = image.Error

// ErrUnrecognised is what the error is (errors.Is) when no format knows a capture.
var ErrUnrecognised = errors.New("not a known capture format")
