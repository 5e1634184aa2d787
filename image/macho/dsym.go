package macho

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/image"
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
		if c.opt.NoDebugFiles || len(c.main.uuid) == 0 {
			return
		}
		for _, path := range c.dsymPaths() {
			if c.openDsym(path) {
				return
			}
		}
	})
	return c.dsym.main
}

// openDsym takes a file if it is the image's dSYM.
func (c *container) openDsym(path string) bool {
	path, ok := c.opt.Locate(path)
	if !ok {
		return false
	}
	in, err := image.OpenFile(path, sniff)
	if err != nil {
		return false
	}
	want := c.opt
	want.Arch, want.BuildID = c.img.Arch, c.main.uuid
	f, _, err := choose(in, want)
	if err != nil || f.typ != mhDsym || !bytes.Equal(f.uuid, c.main.uuid) {
		in.Close()
		return false
	}
	c.dsym.main = f
	c.dsym.in.Store(in)
	return true
}

// maxBundles bounds the dSYM bundles that are looked at in one directory, and maxBinaries the
// files in one bundle.
const maxBundles, maxBinaries = 1024, 64

// dsymPaths are the files that may be the image's dSYM, best first: in the bundle beside the
// binary, or beside the application or framework that the binary is in, then in all bundles of
// the debug directories.
func (c *container) dsymPaths() (paths []string) {
	if path := c.in.Path; path != "" {
		for dir := path; len(paths) < maxBundles; {
			paths = append(paths, inBundle(dir+".dSYM")...)
			up := filepath.Dir(dir)
			if up == dir || !strings.Contains(path, ".app") && !strings.Contains(path, ".framework") && !strings.Contains(path, ".bundle") {
				break
			}
			dir = up
		}
	}
	for _, dir := range c.opt.DebugDirs {
		paths = append(paths, inBundle(dir)...)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), maxBundles)] {
			if strings.HasSuffix(e.Name(), ".dSYM") {
				paths = append(paths, inBundle(filepath.Join(dir, e.Name()))...)
			}
		}
	}
	return paths
}

// inBundle are the files of a dSYM bundle.
func inBundle(bundle string) (paths []string) {
	dir := filepath.Join(bundle, "Contents", "Resources", "DWARF")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries[:min(len(entries), maxBinaries)] {
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return paths
}
