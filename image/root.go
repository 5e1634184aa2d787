package image

import (
	"path/filepath"
	"strings"
)

// Locate is where a file of this machine is to be opened that something in an image led
// to. Below a root it is what the root's Resolve finds, so that no link of another machine's
// files leads to this machine's; false where there is none.
func (o *Options) Locate(path string) (file string, ok bool) {
	for i := range o.Roots {
		if inside, below := o.Roots[i].inside(path); below {
			return o.Roots[i].Resolve(inside)
		}
	}
	return path, true
}

// Inside is a path of this machine as the machine knows it whose files are below one of
// Roots; false for a path elsewhere.
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
