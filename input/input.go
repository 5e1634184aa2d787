// Package input turns captures (core files, snapshots, logs) into
// target.Snapshots. Each format is one package below; a Format is recognised by
// content, never by name.
package input

import (
	"context"
	"errors"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// Env is what formats need from outside: the CPUs that the program knows, the
// files that a capture refers to, and what the user said on the command line.
type Env struct {
	Archs cpu.Set
	Files *Files
}

// Format is one kind of capture.
type Format struct {
	Name string
	// Sniff tells by the head of the file (at least 64 bytes where there are so
	// many) whether it is this format.
	Sniff func(head []byte) bool
	// Open starts reading. Errors are *Error.
	Open func(ctx context.Context, src *Source, env *Env) (Stream, error)
}

// Stream yields the snapshots of a capture in order: one for a core file, one a
// line for a batch. Next returns io.EOF after the last; another error concerns
// one snapshot only when Recoverable says so, and reading goes on. Snapshots refer
// to the capture's bytes and must not be used after Close.
type Stream interface {
	Next() (*target.Snapshot, error)
	Close() error
}

// Error is what is wrong with a capture or a binary: one line that names the file,
// the offset and the reason.
type Error = image.Error

// ErrUnrecognised is wrapped when no format knows a capture.
var ErrUnrecognised = errors.New("not a known capture format")
