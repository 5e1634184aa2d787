package input

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// places are where files may be: those that the user named, sysroots, debug directories, and far away.
type places struct {
	opt   FileOptions
	trees []*tree // below Sysroots
	// ids are the files of Indexed and of Sysroots by their build IDs, own this machine's programs and libraries where its
	// root is a sysroot. Those are not searched for debug files, which most programs of a machine lack.
	ids, own *idIndex
	symbols  func(name, id string) iter.Seq[string] // see image.Options
}

// newPlaces puts the debug directories of sysroots before the others.
func newPlaces(opt FileOptions) places {
	if opt.Context == nil {
		opt.Context = context.Background()
	}
	p := places{opt: opt, ids: &idIndex{opt: &opt}, own: &idIndex{opt: &opt, programs: true}}
	for _, dir := range opt.Indexed {
		p.ids.trees = append(p.ids.trees, newTree(dir, &opt))
	}
	var debug []string
	for _, dir := range opt.Sysroots {
		if dir == "" {
			continue
		}
		t := newTree(dir, &opt)
		p.trees = append(p.trees, t)
		debug = append(debug, filepath.Join(dir, "usr/lib/debug"), t.root)
		switch {
		case opt.NoIndex:
			t.once.Do(func() {})
		case t.machine():
			p.own.trees = append(p.own.trees, t)
		default:
			p.ids.trees = append(p.ids.trees, t)
		}
	}
	p.opt.DebugDirs = append(debug, opt.DebugDirs...)
	return p
}

// goOn says that a search comes to a file, and tells whether the search is still wanted.
func (opt *FileOptions) goOn() bool {
	if opt.Searching != nil {
		opt.Searching()
	}
	return opt.Context.Err() == nil
}

// imageOptions keep what images lead to below the sysroots.
func (p *places) imageOptions() image.Options {
	opt := image.Options{FS: p.opt.FS, Archs: p.opt.Archs, DebugDirs: p.opt.DebugDirs, Raw: p.opt.Raw, ByBuildID: p.debugFiles, SymbolFiles: p.symbols, Context: p.opt.Context}
	for _, t := range p.trees {
		opt.Roots = append(opt.Roots, image.Root{Dir: t.root, Resolve: t.resolve})
	}
	return opt
}

// candidates yields the paths where a binary may be, best first: all that its name leads to, where most are, then what its build ID
// leads to, and what a search through the sysroots finds under its name.
func (p *places) candidates(ref *BinaryRef) iter.Seq[string] {
	return func(yield func(string) bool) {
		paths := p.led(ref)
		for _, path := range paths {
			if !yield(path) {
				return
			}
		}
		opt := p.imageOptions()
		for _, dir := range p.opt.DebugDirs {
			if path, ok := opt.Locate(byBuildID(dir, ref.BuildID)); ok && path != "" && !yield(path) {
				return
			}
		}
		if ref.Name == "" {
			return
		}
		for _, t := range p.trees {
			for path := range t.sameNamed(ref.Name) {
				if !slices.Contains(paths, path) && !yield(path) {
					return
				}
			}
		}
	}
}

// led are the paths that a binary's name leads to.
func (p *places) led(ref *BinaryRef) (paths []string) {
	base := target.BaseName(ref.Name)
	for _, path := range p.named() {
		if filepath.Base(path) == base {
			paths = append(paths, path)
		}
	}
	if ref.Name == "" {
		return paths
	}
	for _, t := range p.trees {
		if path, ok := t.resolve(ref.Name); ok {
			paths = append(paths, path)
		}
	}
	if p.trees != nil || ref.Absolute && !strings.HasPrefix(ref.Name, "/") {
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
		found := p.ids.find(id)
		if kind == FetchExecutable {
			found = slices.Concat(found, p.own.find(id))
		}
		for _, path := range found {
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
