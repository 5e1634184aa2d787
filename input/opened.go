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

// opened keeps the images that are open, by key. A key is mostly the path of the file.
type opened struct {
	mu    sync.Mutex
	known map[string]*opening
	// retired are the images whose files cannot be read any more. Who still uses such an image
	// may do so until close.
	retired []*opening
}

// opening is an image that is opened once.
type opening struct {
	once sync.Once
	img  *image.Image
	err  error
	done atomic.Bool // img and err are set
}

// failed tells whether the image was opened and its file cannot be read any more.
func (o *opening) failed() bool { return o.done.Load() && o.img != nil && o.img.Files.Err() != nil }

// open returns the image of a key, which from opens at the first call for that key. The error is
// that of from, or os.ErrClosed after close.
func (s *opened) open(key string, from func() (*image.Image, error)) (*image.Image, error) {
	o := s.opening(key)
	if o == nil {
		return nil, os.ErrClosed
	}
	o.once.Do(func() {
		o.img, o.err = from()
		o.done.Store(true)
	})
	if o.err != nil {
		s.forget(key, o) // captures may name any number of files that are none
	}
	return o.img, o.err
}

// opening is the entry of a key. Where the image's file cannot be read any more, a new entry takes
// its place, for the file that has the path now. The result is nil after close.
func (s *opened) opening(key string) *opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		return nil
	}
	o := s.known[key]
	if o != nil && o.failed() {
		s.retired, o = append(s.retired, o), nil
	}
	if o == nil {
		o = new(opening)
		s.known[key] = o
	}
	return o
}

func (s *opened) forget(key string, o *opening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[key] == o {
		delete(s.known, key)
	}
}

// close closes all images.
func (s *opened) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, o := range slices.Concat(slices.Collect(maps.Values(s.known)), s.retired) {
		o.once.Do(func() { o.err = os.ErrClosed })
		if o.img != nil {
			errs = append(errs, o.img.Close())
		}
	}
	s.known, s.retired = nil, nil
	return errors.Join(errs...)
}
