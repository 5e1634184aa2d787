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

// opened are the images that are open, by a key: mostly the path.
type opened struct {
	mu    sync.Mutex
	known map[string]*opening
	// retired are those whose files cannot be read any more.
	retired []*opening
}

// opening is an image that is opened once.
type opening struct {
	once sync.Once
	img  *image.Image
	err  error
	done atomic.Bool // img and err are set
}

// failed tells whether the image was opened, and cannot be used any longer.
func (o *opening) failed() bool { return o.done.Load() && o.img != nil && o.img.Files.Err() != nil }

// open is what from gives for a key, or gave before; os.ErrClosed after close.
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

// opening is the one of a key, mostly a path. An image whose file was cut short makes room for what
// is there now; those who still use it may do so until Close. After that it is nil.
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
