package input

import (
	"context"
	"errors"

	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/target"
)

// RAM is memory that the user gave as files, mapped or read in parts.
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
	Pages  Pages

	extents []mapped.Extent // of what is mapped, but for holes; nil: all of it
}

// AddTo adds the region to memory: the file of a machine's memory may be mostly holes, which are zeros.
func (r *Region) AddTo(b *target.Builder) {
	if len(r.extents) == 0 {
		r.Pages.Add(b, r.Addr, 0, r.Pages.Size(), target.PermUnknown)
		return
	}
	b.Add(r.Addr, nil, uint64(r.extents[0].Off), target.PermUnknown)
	for i, e := range r.extents {
		next := r.Pages.Size()
		if i+1 < len(r.extents) {
			next = uint64(r.extents[i+1].Off)
		}
		off := uint64(e.Off)
		b.Add(r.Addr+off, r.Pages.Bytes(off, uint64(e.Size)), next-off-uint64(e.Size), target.PermUnknown)
	}
}

// OpenRAM opens the files of env.RAM. Compressed ones are kept in temporary files, as
// captures are.
func (env *Env) OpenRAM(ctx context.Context) (*RAM, error) {
	r := new(RAM)
	for _, f := range env.RAM {
		c, err := openFile(ctx, f.Path, env)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.release = append(r.release, c.Close)
		pages, err := c.Pages(ctx)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		region := Region{Name: f.Path, Addr: f.Bias, Placed: f.Placed, Pages: pages}
		if c.packed == nil && c.mapped != nil {
			region.extents = mapped.Extents(f.Path, int64(pages.Size()))
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
func (env *Env) OpenMemory(ctx context.Context) (Stream, error) {
	name := "memory"
	if len(env.RAM) > 0 {
		name = env.RAM[0].Path
	}
	return guarded(ctx, name, env.Files, func(ctx context.Context) (Stream, error) { return openMemory(ctx, name, env) })
}

func openMemory(ctx context.Context, name string, env *Env) (Stream, error) {
	ram, err := env.OpenRAM(ctx)
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
