package input

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/image"
)

// openImages keeps the images that are open, by key. A key is mostly the path of the file.
type openImages struct {
	mu    sync.Mutex
	known map[string]*imageEntry
	// retired are the images whose files cannot be read any more. Who still uses such an image
	// may do so until close.
	retired []*imageEntry
	// users are the readers of captures that look at images; after close, closing are the images that these still may use.
	users   int
	closing []*imageEntry
}

// hold keeps all images open until release is called, whoever closes them meanwhile. The error is os.ErrClosed after close.
func (s *openImages) hold() (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		return nil, os.ErrClosed
	}
	s.users++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 {
			_ = closeAll(s.closing) // mappings, which can always be undone
			s.closing = nil
		}
	}, nil
}

// imageEntry is an image that is opened once.
type imageEntry struct {
	once sync.Once
	img  *image.Image
	err  error
	done atomic.Bool // img and err are set
}

// failed tells whether the image was opened and its file cannot be read any more.
func (e *imageEntry) failed() bool { return e.done.Load() && e.img != nil && e.img.Files.Err() != nil }

// open returns the image of a key, which from opens at the first call for that key. The error is
// that of from, or os.ErrClosed after close.
func (s *openImages) open(key string, from func() (*image.Image, error)) (*image.Image, error) {
	e := s.entry(key)
	if e == nil {
		return nil, os.ErrClosed
	}
	e.once.Do(func() {
		e.img, e.err = from()
		e.done.Store(true)
	})
	if e.err != nil {
		s.forget(key, e) // captures may name any number of files that are none
	}
	return e.img, e.err
}

// entry is the entry of a key. Where the image's file cannot be read any more, a new entry takes
// its place, for the file that has the path now. The result is nil after close.
func (s *openImages) entry(key string) *imageEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		return nil
	}
	e := s.known[key]
	if e != nil && e.failed() {
		s.retired, e = append(s.retired, e), nil
	}
	if e == nil {
		e = new(imageEntry)
		s.known[key] = e
	}
	return e
}

// forget drops an entry, unless another has taken its place.
func (s *openImages) forget(key string, e *imageEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[key] == e {
		delete(s.known, key)
	}
}

// close closes all images, or has the last reader of a capture do that.
func (s *openImages) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Concat(slices.Collect(maps.Values(s.known)), s.retired)
	s.known, s.retired = nil, nil
	if s.users > 0 {
		s.closing = append(s.closing, all...)
		return nil
	}
	return closeAll(all)
}

func closeAll(list []*imageEntry) error {
	var errs []error
	for _, e := range list {
		e.once.Do(func() { e.err = os.ErrClosed })
		if e.img != nil {
			errs = append(errs, e.img.Close())
		}
	}
	return errors.Join(errs...)
}
