package image

import (
	"path/filepath"
	"strings"
)

// Locate is where a file of this machine is to be opened that something in an image led
// to. Below Root it is what Resolve finds, so that no link of another machine's files
// leads to this machine's; false where there is none.
func (o *Options) Locate(path string) (file string, ok bool) {
	if inside, below := o.Inside(path); below {
		return o.Resolve(inside)
	}
	return path, true
}

// Inside is a path of this machine as the machine knows it whose files are below Root;
// false for a path elsewhere.
func (o *Options) Inside(path string) (inside string, below bool) {
	if o.Root == "" {
		return "", false
	}
	root := strings.TrimSuffix(filepath.Clean(o.Root), string(filepath.Separator))
	inside, below = strings.CutPrefix(filepath.Clean(path), root+string(filepath.Separator))
	return string(filepath.Separator) + inside, below
}
