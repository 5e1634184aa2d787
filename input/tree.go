package input

import (
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/internal/mapped"
)

// maxLinks is how many symbolic links one path may take, as in Linux (MAXSYMLINKS).
const maxLinks = 40

// tree is the files below a directory that stands for another machine's root.
// Symbolic links are followed as that machine would: an absolute target starts
// at the tree's root, and nothing leads out of it.
type tree struct {
	disk mapped.Disk
	root string
	// goOn is told of each file that a search comes to, and is false where the search is to end.
	goOn func() bool
	kept keptFile
	once sync.Once
	list listing
}

// treesMagic is what a kept listing begins with.
const treesMagic = "backsight files 1\n"

// newTree is the tree below a directory.
func newTree(dir string, opt *FileOptions) *tree {
	return &tree{disk: mapped.Disk{FS: opt.FS}, root: filepath.Clean(dir), goOn: opt.goOn, kept: newKept(opt, dir, "files", treesMagic, maxListing)}
}

// machine tells whether the tree is this machine's root.
func (t *tree) machine() bool { return t.disk.FS == nil && filepath.Dir(t.root) == t.root }

// listed is the tree's listing, made when something is first not found without.
func (t *tree) listed() *listing {
	t.once.Do(func() { t.walk(time.Now()) })
	return &t.list
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
	for _, rel := range t.listed().alike(s) {
		if p, ok := t.resolve(rel); ok {
			found = append(found, p)
		}
	}
	return found
}

// sameNamed yields the files that are called as path's file is, anywhere; those with other capitals where none is, as names of
// Windows do not tell them apart.
func (t *tree) sameNamed(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, rel := range t.listed().named(filepath.Base(filepath.FromSlash(path))) {
			if p, ok := t.resolve(rel); ok && !yield(p) {
				return
			}
		}
	}
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
		st, err := t.disk.Lstat(filepath.Join(t.root, next))
		if err != nil {
			return "", false
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := t.disk.Readlink(filepath.Join(t.root, next))
		if links++; err != nil || links > maxLinks {
			return "", false
		}
		if filepath.IsAbs(target) {
			at = ""
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	full := filepath.Join(t.root, at)
	return full, t.disk.Regular(full)
}
