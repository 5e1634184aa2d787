package input

import (
	"context"
	"errors"

	"github.com/backsight/backsight/internal/mapped"
)

// Machine is a Stream of a machine's memory, whose one snapshot is the kernel's.
type Machine interface {
	Stream
	// Processes are the programs that ran, as their kernel has them: OpenStopped opens each. The tasks in Stopped.Threads say where
	// they stood in the kernel. The error beside processes says what is missing of them. They are of use until Close.
	Processes(ctx context.Context) ([]*Stopped, error)
}

// errNoMachine is that of a capture that is no machine's memory.
var errNoMachine = errors.New("no memory of a machine that ran Linux: it has no further processes")

// Processes are the programs in a capture that Open, OpenSet, OpenReader or OpenMemory has opened.
func Processes(ctx context.Context, s Stream) (list []*Stopped, err error) {
	name := "memory"
	for {
		switch t := s.(type) {
		case *openStream:
			s, name = t.Stream, t.capture.Name
		case *memoryStream:
			s = t.Stream
		case Machine:
			if fault := mapped.Guard(func() { list, err = t.Processes(ctx) }); fault != nil {
				return nil, unreadable(name, fault)
			}
			return list, err
		default:
			return nil, errNoMachine
		}
	}
}
