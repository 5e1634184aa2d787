package macho

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/mapped"
)

// dsym is the separate debug file of an image: the Mach-O file in a dSYM bundle that has the
// same UUID.
type dsym struct {
	once sync.Once
	main *file // nil: there is none
	in   atomic.Pointer[image.File]
}

func (d *dsym) file() *image.File { return d.in.Load() }

func (d *dsym) close() error {
	if f := d.in.Load(); f != nil {
		return f.Close()
	}
	return nil
}

// dsymFile finds the dSYM once.
func (c *container) dsymFile() *file {
	c.dsym.once.Do(func() {
		if c.opt.NoDebugFiles || len(c.main.uuid) == 0 || c.main.typ == mhDsym {
			return
		}
		want := c.opt
		want.Arch, want.BuildID = c.img.Arch, c.main.uuid
		for _, path := range dsymPaths(&c.opt, c.in.Path) {
			if c.dsym.open(path, want) {
				return
			}
		}
		if c.opt.ByBuildID == nil {
			return
		}
		for path := range c.opt.ByBuildID(c.main.uuid) {
			if c.dsym.open(path, want) {
				return
			}
		}
	})
	return c.dsym.main
}

// Hollow implements image.Image's: a dSYM has no code.
func (c *container) Hollow() bool { return c.main.typ == mhDsym }

// open takes a file if it is the dSYM of an image with opt's build ID.
func (d *dsym) open(path string, opt image.Options) bool {
	path, ok := opt.Locate(path)
	if !ok {
		return false
	}
	in, err := opt.OpenFile(path, sniff)
	if err != nil {
		return false
	}
	f, _, err := choose(in, opt)
	if err != nil || f.typ != mhDsym || !bytes.Equal(f.uuid, opt.BuildID) {
		in.Close()
		return false
	}
	d.main = f
	d.in.Store(in)
	return true
}

// maxBundles bounds the dSYM bundles that are looked at in one directory, and maxBinaries the
// files in one bundle.
const maxBundles, maxBinaries = 1024, 64

// dsymPaths are the files that may be the dSYM of the binary at path, "" where it has none, best
// first: in the bundle beside the binary, or beside the application or framework that the binary
// is in, then in all bundles of the debug directories.
func dsymPaths(opt *image.Options, path string) (paths []string) {
	disk := mapped.Disk{FS: opt.FS}
	if path != "" {
		for dir := path; len(paths) < maxBundles; {
			paths = append(paths, inBundle(disk, dir+".dSYM")...)
			up := filepath.Dir(dir)
			if up == dir || !strings.Contains(path, ".app") && !strings.Contains(path, ".framework") && !strings.Contains(path, ".bundle") {
				break
			}
			dir = up
		}
	}
	return append(paths, DebugFiles(opt.FS, opt.DebugDirs)...)
}

// DebugFiles are the files of all dSYM bundles in directories of fsys (nil: of this machine): in each itself, which may be a
// bundle, and in the folder dSYMs of one, where Xcode's archives have theirs.
func DebugFiles(fsys fs.FS, dirs []string) (paths []string) {
	disk := mapped.Disk{FS: fsys}
	for _, dir := range dirs {
		paths = append(paths, inBundle(disk, dir)...)
		for _, dir := range []string{dir, filepath.Join(dir, "dSYMs")} {
			entries, _ := disk.ReadDir(dir)
			for _, e := range entries[:min(len(entries), maxBundles)] {
				if strings.HasSuffix(e.Name(), ".dSYM") {
					paths = append(paths, inBundle(disk, filepath.Join(dir, e.Name()))...)
				}
			}
		}
	}
	return paths
}

// inBundle are the files of a dSYM bundle.
func inBundle(disk mapped.Disk, bundle string) (paths []string) {
	dir := filepath.Join(bundle, "Contents", "Resources", "DWARF")
	entries, _ := disk.ReadDir(dir)
	for _, e := range entries[:min(len(entries), maxBinaries)] {
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return paths
}
