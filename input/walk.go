package input

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// Bounds of the walk below a directory: more entries than a full distribution has,
// more files of one name than a build tree of several processors has.
const (
	maxEntries   = 2_000_000
	maxSameNamed = 64
)

// walk lists the tree. Directories that cannot be read are left out, and those whose files are none of a disk: what
// the kernel shows of itself, and this machine's other file systems.
func (t *tree) walk() {
	t.list = listing{named: make(map[string][]string), folded: make(map[string][]string), alike: make(map[string][]string)}
	root, err := filepath.EvalSymlinks(t.root) // WalkDir does not enter a link
	if err != nil {
		return
	}
	border := border{root: root, device: deviceOf(root)}
	entries := 0
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if entries++; entries > maxEntries || !t.goOn() {
			return fs.SkipAll
		}
		switch {
		case err != nil:
		case d.IsDir():
			if path != root && border.around(path) {
				return fs.SkipDir
			}
		case d.Type().IsRegular(), d.Type()&fs.ModeSymlink != 0:
			t.list.add(strings.TrimPrefix(path[len(root):], string(filepath.Separator)), d)
		}
		return nil
	})
}

// add adds a file or a link.
func (l *listing) add(rel string, d fs.DirEntry) {
	name := d.Name()
	if len(l.named[name]) < maxSameNamed {
		l.named[name] = append(l.named[name], rel)
		if lower := strings.ToLower(name); lower != name {
			l.folded[lower] = append(l.folded[lower], rel)
		}
		if s := stem(name); s != "" && len(l.alike[s]) < maxSameNamed {
			l.alike[s] = append(l.alike[s], rel)
		}
	}
	if d.Type().IsRegular() || idOfName(rel) != nil {
		l.files = append(l.files, rel)
	}
}

// border is where a walk ends.
type border struct {
	root   string
	device uint64 // the file system of root
}

// around tells whether a directory lies outside. Of this machine only the file system of its root is inside, without
// /proc, /sys, /dev and /run, whatever these are in a container. A copy of another machine's files may have further
// file systems, such as a chroot's, but none that the kernel makes up: listing such files starts devices, and reading
// them may change what they show. devtmpfs has no type of its own: it is a mounted dev.
func (b *border) around(dir string) bool {
	first, name := filepath.Dir(dir) == b.root, filepath.Base(dir)
	runs := first && (name == "proc" || name == "sys" || name == "dev" || name == "run")
	if b.root == string(filepath.Separator) {
		return runs || deviceOf(dir) != b.device
	}
	return deviceOf(dir) != b.device && (runs || madeUp(dir))
}
