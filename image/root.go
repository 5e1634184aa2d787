package image

import (
	"path/filepath"
	"strings"
)

// Locate is the file to open for a path of this machine that something in an image led to. For a
// path below a root, Root.Resolve finds the file, so that no link among another machine's files
// leads to this machine's files. ok is false where there is no such file.
func (o *Options) Locate(path string) (file string, ok bool) {
	for i := range o.Roots {
		if inside, below := o.Roots[i].inside(path); below {
			return o.Roots[i].Resolve(inside)
		}
	}
	return path, true
}

// Inside is a path below one of Roots, as the machine whose files lie there knows the path. below
// is false for a path elsewhere.
func (o *Options) Inside(path string) (inside string, below bool) {
	for i := range o.Roots {
		if inside, below := o.Roots[i].inside(path); below {
			return inside, true
		}
	}
	return "", false
}

func (r *Root) inside(path string) (inside string, below bool) {
	root := strings.TrimSuffix(filepath.Clean(r.Dir), string(filepath.Separator))
	inside, below = strings.CutPrefix(filepath.Clean(path), root+string(filepath.Separator))
	return string(filepath.Separator) + inside, below
}
