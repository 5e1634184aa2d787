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
		f = c.openCompanion(path, func(*file) bool { return true })
		if s.known == nil {
			s.known = make(map[string]*file)
		}
		s.known[path] = f
	}
	if f == nil {
		return nil, false
	}
	return f.sectionData, true
}

// openCompanion opens a file of this machine, or of those below roots.
func (c *container) openCompanion(path string, accept func(*file) bool) *file {
	paths := []string{path}
	if _, below := c.opt.Inside(path); !below && len(c.opt.Roots) > 0 {
		paths = nil
		for i := range c.opt.Roots {
			if p, ok := c.opt.Roots[i].Resolve(path); ok {
				paths = append(paths, p)
			}
		}
	}
	for _, p := range paths {
		p, ok := c.opt.Locate(p)
		if !ok {
			continue
		}
		in, err := image.OpenFile(p, sniff)
		if err != nil {
			continue
		}
		if f, err := newFile(p, in.Data); err == nil && f.sameTarget(&c.main.encoding) && accept(f) {
			c.companions.in = append(c.companions.in, in)
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
