//go:build !linux

package perfevent

import (
	"context"
	"errors"
	"io"
	"os/exec"
)

// Recorder records a process; there is none but on Linux.
type Recorder struct{}

var errNoLinux = errors.New("recording works on Linux only")

// Attach fails.
func Attach(int, Options) (*Recorder, error) { return nil, errNoLinux }

// Start fails.
func Start(*exec.Cmd, Options) (*Recorder, error) { return nil, errNoLinux }

// Copy does nothing.
func (*Recorder) Copy(context.Context, io.Writer) error { return errNoLinux }

// Ended is nothing.
func (*Recorder) Ended() error { return nil }

// Close does nothing.
func (*Recorder) Close() error { return nil }
