package display

import (
	"context"
	"iter"
	"slices"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Names says what is at image addresses of modules: the part of backsight.Symbolizer that names places.
type Names interface {
	Prepare(ctx context.Context, places iter.Seq2[*target.Module, uint64]) error
	Lookup(m *target.Module, addr uint64) symbol.Location
}

// Name looks up the places that have no names; names may be nil. The error is Prepare's. Once ctx has ended, places stay without names.
func (s *Stacks) Name(ctx context.Context, names Names) (err error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	s.mu.Lock()
	all := s.unnamed
	s.unnamed = nil
	s.mu.Unlock()
	if names != nil && len(all) > 0 {
		err = names.Prepare(ctx, places(all))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = slices.Grow(s.parts, len(all))
	for i := range all {
		f, l := all[i].frame(), symbol.Location{}
		if names != nil && ctx.Err() == nil {
			l = names.Lookup(f.Module, imageAddr(&f))
		}
		s.name(all[i].number, &report.Frame{Frame: &f, Location: &l})
	}
	return err
}

// frame is a frame of the place that is named.
func (u *unnamedFrame) frame() unwind.Frame {
	f := unwind.Frame{PC: u.pc, CallSite: u.callSite, Module: u.module, Exact: u.kind&kindExact != 0, Trust: unwind.Certain}
	if u.kind&kindGuess != 0 {
		f.Trust = unwind.Guess
	}
	return f
}

// places are what the names of frames are looked up by.
func places(unnamed []unnamedFrame) iter.Seq2[*target.Module, uint64] {
	return func(yield func(*target.Module, uint64) bool) {
		for i := range unnamed {
			f := unnamed[i].frame()
			if !yield(f.Module, imageAddr(&f)) {
				return
			}
		}
	}
}

// imageAddr is where a frame is in its module's image, or would be.
func imageAddr(f *unwind.Frame) uint64 {
	addr := f.Module.ToImage(f.CallSite)
	if f.Module.Image != nil {
		addr &= f.Module.Image.Arch.AddrMask()
	}
	return addr
}
