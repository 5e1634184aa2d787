package elf

import (
	"sync"

	"github.com/backsight/backsight/image"
)

// maxCompanions bounds the files that one image leads to: a browser's program has some
// thousand objects, of which a backtrace needs a few.
const maxCompanions = 1024

// companions are the files that debug information named.
type companions struct {
	mu    sync.Mutex
	known map[string]*file // nil: there is none
	in    []*image.File

	sought     bool  // supplement was looked for
	supplement *file // that of the debug information, nil: there is none
}

// Companion implements image.Image's.
func (c *container) Companion(path string) (section func(name string) []byte, ok bool) {
	if c.opt.NoDebugFiles {
		return nil, false
	}
	s := &c.companions
	s.mu.Lock()
	defer s.mu.Unlock()
	f, known := s.known[path]
	if !known && len(s.known) < maxCompanions {
		f = s.open(path, &c.opt, c.main, func(*file) bool { return true })
		if s.known == nil {
			s.known = make(map[string]*file)
		}
		s.known[path] = f
	}
	if f == nil {
		return nil, false
	}
	return func(name string) []byte { return joined(f, name) }, true
}

// open opens a file of this machine, or of those below roots, of the same machine as main.
func (s *companions) open(path string, opt *image.Options, main *file, accept func(*file) bool) *file {
	paths := []string{path}
	if _, below := opt.Inside(path); !below && len(opt.Roots) > 0 {
		paths = nil
		for i := range opt.Roots {
			if p, ok := opt.Roots[i].Resolve(path); ok {
				paths = append(paths, p)
			}
		}
	}
	for _, p := range paths {
		p, ok := opt.Locate(p)
		if !ok {
			continue
		}
		in, err := opt.OpenFile(p, sniff)
		if err != nil {
			continue
		}
		if f, err := newFile(in); err == nil && f.sameTarget(&main.encoding) && accept(f) {
			s.in = append(s.in, in)
			return f
		}
		in.Close()
	}
	return nil
}

// files are those that were opened.
func (s *companions) files() []*image.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in[:len(s.in):len(s.in)]
}
