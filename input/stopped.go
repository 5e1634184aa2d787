package input

import (
	"context"
	"errors"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Stopped is a program or a machine that a debugger's server has stopped. Its memory is read as it is
// asked for; a Snapshot of it is of use until the server lets it run.
type Stopped struct {
	Name string // for messages
	// Arch is the processor, as far as it is known without the binaries.
	Arch    *cpu.Arch
	PID     int
	Threads []target.Thread
	Fault   *target.Fault
	// Memory is what the program sees.
	Memory target.Pager
	// Readable are the ranges that may be read of a machine without an operating system: elsewhere a read may
	// change what a device does. nil: not known.
	Readable []target.Range
	// RAM are those of them that are memory. Of a machine that runs an operating system they are physical
	// addresses, which Physical reads; nil where nobody can.
	RAM      []target.Range
	Physical target.Pager
	// Auxv is the auxiliary vector of a process of Linux, nil for another one.
	Auxv []byte
	// Exec is the path of the executable, "" where the server does not tell.
	Exec string
	// Libraries is the dynamic linker's list, nil where the server does not read that.
	Libraries []Library
	// File reads a file of the machine on which the program runs, limit bytes at most. It is nil where nobody can.
	File func(path string, limit int) ([]byte, error)
	// Issues are what is wrong with what is known of it.
	Issues []target.Issue
}

// Library is a shared library of a process: where it is loaded, image address 0 at Bias, and where its dynamic section lies.
type Library struct {
	Name          string
	Bias, Dynamic uint64
}

// OpenStopped opens what a server has stopped: the first format that knows such a program reads it. Errors are *Error.
func (env *Env) OpenStopped(ctx context.Context, s *Stopped) (Stream, error) {
	return guarded(ctx, s.Name, env.Files, func(ctx context.Context) (Stream, error) {
		for i := range env.Formats {
			if env.Formats[i].OpenStopped == nil {
				continue
			}
			stream, err := env.Formats[i].OpenStopped(ctx, s, env)
			if !errors.Is(err, ErrUnrecognised) {
				return stream, err
			}
		}
		return nil, &Error{Path: s.Name, Offset: -1, Err: unrecognised("what runs there is not known: name its binary with --exe or --image")}
	})
}
