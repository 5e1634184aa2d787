package symbol

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/stack"
	"github.com/backsight/backsight/target"
)

// Prepare looks up many image addresses of modules at once, which takes less time than one
// after the other; Lookup then knows them. It stops when ctx ends, with the error of ctx.
// Another error says what the answers lack since debug information would cost more than
// that of honest files does.
func (s *Symbolizer) Prepare(ctx context.Context, places iter.Seq2[*target.Module, uint64]) error {
	images, unknown := s.unknown(places)
	s.prepareAll(ctx, unknown)
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.leftOut(images)
}

// unknown are the images of places, and for each the addresses that were not looked up before.
func (s *Symbolizer) unknown(places iter.Seq2[*target.Module, uint64]) (images []*image.Image, unknown map[*image.Image][]uint64) {
	var last *image.Image // most frames call within their image
	var of *answers
	for m, addr := range places {
		img := m.Image
		if img == nil {
			continue
		}
		if img != last {
			last, of = img, s.answers(img)
			if unknown == nil {
				unknown = make(map[*image.Image][]uint64)
			}
			if _, ok := unknown[img]; !ok {
				images = append(images, img)
				unknown[img] = nil
			}
		}
		if !of.has(addr) {
			unknown[img] = append(unknown[img], addr)
		}
	}
	return images, unknown
}

// prepareAll looks up addresses of several images side by side.
func (s *Symbolizer) prepareAll(ctx context.Context, unknown map[*image.Image][]uint64) {
	if len(unknown) == 0 {
		return
	}
	var all sync.WaitGroup
	for img, addrs := range unknown {
		if len(addrs) == 0 {
			continue
		}
		all.Go(func() {
			stack.Reserve()
			s.prepare(ctx, img, addrs)
		})
	}
	all.Wait()
}

// leftOut joins what is missing from the answers for images to one line.
func (s *Symbolizer) leftOut(images []*image.Image) error {
	var issues []string
	for _, img := range images {
		if err := img.Files.Err(); err != nil {
			issues = append(issues, err.Error())
		} else if issue := s.answers(img).issue(); issue != "" {
			issues = append(issues, issue)
		}
	}
	if issues == nil {
		return nil
	}
	return errors.New(strings.Join(issues, "; "))
}

// forgetEvery is after how many further addresses the pages of an image are given back. A profile's walks look at libLLVM's code
// in 17,000 places, of which each brings 64 kB to memory.
const forgetEvery = 2048

func (s *Symbolizer) prepare(ctx context.Context, img *image.Image, addrs []uint64) {
	a := s.answers(img)
	a.mu.Lock()
	defer a.mu.Unlock()
	fault := mapped.Guard(func() {
		defer a.dwarf(img).readAhead(addrs)()
		for _, addr := range slices.Compact(addrs) {
			if ctx.Err() != nil {
				return
			}
			if a.unread--; a.unread < 0 {
				a.unread = forgetEvery
				img.Files.Forget() // a walk looks at code and unwind tables, names are found elsewhere
			}
			s.lookup(a, img, addr)
		}
	})
	if fault != nil {
		blame(img, fault)
	}
}
