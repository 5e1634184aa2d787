package input

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Beginning are the paths of files that may be a binary which captures name by the beginning
// of its file's name only, such as vmlinuz-6.1.0-50-arm64: those that the user named and
// those anywhere below the sysroot, the shortest names first. Without a sysroot only what
// the user named is found.
func (f *Files) Beginning(prefix string) (paths []string) {
	for _, p := range f.places.named() {
		if strings.HasPrefix(filepath.Base(p), prefix) {
			paths = append(paths, p)
		}
	}
	for _, t := range f.places.trees {
		for _, rel := range t.beginning(prefix) {
			if p, ok := t.resolve(rel); ok && !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// At are the regular files with a path on the captured machine: below the sysroots or, where the user named no sysroot
// and no binary, on this machine.
func (f *Files) At(path string) (paths []string) {
	for _, t := range f.places.trees {
		if p, ok := t.resolve(path); ok {
			paths = append(paths, p)
		}
	}
	if f.places.trees != nil || len(f.places.named()) > 0 {
		return paths
	}
	if f.Disk().Regular(path) {
		paths = append(paths, path)
	}
	return paths
}

// maxBeginning bounds how many files are found by the beginning of their names.
const maxBeginning = 256

// beginning are the paths below the root of files whose names begin with prefix, in the
// order of their names' lengths, and then of the names.
func (t *tree) beginning(prefix string) (found []string) {
	found = slices.Collect(t.listed().beginning(prefix))
	sort.Slice(found, func(i, j int) bool {
		d := len(filepath.Base(found[i])) - len(filepath.Base(found[j]))
		return d < 0 || d == 0 && found[i] < found[j]
	})
	return found[:min(len(found), maxBeginning)]
}
