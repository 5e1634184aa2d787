package input

import (
	"context"
	"errors"

	"github.com/backsight/backsight/internal/mapped"
)

// RAM is memory that the user gave as files, mapped.
type RAM struct {
	Regions []Region
	release []func() error
}

// Region is one run of memory. Addr is a target address where the processor translates
// none, else a physical one.
type Region struct {
	Name string // the file's
	Addr uint64
	// Placed: the user said where.
	Placed bool
	Data   []byte

	extents []mapped.Extent // of Data, but for holes; nil: all of it
}

// Run is a run of bytes, and how many zeros follow.
type Run struct {
	Data  []byte
	Zeros uint64
}

// Runs are the runs of the region, each with its address: the file of a machine's memory may be mostly holes.
func (r *Region) Runs(yield func(addr uint64, run Run) bool) {
	if len(r.extents) == 0 {
		yield(r.Addr, Run{Data: r.Data})
		return
	}
	if first := r.extents[0].Off; first > 0 && !yield(r.Addr, Run{Zeros: uint64(first)}) {
		return
	}
	for i, e := range r.extents {
		next := int64(len(r.Data))
		if i+1 < len(r.extents) {
			next = r.extents[i+1].Off
		}
		end := e.Off + e.Size
		if !yield(r.Addr+uint64(e.Off), Run{r.Data[e.Off:end], uint64(next - end)}) {
			return
		}
	}
}

// OpenRAM maps the files of env.RAM. Compressed ones are kept in temporary files, as
// captures are.
func OpenRAM(ctx context.Context, env *Env) (*RAM, error) {
	r := new(RAM)
	for _, f := range env.RAM {
		c, err := openFile(ctx, f.Path, env)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.release = append(r.release, c.Close)
		data, err := c.Bytes(ctx)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		region := Region{Name: f.Path, Addr: f.Bias, Placed: f.Placed, Data: data}
		if c.packed == nil {
			region.extents = mapped.Extents(f.Path, int64(len(data)))
		}
		r.Regions = append(r.Regions, region)
	}
	return r, nil
}

// Close releases the mappings.
func (r *RAM) Close() error {
	var errs []error
	for _, f := range r.release {
		errs = append(errs, f())
	}
	r.release = nil
	return errors.Join(errs...)
}

// OpenMemory opens the memory of env.RAM as a capture: the first format that knows such
// memory reads it. Errors are *Error.
func OpenMemory(ctx context.Context, env *Env) (Stream, error) {
	name := "memory"
	if len(env.RAM) > 0 {
		name = env.RAM[0].Path
	}
	return guarded(ctx, name, env.Files, func(ctx context.Context) (Stream, error) { return openMemory(ctx, name, env) })
}

func openMemory(ctx context.Context, name string, env *Env) (Stream, error) {
	ram, err := OpenRAM(ctx, env)
	if err != nil {
		return nil, err
	}
	for i := range env.Formats {
		if env.Formats[i].OpenMemory == nil {
			continue
		}
		s, err := env.Formats[i].OpenMemory(ctx, ram, env)
		if errors.Is(err, ErrUnrecognised) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, ram.Close())
		}
		return &memoryStream{Stream: s, ram: ram}, nil
	}
	why := "neither a task nor a kernel was found in the memory"
	if env.Files != nil && env.Files.Exe() == "" && len(env.Files.Images()) == 0 {
		why += "; the tasks of firmware are found by its code: name it with --exe or --image"
	}
	return nil, errors.Join(&Error{Path: name, Offset: -1, Err: unrecognised(why)}, ram.Close())
}

// memoryStream closes the memory together with the format's reader.
type memoryStream struct {
	Stream
	ram *RAM
}

func (s *memoryStream) Close() error { return errors.Join(s.Stream.Close(), s.ram.Close()) }
