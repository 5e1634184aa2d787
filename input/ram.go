package input

import (
	"context"
	"errors"
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
		r.Regions = append(r.Regions, Region{Name: f.Path, Addr: f.Bias, Placed: f.Placed, Data: data})
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
