package input

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"

	"github.com/backsight/backsight/image"
)

// places are where files may be: those that the user named, sysroots, debug directories, and far away.
type places struct {
	opt   FileOptions
	trees []*tree // below Sysroots
	ids   *idIndex
}

// newPlaces puts the debug directories of sysroots before the others.
func newPlaces(opt FileOptions) places {
	p := places{opt: opt}
	var debug []string
	for _, dir := range opt.Sysroots {
		if dir == "" {
			continue
		}
		p.trees = append(p.trees, &tree{root: filepath.Clean(dir)})
		debug = append(debug, filepath.Join(dir, "usr/lib/debug"))
	}
	p.ids = &idIndex{dirs: slices.Concat(opt.Indexed, opt.Sysroots), formats: opt.Formats}
	p.opt.DebugDirs = append(debug, opt.DebugDirs...)
	return p
}

// imageOptions keep what images lead to below the sysroots.
func (p *places) imageOptions() image.Options {
	opt := image.Options{Archs: p.opt.Archs, DebugDirs: p.opt.DebugDirs, Raw: p.opt.Raw, ByBuildID: p.debugFiles}
	for _, t := range p.trees {
		opt.Roots = append(opt.Roots, image.Root{Dir: t.root, Resolve: t.resolve})
	}
	return opt
}

// candidates are the paths where a binary may be, best first.
func (p *places) candidates(ref *BinaryRef) []string {
	base := filepath.Base(filepath.FromSlash(ref.Name))
	var paths []string
	for _, path := range p.named() {
		if filepath.Base(path) == base {
			paths = append(paths, path)
		}
	}
	opt := p.imageOptions()
	for _, dir := range p.opt.DebugDirs {
		if path, ok := opt.Locate(byBuildID(dir, ref.BuildID)); ok && path != "" {
			paths = append(paths, path)
		}
	}
	for _, t := range p.trees {
		paths = append(paths, t.find(ref.Name)...)
	}
	if p.trees != nil {
		return paths
	}
	if ref.Name == "" {
		return paths
	}
	if ref.Dir != "" && !filepath.IsAbs(ref.Name) {
		paths = append(paths, filepath.Join(ref.Dir, ref.Name))
	}
	return append(paths, filepath.FromSlash(ref.Name))
}

// named are the files that the user named.
func (p *places) named() (paths []string) {
	if p.opt.Exe != "" {
		paths = append(paths, p.opt.Exe)
	}
	for _, i := range p.opt.Images {
		if i.Path != "" {
			paths = append(paths, i.Path)
		}
	}
	return paths
}

// byBuildID is where distributions link executables by build ID:
// DIR/.build-id/xx/yyyy, without the suffix .debug of the separate debug file. "" where
// there is no build ID.
func byBuildID(dir string, id []byte) string {
	if len(id) < 2 {
		return ""
	}
	return filepath.Join(dir, ".build-id", fmt.Sprintf("%x", id[:1]), fmt.Sprintf("%x", id[1:]))
}

// executables are files that may be the executable of a build ID.
func (p *places) executables(id []byte) iter.Seq[string] { return p.withID(FetchExecutable, id) }

// debugFiles are files that may describe the executable of a build ID.
func (p *places) debugFiles(id []byte) iter.Seq[string] { return p.withID(FetchDebugInfo, id) }

// withID yields the files with a build ID: those here first.
func (p *places) withID(kind FetchKind, id []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		opt := p.imageOptions()
		for _, path := range p.ids.find(id) {
			if path, ok := opt.Locate(path); ok && !yield(path) {
				return
			}
		}
		if p.opt.Fetch == nil {
			return
		}
		if path, ok := p.opt.Fetch(kind, id); ok {
			yield(path)
		}
	}
}
