package elf

import (
	"bytes"
	"encoding/hex"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/bin"
)

// Supplement implements image.Image's, by .debug_sup (DWARF 5 §7.3.6) or by .gnu_debugaltlink,
// as dwz writes it: a path and the build ID of the file there.
func (c *container) Supplement() (section func(name string) []byte, ok bool) {
	if c.opt.NoDebugFiles {
		return nil, false
	}
	s := &c.companions
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sought {
		s.sought = true
		if l, ok := c.supplementLink(); ok {
			s.supplement = c.findSupplement(&l)
		}
	}
	if s.supplement == nil {
		return nil, false
	}
	return s.supplement.sectionData, true
}

// sectionData is the content of a section, nil where there is none.
func (f *file) sectionData(name string) []byte {
	s, _ := f.section(name)
	return s.Data
}

// supplementLink is what debug information says of its supplementary file.
type supplementLink struct {
	name string
	id   []byte
	// sup: id is the checksum of the file's .debug_sup, else the file's build ID.
	sup bool
}

func (c *container) supplementLink() (l supplementLink, ok bool) {
	if s, has := c.Section(".gnu_debugaltlink"); has {
		r := bin.New(s.Data, c.main.big)
		l.name = r.CString()
		l.id = r.Bytes(uint64(r.Len()))
		return l, r.Err() == nil && l.name != "" && len(l.id) >= 2
	}
	s, has := c.Section(".debug_sup")
	l, user := readSup(s.Data, c.main.big)
	return l, has && user && l.name != "" && len(l.id) > 0
}

// readSup reads .debug_sup (DWARF 5 §7.3.6). user: the file refers to a supplementary one, and is
// none itself.
func readSup(data []byte, big bool) (l supplementLink, user bool) {
	r := bin.New(data, big)
	version, is := r.U16(), r.U8()
	l.name, l.sup = r.CString(), true
	l.id = r.Bytes(r.ULEB())
	return l, r.Err() == nil && version == 5 && is == 0
}

// findSupplement looks where GDB looks (GDB manual, "Debugging Information in Separate Files"): at
// the path, which is relative to the file that names it; below each debug directory by that path
// and by the build ID. Last come other files of the build ID.
func (c *container) findSupplement(l *supplementLink) *file {
	accept := func(f *file) bool { return l.accepts(f) }
	for _, p := range c.supplementPaths(l) {
		if f := c.openCompanion(p, accept); f != nil {
			return f
		}
	}
	if c.opt.ByBuildID == nil || l.sup {
		return nil
	}
	for p := range c.opt.ByBuildID(l.id) {
		if f := c.openCompanion(p, accept); f != nil {
			return f
		}
	}
	return nil
}

func (l *supplementLink) accepts(f *file) bool {
	if !l.sup {
		return bytes.Equal(f.buildID(), l.id)
	}
	sup, _ := readSup(f.sectionData(".debug_sup"), f.big)
	return bytes.Equal(sup.id, l.id)
}

// supplementPaths are the places where the supplementary file may be.
func (c *container) supplementPaths(l *supplementLink) (paths []string) {
	name := filepath.FromSlash(l.name)
	if path.IsAbs(l.name) {
		paths = append(paths, name)
	} else {
		for _, from := range []*file{c.main, c.debugFile()} {
			if from != nil && from.path != "" {
				paths = append(paths, filepath.Join(filepath.Dir(from.path), name))
			}
		}
	}
	// Distributions have all such files in one folder of their debug directory.
	_, inside, distributed := strings.Cut(l.name, "/.dwz/")
	for _, dir := range c.opt.DebugDirs {
		if distributed {
			paths = append(paths, filepath.Join(dir, ".dwz", filepath.FromSlash(path.Clean("/"+inside))))
		}
		if id := hex.EncodeToString(l.id); !l.sup {
			paths = append(paths, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
		}
	}
	return slices.Compact(paths)
}
