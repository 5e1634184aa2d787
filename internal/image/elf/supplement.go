package elf

import (
	"bytes"
	"encoding/hex"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
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
		if l, ok := readSupplementLink(c.Section, c.main.big); ok {
			s.supplement = s.find(&l, c)
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

func readSupplementLink(section func(name string) (image.Section, bool), big bool) (l supplementLink, ok bool) {
	if s, has := section(".gnu_debugaltlink"); has {
		r := bin.New(s.Data, big)
		l.name = r.CString()
		l.id = r.Bytes(uint64(r.Len()))
		return l, r.Err() == nil && l.name != "" && len(l.id) >= 2
	}
	s, has := section(".debug_sup")
	l, user := readSup(s.Data, big)
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

// accepts tells whether a file is the one that is meant.
func (l *supplementLink) accepts(f *file) bool {
	if !l.sup {
		return bytes.Equal(f.buildID(), l.id)
	}
	sup, _ := readSup(f.sectionData(".debug_sup"), f.big)
	return bytes.Equal(sup.id, l.id)
}

// paths are the places where the supplementary file may be, as GDB looks for it (GDB manual,
// "Debugging Information in Separate Files"): the path, which is relative to one of the folders of
// the files that name it; below each debug directory that path, and the build ID's.
func (l *supplementLink) paths(folders, debugDirs []string) (paths []string) {
	name := filepath.FromSlash(l.name)
	if path.IsAbs(l.name) {
		paths = append(paths, name)
	} else {
		for _, dir := range folders {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	// Distributions have all such files in one folder of their debug directory.
	_, inside, distributed := strings.Cut(l.name, "/.dwz/")
	for _, dir := range debugDirs {
		if distributed {
			paths = append(paths, filepath.Join(dir, ".dwz", filepath.FromSlash(path.Clean("/"+inside))))
		}
		if id := hex.EncodeToString(l.id); !l.sup {
			paths = append(paths, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
		}
	}
	return slices.Compact(paths)
}

// find looks at the paths of the supplementary file, and last at other files of its build ID.
func (s *companions) find(l *supplementLink, c *container) *file {
	var folders []string
	for _, from := range []*file{c.main, c.debugFile()} {
		if from != nil && from.path != "" {
			folders = append(folders, filepath.Dir(from.path))
		}
	}
	for _, p := range l.paths(folders, c.opt.DebugDirs) {
		if f := s.open(p, &c.opt, c.main, l.accepts); f != nil {
			return f
		}
	}
	if c.opt.ByBuildID == nil || l.sup {
		return nil
	}
	for p := range c.opt.ByBuildID(l.id) {
		if f := s.open(p, &c.opt, c.main, l.accepts); f != nil {
			return f
		}
	}
	return nil
}
