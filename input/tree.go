package input

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Bounds of the walk below a sysroot: more entries than a full distribution has,
// more files of one name than a build tree of several processors has.
const (
	maxEntries   = 2_000_000
	maxSameNamed = 64
)

// maxLinks is how many symbolic links one path may take, as in Linux (MAXSYMLINKS).
const maxLinks = 40

// tree is the files below a directory that stands for another machine's root.
// Symbolic links are followed as that machine would: an absolute target starts
// at the tree's root, and nothing leads out of it.
type tree struct {
	root string
	once sync.Once
	// named lists the paths below root by base name, alike the libraries by what
	// their names share over versions.
	named, alike map[string][]string
}

// stem is the common part of the file names that one library has: "libstdc++" of libstdc++.so.6 and
// libstdc++.so.6.0.30, "libc" of libc-2.31.so and libc.so.6. "" for other files.
func stem(name string) string {
	i := strings.Index(name, ".so")
	if i <= 0 {
		return ""
	}
	if j := strings.IndexByte(name[:i], '-'); j > 0 && j+1 < i && name[j+1] >= '0' && name[j+1] <= '9' {
		i = j
	}
	return name[:i]
}

// versions returns the libraries whose names differ from path's in the version
// only: a core names libstdc++.so.6.0.30 where a copy that kept no links has
// libstdc++.so.6.
func (t *tree) versions(path string) (found []string) {
	s := stem(filepath.Base(filepath.FromSlash(path)))
	if s == "" {
		return nil
	}
	t.once.Do(t.index)
	for _, rel := range t.alike[s] {
		if p, ok := t.resolve(rel); ok {
			found = append(found, p)
		}
	}
	return found
}

// find returns where a path of the other machine may be: at its own place first,
// then everything of that name anywhere.
func (t *tree) find(path string) (found []string) {
	if path == "" {
		return nil
	}
	if p, ok := t.resolve(path); ok {
		found = append(found, p)
	}
	t.once.Do(t.index)
	for _, rel := range t.named[filepath.Base(filepath.FromSlash(path))] {
		if p, ok := t.resolve(rel); ok && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found
}

// index walks the tree once. Directories that cannot be read are left out.
func (t *tree) index() {
	t.named, t.alike = make(map[string][]string), make(map[string][]string)
	root, err := filepath.EvalSymlinks(t.root) // WalkDir does not enter a link
	if err != nil {
		return
	}
	entries := 0
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if entries++; entries > maxEntries {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if name := d.Name(); err == nil && len(t.named[name]) < maxSameNamed {
			t.named[name] = append(t.named[name], rel)
			if s := stem(name); s != "" && len(t.alike[s]) < maxSameNamed {
				t.alike[s] = append(t.alike[s], rel)
			}
		}
		return nil
	})
}

// resolve turns a path of the other machine into one of this machine, to a
// regular file.
func (t *tree) resolve(path string) (string, bool) {
	todo := strings.Split(filepath.ToSlash(path), "/")
	at := "" // below root, no links left in it
	links := 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir("/" + at)[1:]
			continue
		}
		next := filepath.Join(at, name)
		st, err := os.Lstat(filepath.Join(t.root, next))
		if err != nil {
			return "", false
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(filepath.Join(t.root, next))
		if links++; err != nil || links > maxLinks {
			return "", false
		}
		if filepath.IsAbs(target) {
			at = ""
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	full := filepath.Join(t.root, at)
	st, err := os.Stat(full)
	return full, err == nil && st.Mode().IsRegular()
}
